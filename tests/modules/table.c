/* SPDX-License-Identifier: MIT */
/*
 * The table of modules of the library that these tests build for themselves,
 * in the place of src/backend/modules.c. Most of them have something wrong.
 */
#include "src/backend/registry.h"

#define ROW(store, aliases)                                                    \
    {                                                                          \
        store, aliases, "libsome1", hf__module_load, NULL                      \
    }

struct hf__modular hf__modulars[] = {
    ROW("dummy", "puppet,stand-in"),
    ROW("slow", ""),
    ROW("needy", ""),
    ROW("holey", ""),
    ROW("stale", ""),
    ROW("odd", ""),
    ROW("alien", ""),
    ROW("wrong", ""),
    ROW("absent", ""),
    {0},
};
