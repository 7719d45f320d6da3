/* SPDX-License-Identifier: MIT */
/*
 * What a module of the same version shows that was built against another
 * contract: one struct is larger. Its store would crash.
 */
#include "src/backend/module.h"

#define SIZE(type) sizeof(type) + 8,

const struct hf__module hf__module = {
    .version = HF_VERSION,
    .n_sizes = HF__STAMP_SIZES,
    .sizes = {HF__STAMP_MAP(SIZE)},
};
