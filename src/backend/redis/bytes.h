/* SPDX-License-Identifier: MIT */
/*
 * Commands under construction, in the server's protocol (RESP 2): they are
 * written where they are sent from, so that one of the size of those before
 * allocates nothing. Running out of memory is remembered and asked for once, at
 * the end. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_BYTES_H
#define HF_BACKEND_REDIS_BYTES_H

#include "src/backend/backend.h"

/* The most arguments of a command that is added as a whole. */
#define HF__ARGS_MAX 40

struct hf__bytes {
    char *at;
    size_t length;
    size_t room;
    int commands;   /* each owes one reply */
    bool is_broken; /* out of memory: something is missing */
};

void hf__bytes_clear(struct hf__bytes *);
void hf__bytes_fini(struct hf__bytes *);

/* One command as its arguments are found. The bytes are lent until it is
 * added; what is written by number() lives in it. */
struct hf__args {
    int n;
    const char *at[HF__ARGS_MAX];
    size_t length[HF__ARGS_MAX];
    char text[320]; /* of numbers, tokens */
    size_t used;
};

void hf__args_clear(struct hf__args *);
void hf__args_begin(struct hf__args *, const char *command);
void hf__args_word(struct hf__args *, const char *word);
void hf__args_bytes(struct hf__args *, const void *bytes, size_t length);
void hf__args_number(struct hf__args *, int64_t number);
/* 32 hexadecimal digits. */
void hf__args_token(struct hf__args *, const struct hf__token *);
void hf__bytes_add(struct hf__bytes *, const struct hf__args *);
/* A command of words alone, which end with NULL. */
void hf__bytes_words(struct hf__bytes *, const char *const words[]);
#define HF__WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* A command of any length: begin(), word() for each argument, and end() with
 * how many they are and what begin() gave. */
HF_MUST_CHECK size_t hf__bytes_begin(struct hf__bytes *);
void hf__bytes_word(struct hf__bytes *, const void *bytes, size_t length);
void hf__bytes_end(struct hf__bytes *, size_t begun, int n);
/* All commands of another. */
void hf__bytes_append(struct hf__bytes *, const struct hf__bytes *from);

#endif
