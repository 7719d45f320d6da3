/* SPDX-License-Identifier: MIT */
/*
 * What a session that died may have left on the server: a statement that is
 * held up there and that would be applied for nobody. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_GHOST_H
#define HF_BACKEND_MYSQL_GHOST_H

#include "src/backend/mysql/mysql.h"

/* After the session is set up and before it does anything: end what the one
 * before left. HF_OK, or HF_EUNAVAIL. */
HF_MUST_CHECK int hf__ghost_end(struct hf__mysql *s);
/* At the end of the session, before it disconnects: what it may leave. */
void hf__ghost_leave(struct hf__mysql *s);
/* While a ghost may be about, that a token owns nothing is no proof that it
 * will not: such a release is not over. */
void hf__ghost_doubt(const struct hf__mysql *s, struct hf__op *const ops[],
                     int n);

#endif
