/* SPDX-License-Identifier: MIT */
/*
 * Text under construction, of SQL or its parameters. Running out of memory is
 * remembered, and checked once at the end. Statements, and how bytes from
 * outside go into them, are the store's. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_TEXT_H
#define HF_BACKEND_TABLE_TEXT_H

#include "src/backend/backend.h"

struct hf__text {
    char *bytes; /* ends with a NUL, if not NULL */
    size_t length;
    size_t room;
    bool is_broken; /* out of memory: a part is missing */
};

void hf__text_clear(struct hf__text *);
void hf__text_fini(struct hf__text *);

void hf__text_add(struct hf__text *, const char *words);
__attribute__((format(printf, 2, 3))) void
hf__text_addf(struct hf__text *, const char *format, ...);
/* Add so many bytes at the end, for the caller to write; NULL: out of
 * memory. */
char *hf__text_extend(struct hf__text *, size_t length);

#endif
