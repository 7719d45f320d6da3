#!/bin/sh
# SPDX-License-Identifier: MIT
# Why a lock alone is not enough, and what its fence is for: a run is stopped
# for longer than its lease, with the command that watches over it, as a paused
# machine would be; a second one gets the lock and writes; the first goes on and
# writes what it had computed. The key of Redis refuses that, by guard.lua. The
# same with a file is guard_file.c, with a table guard.c. Locks and key are both
# on the server of the URL; neither need be. Exit 0 only if all went so.
#
#     HOLDFAST_URL=redis://host/0 examples/guard_redis.sh
#
# BUILD is the build folder. It asks for redis-cli.
set -u
PATH=$(cd "${BUILD:-build}" && pwd):$PATH
here=$(cd "$(dirname "$0")" && pwd)
name=example:report
key="{$name}:data"
key_of_fence="{$name}:fence" # in braces: both keys are in one hash slot
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
    # shellcheck disable=SC2086 # several
    [ -z "$stopped" ] || kill -KILL $stopped 2>/dev/null
    [ -z "$second" ] || kill "$second" 2>/dev/null
    redis-cli -u "$url" DEL "$key" "$key_of_fence" >/dev/null
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# until_true COMMAND...: at most a minute
until_true() {
    tries=600
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "in vain for a minute: $*"
        sleep 0.1
    done
}

# is_stopped PID: each of its threads
is_stopped() {
    ! sed 's/.*) //' "/proc/$1/task"/*/stat | grep -qv '^T'
}

# What each of the runs does: computes until it has reached its end, and writes.
cat >"$folder/work" <<'END_OF_WORK'
folder=$1 who=$2
shift 2
echo "$$ $PPID $HOLDFAST_FENCE" >"$folder/$who.new"
mv "$folder/$who.new" "$folder/$who.begun"
until [ -e "$folder/$who.enough" ]; do sleep 0.1; done
"$@" "$HOLDFAST_FENCE" "computed by the $who" >"$folder/$who.new" 2>&1
mv "$folder/$who.new" "$folder/$who.said"
END_OF_WORK

# start WHO
start() {
    holdfast run --lease 2s "$name" -- sh "$folder/work" "$folder" "$1" \
        redis-cli -u "$url" --eval "$here/guard.lua" "$key" "$key_of_fence" , &
}

# begins WHO: until it has the lock; child, guardian and fence are its own
begins() {
    until_true test -e "$folder/$1.begun"
    read -r child guardian fence <"$folder/$1.begun"
    printf '%-7s has the lock: pid %s, fence %s; it computes\n' "$1" "$child" \
        "$fence"
}

# says WHO EXPECTED: what the script answered
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
# Last of all whoever renews: till then the lock is held.
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
# Those would have ended it at once, but it was quicker.
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
