/* SPDX-License-Identifier: MIT */
/*
 * Text under construction, of SQL or what goes with it. Running out of memory
 * is remembered and asked for once, at the end. What a statement says, and how
 * bytes from outside go into one, is the store's. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_TEXT_H
#define HF_BACKEND_TABLE_TEXT_H

#include "src/backend/backend.h"

struct hf__text {
    char *bytes; /* ends with a NUL, if there are any */
    size_t length;
    size_t room;
    bool is_broken; /* out of memory: something is missing */
};

void hf__text_clear(struct hf__text *);
void hf__text_fini(struct hf__text *);

void hf__text_add(struct hf__text *, const char *words);
__attribute__((format(printf, 2, 3))) void
hf__text_addf(struct hf__text *, const char *format, ...);
/* So many bytes more at the end, to be written by the caller; NULL: there is
 * no memory for them. */
char *hf__text_extend(struct hf__text *, size_t length);

#endif
