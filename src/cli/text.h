/* SPDX-License-Identifier: MIT */
/*
 * Memory and text. A command that runs out of memory before it holds a lock can
 * only say so and end with 71; when a guardian ends, the kernel kills its
 * child. So nothing here returns NULL for lack of memory.
 * The command writes text that others chose in three ways: cleaned for a
 * terminal, quoted for a shell, quoted for JSON. Names, notes and labels come
 * from other users; none of them may move the cursor, end a quote or break an
 * object. Thread: any, one at a time.
 */
#ifndef HF_CLI_TEXT_H
#define HF_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Run fn(&variable) when the variable leaves its scope. */
#define CLI_AUTO(fn) __attribute__((cleanup(fn)))

/* Set what is written to stdout when memory runs out; NULL: nothing. */
void cli_memory_answer(const char *text);

/* Returns zeroed memory. */
void *cli_alloc(size_t size);
/* Like realloc(); the new bytes are not zeroed. */
void *cli_resize(void *p, size_t size);
char *cli_strndup(const char *text, size_t length);
char *cli_strdup(const char *text);
/* Returns a new string, formatted like printf(). */
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
/* Add the word with control characters, bidi overrides and bytes that are not
 * UTF-8 written as \xNN. */
void cli_text_clean(struct cli_text *, const char *word);
/* Add it as one word of a shell, unquoted where that is safe. */
void cli_text_shell(struct cli_text *, const char *word);
/* Add "…" or, for NULL, null. Bytes that are not UTF-8 become U+FFFD. */
void cli_text_json(struct cli_text *, const char *word);
/* Drop all but the first `length` bytes. */
void cli_text_cut(struct cli_text *, size_t length);
void cli_text_fini(struct cli_text *);

/* How many bytes the character at `p` has, 0 if it is not UTF-8. */
size_t cli_utf8(const char *p, uint32_t *ret_point);
/* How many characters a cleaned string has, for columns. */
size_t cli_width(const char *text);

#define CLI_COLUMNS_MAX 9

struct cli_table {
    size_t columns;
    size_t width[CLI_COLUMNS_MAX];
    char **cells; /* row by row */
    size_t count;
    size_t room;
};

/* Add the next cell, cleaned; NULL is shown as "-". */
void cli_table_add(struct cli_table *, const char *word);
void cli_table_write(const struct cli_table *, struct cli_text *);
void cli_table_fini(struct cli_table *);

#endif
