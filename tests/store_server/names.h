/* SPDX-License-Identifier: MIT */
/*
 * Names at the contract, of the prefix "holdfast": one that is claimed and let
 * go, and batches of many.
 */
#ifndef HF_TESTS_STORE_SERVER_NAMES_H
#define HF_TESTS_STORE_SERVER_NAMES_H

#include "tests/store_server/door.h"

/* One attempt at a name: its result; *fence if not NULL. */
int claim(struct door *d, const char *name, uint64_t *fence);
/* claim() and let go: expects both to do. */
void use(struct door *d, const char *name);

/* Names holdfast:STEM000 and so on, each with a token of its own. */
enum { BATCH_MAX = 256 };
struct batch {
    struct hf__op op[BATCH_MAX];
    struct hf__op *ops[BATCH_MAX];
    char key[BATCH_MAX][32];
    int n;
};

void prepare(struct batch *b, const char *stem, int n, int64_t lease_us);
void prepare_shared(struct batch *b, const char *stem, int n, int64_t lease_us);
/* In one call: what it gives, and how many have that result then. */
int ask(struct door *d, struct batch *b, enum hf__op_kind kind, int64_t ms);
int count(const struct batch *b, int result);
/* ask() with 15 s: expects all of it to be done. */
void ask_all(struct door *d, struct batch *b, enum hf__op_kind kind);

#endif
