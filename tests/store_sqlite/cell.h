/* SPDX-License-Identifier: MIT */
/*
 * The words for cells, of both stores that are tested with those of world.h.
 */
#ifndef HF_TESTS_STORE_SQLITE_CELL_H
#define HF_TESTS_STORE_SQLITE_CELL_H

#include "src/backend/cell.h"
#include "tests/store_sqlite/world.h"

/* What the last question was told: version and length, and by get_cell() the
 * bytes. */
extern struct hf__cell_state told;
extern unsigned char told_bytes[HF__CELL_MAX];

/* Each gives the result, its text in p->error; again what the store asks for
 * again. */
int get_cell(struct peer *p, const char *name);
int put_cell(struct peer *p, const char *name, uint64_t version,
             const void *bytes, size_t length);
int delete_cell(struct peer *p, const char *name, uint64_t version);
/* How many tombstones went. */
uint64_t clean_cells(struct peer *p, int64_t idle_us);

/* The cell is there with that text, which was put, and no other. */
void expect_cell(struct peer *p, const char *name, const char *text);
/* Neither read nor changed, with those words in the text. */
void expect_damaged_cell(struct peer *p, const char *name, const char *words);

#endif
