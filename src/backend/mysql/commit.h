/* SPDX-License-Identifier: MIT */
/*
 * A change of one name is a transaction that goes out as one packet, so that a
 * client that stops leaves no row locked. It does nothing unless the name's
 * record is still as the change needs it. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_COMMIT_H
#define HF_BACKEND_MYSQL_COMMIT_H

#include "src/backend/mysql/mysql.h"
#include "src/backend/name/engine.h"

/* "BEGIN;" and ";COMMIT", in the form that makes a transaction of several
 * statements in one packet atomic on this server. */
const char *hf__mysql_sql_begin(const struct hf__mysql *s);
const char *hf__mysql_sql_commit(const struct hf__mysql *s);

/* Begin s->sql afresh, with statements that drop the wake locks in s->stale. */
void hf__mysql_wake_lock_begin_packet(struct hf__mysql *s, int *ret_replies);
/* Begin s->sql afresh, for statements that may wait for a row's lock. */
void hf__mysql_packet_begin(struct hf__mysql *s);
/* The server refused the last packet, or sending it or receiving the reply
 * failed (r: the status of that). Returns the operation's result. If the
 * session is dead, s->t.lost is set and the result is `if_lost`. */
int hf__mysql_refused(struct hf__mysql *s, hf_error *err, int r, int if_lost);

/* ---- what a decision marked in a name */

/* As the engine's commit(), for s->t.name: writes if the name is as it was
 * read, as far as the operation depends on it. ret_slot (may be NULL) gets the
 * slot of the operation's own grant, if that shares the name with others and is
 * renewed. */
HF_MUST_CHECK int hf__mysql_commit(struct hf__mysql *s, const struct hf__op *op,
                                   int *ret_slot);

#endif
