#!/bin/sh
# SPDX-License-Identifier: MIT
# Why a lock alone is not enough, and what its fence is for: a run is stopped
# for longer than its lease, with its command and its guardian, as a paused
# machine would be; a second one gets the lock and writes; then the first
# continues and writes what it had computed. The key of Redis refuses that, by
# guard.lua. guard_file.c does the same with a file, guard.c with a table. Locks
# and key are both on the server of the URL here; they need not be. Exit 0 only
# if all went like this.
#
#     HOLDFAST_URL=redis://host/0 examples/guard_redis.sh
#
# BUILD is the build folder. The script needs redis-cli.
set -u
PATH=$(cd "${BUILD:-build}" && pwd):$PATH
here=$(cd "$(dirname "$0")" && pwd)
name=example:report
key="{$name}:data"
key_of_fence="{$name}:fence" # the braces put both keys into one hash slot
stopped=
second=

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

case ${HOLDFAST_URL:-} in
redis://*) url=${HOLDFAST_URL%%\?*} ;;
*) fail 'HOLDFAST_URL must be redis://host[:port][/database]' ;;
esac
folder=$(mktemp -d)

finish() {
    # shellcheck disable=SC2086 # several pids
    [ -z "$stopped" ] || kill -KILL $stopped 2>/dev/null
    [ -z "$second" ] || kill "$second" 2>/dev/null
    redis-cli -u "$url" DEL "$key" "$key_of_fence" >/dev/null
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# until_true COMMAND...: repeat it until it succeeds, for at most a minute
until_true() {
    tries=600
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "in vain for a minute: $*"
        sleep 0.1
    done
}

# is_stopped PID: all its threads are stopped
is_stopped() {
    ! sed 's/.*) //' "/proc/$1/task"/*/stat | grep -qv '^T'
}

# Each run's command: it computes until it is told to end, and writes.
cat >"$folder/work" <<'END_OF_WORK'
folder=$1 who=$2
shift 2
echo "$$ $PPID $HOLDFAST_FENCE" >"$folder/$who.new"
mv "$folder/$who.new" "$folder/$who.begun"
until [ -e "$folder/$who.enough" ]; do sleep 0.1; done
"$@" "$HOLDFAST_FENCE" "computed by the $who" >"$folder/$who.new" 2>&1
mv "$folder/$who.new" "$folder/$who.said"
END_OF_WORK

# start WHO: start a run in the background
start() {
    holdfast run --lease 2s "$name" -- sh "$folder/work" "$folder" "$1" \
        redis-cli -u "$url" --eval "$here/guard.lua" "$key" "$key_of_fence" , &
}

# begins WHO: wait until it has the lock; sets child, guardian and fence
begins() {
    until_true test -e "$folder/$1.begun"
    read -r child guardian fence <"$folder/$1.begun"
    printf '%-7s has the lock: pid %s, fence %s; it computes\n' "$1" "$child" \
        "$fence"
}

# says WHO EXPECTED: wait for the answer of guard.lua, and compare it
says() {
    until_true test -e "$folder/$1.said"
    said=$(cat "$folder/$1.said")
    printf '%-7s writes what it has computed: %s\n' "$1" "$said"
    [ "$said" = "$2" ] || fail "it should have been $2"
}

start first
first=$!
stopped=$first
begins first
stopped="$guardian $child $first"
# The run itself is stopped last, because it renews: till then the lock is held.
for pid in $stopped; do
    kill -STOP "$pid" || fail "cannot stop $pid"
    until_true is_stopped "$pid"
done
echo "main    stops it, and who watches over it: SIGSTOP"

: >"$folder/second.enough"
start second
second=$!
begins second
says second 1
wait "$second" || fail "the second run ended with $?"
second=

: >"$folder/first.enough"
echo "main    lets the first go on: SIGCONT"
read -r child guardian fence <"$folder/first.begun"
kill -CONT "$child"
says first 0
# These two would have ended the command at once, so it was continued first.
stopped="$guardian $first"
kill -CONT "$guardian" "$first"
wait "$first"
code=$?
stopped=
[ "$code" = 76 ] || fail "the first run ended with $code instead of 76"
echo "first   its run ends with 76: the lock was lost"

data=$(redis-cli -u "$url" GET "$key")
echo "main    the key has: $data"
[ "$data" = "computed by the second" ] || fail "that is not the second's"
