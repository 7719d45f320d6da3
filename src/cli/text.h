/* SPDX-License-Identifier: MIT */
/*
 * A growing string, and the three ways in which the command writes words
 * that others chose: cleaned for a terminal, quoted for a shell, quoted for
 * JSON. Names, notes and labels come from strangers; none of them may move
 * the cursor, end a quote or break an object. Thread: any, one at a time.
 */
#ifndef HF_CLI_TEXT_H
#define HF_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_text {
    char *data; /* NUL-ended; NULL while empty */
    size_t length;
    size_t room;
};

void cli_text_bytes(struct cli_text *, const char *bytes, size_t length);
void cli_text_add(struct cli_text *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Control characters, bidi overrides and bytes that are not UTF-8 are
 * written as \xNN. */
void cli_text_clean(struct cli_text *, const char *word);
/* As one word of a shell; bare where that is safe. */
void cli_text_shell(struct cli_text *, const char *word);
/* "…" or, for NULL, null. Bytes that are not UTF-8 become U+FFFD. */
void cli_text_json(struct cli_text *, const char *word);
/* Forget all but the first `length` bytes. */
void cli_text_cut(struct cli_text *, size_t length);
void cli_text_fini(struct cli_text *);

/* Bytes of the character that begins at `p`, 0 where it is not UTF-8. */
size_t cli_utf8(const char *p, uint32_t *ret_point);
/* Characters in a cleaned string, for columns. */
size_t cli_width(const char *text);

#endif
