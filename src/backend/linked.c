/* SPDX-License-Identifier: MIT */
/*
 * The stores that could be modules, where they are linked in: the static
 * library, the tests, and everything with -Dmodules=false. Thread: any.
 */
#include "src/backend/registry.h"

#define ROW(store, aliases, package)                                           \
    {#store, aliases, package, NULL, &hf__##store##_backend},

struct hf__modular hf__modulars[] = {HF__MODULAR_MAP(ROW){0}};
