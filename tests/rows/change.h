/* SPDX-License-Identifier: MIT */
/*
 * Changing a row by version, as tests say it: account's n grows by a number,
 * while somebody else may come between the reading and the writing.
 */
#ifndef HF_TESTS_ROWS_CHANGE_H
#define HF_TESTS_ROWS_CHANGE_H

#include "tests/rows/world.h"

struct change {
    int64_t by;
    struct db *rival; /* runs `meanwhile`, as often as that; NULL: nobody */
    const char *meanwhile;
    int times;
    int calls;    /* of the callback */
    int64_t seen; /* n, as it was read last */
};

/* account's n by version, of struct change. */
hf_row_update by_version(struct change *);
/* The row `id` is changed so; what comes of it. */
int change(struct db *, int64_t id, const hf_row_update *);
/* "n version" of the row. */
const char *row_says(struct db *, int64_t id);

/* The table with a column `changed` of that type, and n by that version. */
void make_stamped(struct db *, const char *type);
hf_row_update by_stamp(struct change *);

#endif
