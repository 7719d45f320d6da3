/* SPDX-License-Identifier: MIT */
/*
 * Fills the caller's hf_error. The text is one sentence that names the input
 * and the remedy; it never holds a password or a token. Thread: any.
 */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include "src/base/base.h"

/* Fill err (NULL is fine) and return status: `return hf__fail(err, …);`. */
HF_MODULE_API __attribute__((format(printf, 3, 4))) int
hf__fail(hf_error *err, int status, const char *format, ...);

/* As hf__fail(), and sets err->native: the store's own number, or errno. */
HF_MODULE_API __attribute__((format(printf, 4, 5))) int
hf__fail_native(hf_error *err, int status, int native, const char *format, ...);

/* Copy src to the caller's dst, which may have the size of an older version.
 * Both may be NULL. */
HF_MODULE_API void hf__error_copy(hf_error *dst, const hf_error *src);

/* "No such file or directory", thread-safe, never NULL. buf ≥ 64 bytes. */
HF_MODULE_API const char *hf__errno_text(int number, char *buf, size_t size);

#endif
