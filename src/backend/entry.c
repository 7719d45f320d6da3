/* SPDX-License-Identifier: MIT */
/*
 * The only file that is in every module: what the library looks for in it.
 * The build says whose HF__MODULE_BACKEND it is. Thread: none.
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
