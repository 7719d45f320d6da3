#!/bin/sh
# SPDX-License-Identifier: MIT
# Formats the C of the tree; with --check, says what is not formatted.
set -eu
cd "$(dirname "$0")/.."

flags=-i
if [ "${1:-}" = --check ]; then
    flags='--dry-run -Werror'
fi
# shellcheck disable=SC2086
find include src tests examples bench -name '*.[ch]' -print0 |
    xargs -0 clang-format $flags
