/* SPDX-License-Identifier: MIT */
/*
 * The table of the stores that could be modules, for builds that link them in:
 * the static library, the tests, and everything with -Dmodules=false. Thread:
 * any.
 */
#include "src/backend/registry.h"

#define ROW(store, aliases, package)                                           \
    {#store, aliases, package, NULL, &hf__##store##_backend},

struct hf__modular hf__modulars[] = {HF__MODULAR_MAP(ROW){0}};
