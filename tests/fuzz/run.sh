#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every fuzz target for a part of SECONDS, as many at once as there are
# processors; 0 only builds them. What crashes is kept, and the command printed that replays it.
#
#     tests/fuzz/run.sh [SECONDS] [TARGET]...
#
# Needs clang. Builds in build-fuzz/ (BUILD=…); SEED=N repeats a run, as far
# as time allows. New inputs stay in build-fuzz/corpus/TARGET.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift
build=${BUILD:-build-fuzz}
seed=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}
targets=("$@")

if [ ! -f "$build/build.ninja" ]; then
    CC=${CLANG:-clang} meson setup "$build" -Dfuzzers=true \
        -Db_sanitize=address,undefined -Db_lundef=false \
        -Dbuildtype=debugoptimized >/dev/null || exit 1
fi
if [ ${#targets[@]} = 0 ]; then
    for file in tests/fuzz/corpus/*; do
        targets+=("$(basename "$file")")
    done
fi
meson compile -C "$build" "${targets[@]/#/fuzz_}" >"$build/fuzz.log" 2>&1 ||
    { cat "$build/fuzz.log"; exit 1; }
if [ "$seconds" = 0 ]; then
    exit
fi

jobs=$(nproc)
each=$((seconds * (jobs < ${#targets[@]} ? jobs : ${#targets[@]}) / ${#targets[@]}))
each=$((each > 0 ? each : 1))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export ASAN_OPTIONS=halt_on_error=1:detect_leaks=1

# Runs one target; its log is printed if it found something.
fuzz() {
    local target=$1 new=$build/corpus/$1 found=$build/crashes/$1-
    local log=$build/$1.fuzz.log code=0 file

    mkdir -p "$new" "$build/crashes"
    "$build/tests/fuzz/fuzz_$target" "-seed=$seed" "-max_total_time=$each" \
        -max_len=1024 -timeout=10 -rss_limit_mb=2048 -close_fd_mask=3 \
        -print_final_stats=1 "-artifact_prefix=$found" "$new" \
        "tests/fuzz/corpus/$target" >"$log" 2>&1 || code=$?
    printf 'fuzz %s: %s, seed %s, %s s, %s runs\n' "$target" \
        "$([ $code = 0 ] && echo ok || echo FAILED)" "$seed" "$each" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    if [ $code != 0 ]; then
        tail -n 60 "$log"
        for file in "$found"*; do
            printf 'replay: %s %s\n' "$build/tests/fuzz/fuzz_$target" "$file"
        done
    fi
    return $code
}

failed=0
running=0
for target in "${targets[@]}"; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    fuzz "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit $failed
