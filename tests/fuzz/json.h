/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of JSON (RFC 8259), written apart from the command's
 * writer. Thread: any.
 */
#ifndef HF_TESTS_FUZZ_JSON_H
#define HF_TESTS_FUZZ_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Is the text one JSON value and nothing else, in valid UTF-8, without a
 * control character? */
bool json_is_valid(const char *text, size_t length);
/* The value of a JSON string with its quotes, into `to`, which has as much
 * room as the string. False: it is none. */
bool json_unquote(const char *text, size_t length, char *to);

#endif
