/* SPDX-License-Identifier: MIT */
/*
 * Cells at the contract, of the prefix "holdfast": what a test asks a door for,
 * and what it was told. Thread: each has its own last question.
 */
#ifndef HF_TESTS_STORE_SERVER_CELL_H
#define HF_TESTS_STORE_SERVER_CELL_H

#include "src/backend/cell.h"
#include "tests/store_server/door.h"

struct asking {
    struct hf__cell_op op;
    char key[HF__KEY_MAX];
    unsigned char value[HF__CELL_MAX];
    hf_error error;
};
extern _Thread_local struct asking last;

/* Each gives the result. */
int get(struct door *d, const char *name);
int put(struct door *d, const char *name, uint64_t version, const char *text);
int put_bytes(struct door *d, const char *name, uint64_t version, int byte,
              size_t length);
int delete_cell(struct door *d, const char *name, uint64_t version);
/* The last one again, with the same writer's token, within so much time; what
 * the call itself gave in *ret_session if not NULL. */
int ask_again(struct door *d, int64_t ms, int *ret_session);
/* The version that the last one told of. */
uint64_t told(void);
/* Prepare a put, to be asked for by ask_again(). */
void prepare_put(const char *name, uint64_t version, const char *text);

/* Of all cells, until it is over: how many are gone. */
uint64_t clean_cells(struct door *d, int64_t idle_us);

#endif
