#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the benchmarks of a build; `make bench` calls it.
#
#     bench/run.sh [--quick] [--only PART] [--json FILE]
#
# BUILD is the build folder. The databases go to a folder of their own in
# TMPDIR (or /tmp), whose file system is printed. About twelve minutes; --quick
# takes six. A part whose server is not installed says so and is left out
# (--only mysql: MariaDB, and --only session for its user locks; --only redis: one Redis, and a quorum of five, which
# is --only redis-quorum alone; --only zookeeper; --only postgres). On a machine that
# does other work the ratios, whose sides take turns, are worth more than the
# rates.
set -euo pipefail

build=${BUILD:-build}
case $build in
/*) ;;
*) build=$(cd "$(dirname "$0")/.." && pwd)/$build ;;
esac

if [ ! -x "$build/bench/bench" ]; then
    echo "bench: $build/bench/bench is not built; run: make bench" >&2
    exit 1
fi
exec "$build/bench/bench" --command "$build/holdfast" "$@"
