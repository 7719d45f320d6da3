#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests for as long as it is told: the attack; servers that fail; new schedules of
# the simulation and of other tests of the core in virtual time, beside all the
# rest; some of the mutants; and the tests that live from chance, in an order and with seeds of this run, among
# them what takes too long for make test. The fuzzers have a target of their own:
# make fuzz SECONDS=3600.
#
#     [SOAK_MINUTES=30] [SOAK_SEED=N] [BUILD=build] tests/soak.sh
#
# What was started in time is ended, which takes a minute or two more. Files
# are on the disk, where make test has them in memory.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
minutes=${SOAK_MINUTES:-30}
seed=${SOAK_SEED:-$(date +%s)}
end=$((SECONDS + minutes * 60))
slice=1000 # schedules, some forty seconds
simulated=$build/meson-logs/soak-simulation.txt
simulation=

# What the API's tests expect to be run for.
stores=$(meson test -C "$build" --no-rebuild --list 2>/dev/null |
    sed -n 's|.* / store \([a-z]*\) 1/4$|\1|p' | sort -u | paste -sd,)

# What failed is shown with how to see it again.
in_virtual_time() {
    local log=$build/meson-logs/soak-virtual.txt

    HOLDFAST_TEST_VIRTUAL=1 HOLDFAST_TEST_SEED=$1 \
        "$build/tests/contract/$2" "${@:3}" >"$log" && return
    printf 'not ok: HOLDFAST_TEST_VIRTUAL=1 HOLDFAST_TEST_SEED=%s %s/%s\n' \
        "$1" "$build/tests/contract" "${*:2}"
    grep -A 20 '^not ok' "$log"
    return 1
}

# A seed that breaks a promise is printed with its plan and how to see it again.
# After each slice the tests in virtual time, with another seed: that is another
# schedule of the core's threads.
simulate() {
    local first virtual=$seed

    for ((first = seed * 1000000; SECONDS < end; first += slice)); do
        "$build/tests/sim/sim" --filter every_schedule \
            --seed "$first" "$slice"
        for store in memory memory:session; do
            in_virtual_time "$virtual" contract_api "$store" "$stores"
            in_virtual_time "$virtual" contract_core "$store" memory
            in_virtual_time "$virtual" contract_store "fault+$store" memory
            in_virtual_time "$virtual" contract_faults "fault+$store"
        done
        virtual=$((virtual + 1))
    done
}

# Each round prints its seed, and a flaw how to see it again; its log is kept.
against() {
    "tests/$1/$1.py" --seconds $((minutes * 10)) --keep "$build/meson-logs" \
        "$build/holdfast" \
        "$(realpath "$build/libholdfast.so")" "$build"/holdfast-*.so \
        "$build/tests/attack/attack_player" \
        "$build/tests/servers/galera_by_hand" \
        "$build/tests/servers/mariadb_pair_by_hand" \
        "$build/tests/servers/postgres_pair_by_hand"
}

# A line that is changed and that no test misses, or whose place is gone, ends
# this; in the order of the seed, so that in some runs all have their turn.
mutants() {
    tests/mutants/run.py --seconds $((minutes * 6)) --seed "$seed" "$build"
}

overlap() {
    HOLDFAST_TEST_MANY_S=$((minutes * 2)) "$build/tests/contract/contract_api" \
        --filter eight_processes_with_overlapping "$1" "$1"
}

# The names of all such tests, each time in the order of the seed.
names() {
    meson test -C "$build" --no-rebuild --list --suite contract --suite store \
        --suite cli --suite torture 2>/dev/null | sed -n 's|^[^/]* / ||p' |
        shuf --random-source=<(yes "$1")
}

# A test is told this seed; those that sample take others each time, but for the
# command's torture, which has all its points. What was late beside the others has the second chance of make test.
run() {
    local log=$build/meson-logs/testlog.json code=0

    HOLDFAST_TEST_SEED=$((seed + SECONDS)) TORTURE_POINTS=1000 \
        meson test -C "$build" --no-rebuild --quiet --print-errorlogs \
        --num-processes $(($(nproc) * 2)) "$@" </dev/null || code=$?
    if ((code)); then
        python3 tools/again.py --failed "$code" "$build" "$log"
    fi
}

end_simulation() {
    if [ "$simulation" ]; then
        kill -- "-$simulation" 2>/dev/null || true
    fi
}

printf 'soak: %s minutes, SOAK_SEED=%s\n' "$minutes" "$seed"
trap end_simulation EXIT
set -m
simulate >"$simulated" &
set +m
simulation=$!
against attack
against failover
mutants
for store in sqlite file; do
    overlap "$store"
done
count=0
for ((round = 1; SECONDS < end; round++)); do
    mapfile -t tests < <(names "$seed$round")
    if ((${#tests[@]} == 0)); then
        echo "soak: $build has no tests" >&2
        exit 1
    fi
    for ((i = 0; i < ${#tests[@]} && SECONDS < end; i += 16)); do
        run "${tests[@]:i:16}"
        count=$((count + $(printf '%s\n' "${tests[@]:i:16}" | wc -l)))
    done
done
if ! wait "$simulation"; then
    cat "$simulated"
    exit 1
fi
simulation=
slices=$(grep -c '^ok' "$simulated")
printf 'soak: passed, %d programs, %d schedules of the simulation, %d seeds\n' \
    "$count" $((slices * slice)) "$slices"
