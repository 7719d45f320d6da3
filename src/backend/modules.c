/* SPDX-License-Identifier: MIT */
/*
 * The stores that are modules: the shared library's table. It names all that
 * there are, also those that are not installed, for the error that says so.
 * Thread: any.
 */
#include "src/backend/registry.h"

#define ROW(store, aliases, package)                                           \
    {#store, aliases, package, hf__module_load, NULL},

struct hf__modular hf__modulars[] = {HF__MODULAR_MAP(ROW){0}};
