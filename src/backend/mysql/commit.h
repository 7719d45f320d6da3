/* SPDX-License-Identifier: MIT */
/*
 * What a decision marked of a name, as a change of its rows. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_MYSQL_COMMIT_H
#define HF_BACKEND_MYSQL_COMMIT_H

#include "src/backend/mysql/change.h"

/* As the engine's commit(), of s->t.name; if the name is as it was read, as far
 * as the operation minds. ret_slot: that of the own grant, if it stands beside
 * others and is renewed. May be NULL. */
HF_MUST_CHECK int hf__mysql_commit(struct hf__mysql *s, const struct hf__op *op,
                                   int *ret_slot);

#endif
