#!/bin/bash
# SPDX-License-Identifier: MIT
# Looks for mistakes without, or while, running the code. No finding is left:
# one that is wrong is answered where it is, with its reason.
#
#     tools/analyze.sh [gcc|cppcheck|tidy|valgrind]...
#
#   gcc       its -fanalyzer, over all C of the tree
#   cppcheck  as tools/cppcheck.cfg and tools/cppcheck.supp say
#   tidy      clang-tidy, as .clang-tidy says
#   valgrind  memcheck, on tests of the rooms and of the stores
#
# All of them by default. BUILD is the build folder (build); what is missing
# there is built, the analyzer's objects in $BUILD/analyzer. Exits 1 if there
# is a finding.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export LC_ALL=C
build=${BUILD:-build}
jobs=$(nproc)
total=0

need() {
    local tool

    for tool; do
        if ! command -v "$tool" >/dev/null; then
            echo "analyze: $tool is missing; run: tools/setup.sh ci" >&2
            exit 2
        fi
    done
}

# Configures the build folder: its list of commands is what is read.
configure() {
    local folder=$1 log
    shift

    if [ ! -f "$folder/build.ninja" ] &&
        ! log=$(meson setup "$folder" "$@" 2>&1); then
        printf '%s\n' "$log" >&2
        exit 2
    fi
}

# The C files of the build, each once and as it is named from here.
sources() {
    python3 - "$build/compile_commands.json" <<'END'
import json
import os
import sys

with open(sys.argv[1], encoding='utf-8') as commands:
    names = {os.path.relpath(os.path.join(c['directory'], c['file']))
             for c in json.load(commands)}
print('\n'.join(sorted(names)))
END
}

# The end of an analysis: its name, what it read, how often it found anything,
# and whether it came to its end at all.
finish() {
    local name=$1 what=$2 findings=$3 code=$4

    printf '%s: %s, %d findings\n' "$name" "$what" "$findings"
    if ((findings || code)); then
        total=$((total + 1))
    fi
}

# Compiled anew each time: what was compiled before would not be found again.
analyze_gcc() {
    local log code=0 folder=$build/analyzer

    need gcc meson
    rm -rf "$folder"
    CC=gcc configure "$folder" -Dc_args=-fanalyzer
    log=$(ninja -C "$folder" -k 0 -j "$jobs" 2>&1) || code=$?
    if ((code)) || grep -q 'warning:' <<<"$log"; then
        grep -v '^\[[0-9/]*\] ' <<<"$log"
    fi
    finish 'gcc -fanalyzer' "$(grep -c 'Compiling C' <<<"$log") objects" \
        "$(grep -c 'warning:' <<<"$log")" "$code"
}

analyze_cppcheck() {
    local log code=0

    need cppcheck meson
    configure "$build"
    log=$(cppcheck -j "$jobs" --project="$(realpath "$build")/compile_commands.json" \
        --enable=warning,style,performance,portability --inline-suppr --quiet \
        --library=tools/cppcheck.cfg --suppressions-list=tools/cppcheck.supp \
        -UHF_ASSERT --error-exitcode=1 \
        --template='{file}:{line}: {severity}: {message} [{id}]' \
        --template-location= 2>&1) || code=$?
    printf '%s' "${log:+$log$'\n'}"
    finish cppcheck "$(sources | wc -l) files" \
        "$(grep -c '\]$' <<<"$log")" "$code"
}

# One file a process: some of its checks remember things of the file before.
analyze_tidy() {
    local log code=0

    need clang-tidy meson
    configure "$build"
    # The commands may be another compiler's, with words of its own.
    log=$(sources | xargs -P "$jobs" -n 1 clang-tidy -p "$build" --quiet \
        --extra-arg=-Wno-unknown-warning-option 2>/dev/null) || code=$?
    printf '%s' "${log:+$log$'\n'}"
    finish clang-tidy "$(sources | wc -l) files" \
        "$(grep -cE '(warning|error): .*\]$' <<<"$log")" "$code"
}

# Few at once: a test with a lease of 200 ms must get a processor within it.
analyze_valgrind() {
    local code=0

    need valgrind meson
    configure "$build"
    meson compile -C "$build" >/dev/null || exit 2
    tools/run_tests.sh "$build" --setup valgrind \
        --num-processes $((jobs * 2)) --suite memcheck || code=1
    total=$((total + code))
}

for part in "${@:-gcc cppcheck tidy valgrind}"; do
    for name in $part; do
        case $name in
        gcc | cppcheck | tidy | valgrind) "analyze_$name" ;;
        *)
            echo "usage: tools/analyze.sh [gcc|cppcheck|tidy|valgrind]..." >&2
            exit 2
            ;;
        esac
    done
done
exit $((total > 0))
