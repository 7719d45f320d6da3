/* SPDX-License-Identifier: MIT */
/*
 * What a module of another version shows: nothing of it but the version may
 * be looked at, so the rest is what would crash.
 */
#include "src/backend/module.h"

const struct hf__module hf__module = {.version = "0.0.7"};
