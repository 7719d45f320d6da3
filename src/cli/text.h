/* SPDX-License-Identifier: MIT */
/*
 * Memory and text. A command that runs out of memory before it holds anything
 * can only say so and end with 71; a guardian that ends lets the kernel kill
 * its child. So nothing here ever returns NULL for want of it.
 * There are three ways in which the command writes words that others chose:
 * cleaned for a terminal, quoted for a shell, quoted for JSON. Names, notes
 * and labels come from strangers; none of them may move the cursor, end a
 * quote or break an object. Thread: any, one at a time.
 */
#ifndef HF_CLI_TEXT_H
#define HF_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Run fn(&variable) when the variable leaves its scope. */
#define CLI_AUTO(fn) __attribute__((cleanup(fn)))

/* What goes to stdout when there is no memory; NULL: nothing. */
void cli_memory_answer(const char *text);

/* Zeroed. */
void *cli_alloc(size_t size);
/* As realloc(); the new bytes are not zeroed. */
void *cli_resize(void *p, size_t size);
char *cli_strndup(const char *text, size_t length);
char *cli_strdup(const char *text);
/* A new string, as printf() would write it. */
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Takes NULL. */
void cli_free(void *p);
/* For CLI_AUTO on a char * local. */
void cli_free_auto(void *p);

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

#define CLI_COLUMNS_MAX 9

struct cli_table {
    size_t columns;
    size_t width[CLI_COLUMNS_MAX];
    char **cells; /* row by row */
    size_t count;
    size_t room;
};

/* The next cell, cleaned; NULL is shown as "-". */
void cli_table_add(struct cli_table *, const char *word);
void cli_table_write(const struct cli_table *, struct cli_text *);
void cli_table_fini(struct cli_table *);

#endif
