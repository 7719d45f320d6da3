#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of a build folder, shows what failed and counts. A few that
# failed in the crowd may get a second chance: see tools/again.py.
#
#     tools/run_tests.sh BUILD [argument of meson test]...
set -u
build=$1
shift
tools=$(dirname "$0")

log=$build/meson-logs/testlog.json
case " $* " in
*' --setup valgrind '*) log=$build/meson-logs/testlog-valgrind.json ;;
esac
rm -f "$log" "$log.again"
# What takes long for what it finds is make soak's.
case " $* " in
*' --suite '*) ;;
*) set -- --no-suite soak "$@" ;;
esac
# Tests sync to the disk what they write, many at once, and how long that takes
# is the machine's. In memory it takes no time, where programs may be run from
# it, as some tests do; make soak has the disk.
has_room() {
    [ "$(df -Pk "$1" | awk 'END {print $4}')" -gt 1048576 ] || return
    probe=$(mktemp -p "$1") || return
    cp /bin/true "$probe" && chmod 700 "$probe" && "$probe"
    code=$?
    rm -f "$probe"
    return "$code"
}
if [ -z "${TMPDIR:-}" ] && has_room /dev/shm 2>/dev/null; then
    export TMPDIR=/dev/shm
fi
# A test waits more than it works: three at once for each processor. With six
# all of them took as long, and one of them twice as long: longer than a lease.
meson test -C "$build" --no-rebuild --quiet \
    --num-processes "$(($(nproc) * 3))" "$@" </dev/null
code=$?
if [ "$code" -ne 0 ] && [ -f "$log" ]; then
    python3 "$tools/again.py" --failed "$code" "$build" "$log" && code=0
fi
python3 "$tools/count_tap.py" "$log" || code=1
exit "$code"
