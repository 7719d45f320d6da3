/* SPDX-License-Identifier: MIT */
/*
 * SHA-1, for names that a server computes likewise. No secret rests on it.
 * Thread: any.
 */
#ifndef HF_BASE_SHA1_H
#define HF_BASE_SHA1_H

#include "src/base/base.h"

#include <stddef.h>

#define HF__SHA1_HEX 41

/* In lower case, as servers write it. */
HF_MODULE_API void hf__sha1_hex(const void *bytes, size_t length,
                                char ret_hex[HF__SHA1_HEX]);

#endif
