#!/bin/bash
# SPDX-License-Identifier: MIT
# What tells of most mistakes within 90 seconds, and with STORE all that tests
# that store.
#
#     tools/check.sh BUILD [STORE]
#
# Tests are chosen by "meson test --list", whose lines are "suites / name".
set -euo pipefail
build=$1
store=${2:-}
# The rooms and the rules of this tree; the contract and the API where time is
# virtual; one store that is real; the simulation; the command.
lines='^[^ ]*:(unit|house|sim)[+ ]|'
lines+=' / (api|core|faults|store) memory|'
lines+=' / store sqlite |'
lines+=' / (file store|gc|hold|place|run child|run exits|run files|session)$'

all=$(meson test -C "$build" --no-rebuild --list 2>/dev/null |
    grep -v '^[^ ]*[:+]soak')
if [ "$store" ]; then
    stores=$(sed -n 's|.* / store \([a-z]*\) [0-9/]*$|\1|p' <<<"$all" | sort -u)
    if ! grep -qxF -e "$store" <<<"$stores"; then
        echo "check: there is no STORE=$store, but:" $stores >&2
        exit 2
    fi
    lines+="| / ((api|store|articles) $store[- ]|(store_)?${store}(_| |\$))"
fi
mapfile -t names < <(grep -E "$lines" <<<"$all" | sed 's|^[^/]* / ||')
exec "$(dirname "$0")/run_tests.sh" "$build" "${names[@]}"
