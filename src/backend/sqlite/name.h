/* SPDX-License-Identifier: MIT */
/*
 * A name as it is in the database: its row of holdfast_lock, which is also the
 * grant of one who has it alone, those of holdfast_beside, each a grant that
 * stands beside others, and those of holdfast_ticket, who wait in line. They
 * are judged by this kernel's clock and by what the kernel knows of the
 * holders. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_NAME_H
#define HF_BACKEND_SQLITE_NAME_H

#include "src/backend/sqlite/sqlite.h"

/* How much of a name is read. A name without others costs what its own row
 * does, whatever is asked for. */
enum hf__extent {
    HF__ALL_OF_IT,
    HF__WHAT_MATTERS /* to that operation, if all goes well: then the name is
                        marked as partial */
};

/* Into s->name, which is empty. op may be NULL: somebody waits, or cleans.
 * SQLITE_OK also if there is no such name. */
HF_MUST_CHECK int hf__name_read(struct hf__sqlite *s, const struct hf__key *key,
                                const struct hf__op *op, enum hf__extent);

#endif
