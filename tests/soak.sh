#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests for long: new schedules of the simulation from a seed of its own, and
# the suites that live from chance, again and again until the time is up.
# The fuzzers have a target of their own: make fuzz SECONDS=3600.
#
#     [SOAK_MINUTES=10] [SOAK_ATTACK_MINUTES=5] [SOAK_SCHEDULES=1000000]
#         [BUILD=build] tests/soak.sh
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
minutes=${SOAK_MINUTES:-10}
attack_minutes=${SOAK_ATTACK_MINUTES:-5}
schedules=${SOAK_SCHEDULES:-1000000}
seed=$(date +%s)000000
end=$(($(date +%s) + minutes * 60))

printf 'simulation: %s schedules from seed %s\n' "$schedules" "$seed"
# A seed that breaks a promise is printed with its plan and how to see it again.
"$build/tests/sim/sim" --filter every_schedule --seed "$seed" "$schedules"

for store in sqlite file; do
    printf 'overlapping sets of names on %s: a minute, and one with kills\n' \
        "$store"
    HOLDFAST_TEST_MANY_S=60 "$build/tests/contract/contract_api" \
        --filter eight_processes_with_overlapping "$store" "$store"
done

# Each round prints its seed, and a flaw how to see it again.
printf 'the attack: %s minutes\n' "$attack_minutes"
tests/attack/attack.py --seconds $((attack_minutes * 60)) "$build/holdfast" \
    "$build"/libholdfast.so.*.*.* "$build"/holdfast-*.so \
    "$build/tests/attack/attack_player"

round=0
while [ "$(date +%s)" -lt "$end" ]; do
    round=$((round + 1))
    printf 'round %d\n' "$round"
    # Each round other points at which the command is made to fail.
    TORTURE_SEED=$round TORTURE_POINTS=1000 \
        meson test -C "$build" --no-rebuild --quiet --num-processes 2 \
        --suite contract --suite store --suite cli --suite torture
done
printf 'soak: passed, %d rounds\n' "$round"
