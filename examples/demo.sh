#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows the main job on the store that HOLDFAST_URL names, else on the default
# store: three workers and one lock, what happens to the locks of programs that
# crash, a command under a lock, who holds it, and a lock that is broken under a
# running command. Ends with 0 only if all of it went as it says. BUILD is the
# build folder, TURNS how often each worker holds the lock.
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

# until_true COMMAND...: repeat it until it succeeds, for at most a minute
until_true() {
    tries=600
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "in vain for a minute: $*"
        sleep 0.1
    done
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

# fact NAME: a field of check --json; empty if it is null
fact() {
    holdfast check --json | sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p' |
        grep -v '^null$'
}

title "Is there a store? Without --url and configuration it is SQLite."
holdfast check >/dev/null 2>&1
if [ $? = 78 ]; then
    echo "(no default store can be used here; taking $folder)"
    export HOLDFAST_URL="sqlite:$folder/locks.db"
fi
# Others may have locks in a store that is named, so use a prefix there.
case ${HOLDFAST_URL:-} in
'' | *prefix=*) ;;
*\?*) HOLDFAST_URL="$HOLDFAST_URL&prefix=demo" ;;
*) HOLDFAST_URL="$HOLDFAST_URL?prefix=demo" ;;
esac
expect 0 holdfast check
# The examples read HOLDFAST_URL, too, but must be told the default store. They
# may lack the password for a store that a configuration names; then they use a
# store in a temporary file.
store=
[ -n "${HOLDFAST_URL:-}" ] || store=$(fact store)
case $store in sqlite:* | file:*) ;; *) store= ;; esac
contend=${BUILD:-build}/examples/contend

title "Three workers, one lock: for each attempt the result and the record."
expect 0 "$contend" --turns "${TURNS:-4}" ${store:+"$store"}

title "Locks of those who crashed: they expire, and a cleaner counts them."
# This does not use the default store, whose idle records belong to the user.
expect 0 "$contend" --turns 1 --cleaner

if [ "$(fact reach)" = process ]; then
    title "All else takes a second process, which this store does not reach."
    expect 1 "$contend" --leave-stale ${store:+"$store"}
    expect 77 holdfast run "$job" -- echo "never printed"
    printf '\ndemo: all as expected, for a store of one process\n'
    exit 0
fi

title "A run is killed with the lock: when does the next one get it, and why?"
expect 0 "$contend" --turns 1 --leave-stale ${store:+"$store"}

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
# Where the store does not notify the holder, it learns of the break at its next
# renewal. A store of sessions has its own lease, and notifies.
lease='--lease 6s'
[ -z "$(fact lease_ms)" ] || lease=
printf '\n$ holdfast run %s %s -- sh report &\n' "$lease" "$report"
# The command writes its pid, and would run for ever.
# shellcheck disable=SC2086 # $lease is empty or two words
holdfast run $lease --owner report "$report" -- \
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
