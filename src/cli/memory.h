/* SPDX-License-Identifier: MIT */
/*
 * The command's heap. A command that runs out of memory before it holds
 * anything can only say so and end with 71; a guardian that ends lets the
 * kernel kill its child. So none of these ever returns NULL. Thread: any.
 */
#ifndef HF_CLI_MEMORY_H
#define HF_CLI_MEMORY_H

#include <stddef.h>

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

#endif
