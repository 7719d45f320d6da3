/* SPDX-License-Identifier: MIT */
/*
 * What the tests of cells share: one question at a time, as a party asked it
 * last, and the nodes that the store makes of cells.
 */
#ifndef HF_TESTS_STORE_ZOOKEEPER_RECIPE_CELL_H
#define HF_TESTS_STORE_ZOOKEEPER_RECIPE_CELL_H

#include "src/backend/zookeeper/zookeeper.h"
#include "tests/store_zookeeper/recipe/tree.h"

struct cell_question {
    struct hf__cell_op op;
    char key[HF__KEY_MAX];
    unsigned char value[HF__CELL_MAX];
    hf_error error;
};

extern struct cell_question last_cell;

/* Each gives the result; told() is the version that it tells. */
int put(struct party *, const char *name, uint64_t version, const char *text);
int delete_cell(struct party *, const char *name, uint64_t version);
int get(struct party *, const char *name);
uint64_t told(void);
void expect_value(struct party *, const char *name, const char *text);
/* A put that is still to be asked, … */
void prepare_put(const char *name, uint64_t version, const char *text);
/* … once, for so long, and the same again, with the same token. */
int ask_cell(struct party *, int64_t ms);
int ask_cell_again(struct party *);
/* Of all that were deleted; how many. */
uint64_t clean_cells(struct party *, int64_t ms);

const struct hf__zookeeper *server(void);
/* Of this test; the path lasts till the next call. */
const char *cells_folder(void);
const char *cell_at(const char *name);
/* Fails the test if it is not there. */
struct hf__zookeeper_node see_cell(const char *name);

#endif
