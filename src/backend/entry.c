/* SPDX-License-Identifier: MIT */
/*
 * The symbol that the library looks for in a module; every module has this
 * file. The build defines HF__MODULE_BACKEND as the module's store. Thread:
 * none.
 */
#include "src/backend/module.h"

extern const struct hf__backend HF__MODULE_BACKEND;

#define SIZE(type) sizeof(type),

const struct hf__module hf__module = {
    .version = HF_VERSION,
    .n_sizes = HF__STAMP_SIZES,
    .sizes = {HF__STAMP_MAP(SIZE)},
    .backend = &HF__MODULE_BACKEND,
};
