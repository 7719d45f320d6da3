/* SPDX-License-Identifier: MIT */
/*
 * The shared library's table of the stores that are modules. It also names
 * those that are not installed, so that an error can say so. Thread: any.
 */
#include "src/backend/registry.h"

#define ROW(store, aliases, package)                                           \
    {#store, aliases, package, hf__module_load, NULL},

struct hf__modular hf__modulars[] = {HF__MODULAR_MAP(ROW){0}};
