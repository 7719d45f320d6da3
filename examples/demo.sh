#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows the main job on the store that you get without naming one: three
# workers and one lock, a command under a lock, a look at who holds it, and a
# lock that is broken under a running command. Ends with 0 only if all of it
# went as it says. BUILD is the build folder.
set -u
PATH=$(cd "${BUILD:-build}" && pwd):$PATH
folder=$(mktemp -d)
job=demo:backup
report=demo:report
runner=

finish() {
    [ -z "$runner" ] || kill "$runner" 2>/dev/null
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

title() {
    printf '\n=== %s\n' "$*"
}

fail() {
    printf '\ndemo: FAILED: %s\n' "$*" >&2
    exit 1
}

# expect CODE COMMAND...: show the command, run it, compare its exit code
expect() {
    wanted=$1
    shift
    printf '\n$ %s\n' "$*"
    "$@"
    code=$?
    printf '(exit %s)\n' "$code"
    [ "$code" = "$wanted" ] || fail "exit $code instead of $wanted: $*"
}

# until_true COMMAND...: at most 10 s
until_true() {
    tries=100
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "in vain for 10 s: $*"
        sleep 0.1
    done
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

title "Is there a store? Without --url and configuration it is SQLite."
holdfast check >/dev/null 2>&1
if [ $? = 78 ]; then
    echo "(no default store can be used here; taking $folder)"
    export HOLDFAST_URL="sqlite:$folder/locks.db"
fi
expect 0 holdfast check
store=$(holdfast check --json | sed -n 's/.*"store":"\([^"]*\)".*/\1/p')

title "Three workers, one lock: for each attempt the result and the record."
expect 0 "${BUILD:-build}/examples/contend" "$store"

title "A command under a lock, and what another shell sees meanwhile."
cat >"$folder/backup" <<'END'
echo "  backup: begins, fence $HOLDFAST_FENCE"
: >"$1/begun"
while [ ! -e "$1/enough" ]; do sleep 0.1; done
echo "  backup: ends"
END
printf '\n$ holdfast run %s -- sh backup &\n' "$job"
holdfast run --owner backup --note 'the nightly one' "$job" -- \
    sh "$folder/backup" "$folder" &
runner=$!
until_true test -e "$folder/begun"
expect 0 holdfast who "$job"
expect 75 holdfast run --try "$job" -- echo "never printed"
: >"$folder/enough"
wait "$runner" || fail "the backup ended with $?"
runner=
expect 1 holdfast who "$job"

title "An operator breaks a lock: its command is ended, run exits with 76."
printf '\n$ holdfast run --lease 6s %s -- sh report &\n' "$report"
# The command says who it is, and would go on for ever.
holdfast run --lease 6s --owner report "$report" -- \
    sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; while :; do sleep 1; done' \
    "$folder/pid" &
runner=$!
until_true test -e "$folder/pid"
child=$(cat "$folder/pid")
echo "  report: runs as pid $child"
expect 64 holdfast break "$report"
fence=$(holdfast who --json "$report" |
    sed -n 's/.*"fence":\([0-9]*\).*/\1/p')
expect 0 holdfast break "$report" --fence "$fence"
wait "$runner"
code=$?
runner=
echo "(exit $code of holdfast run)"
[ "$code" = 76 ] || fail "run ended with $code instead of 76"
is_gone "$child" || fail "the command, pid $child, lives on"
echo "  report: pid $child is gone"
expect 1 holdfast who "$report"

printf '\ndemo: all as expected\n'
