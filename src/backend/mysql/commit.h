/* SPDX-License-Identifier: MIT */
/*
 * A change of one name is a transaction that goes out as one packet, so that a
 * client that stops leaves no row locked. It does nothing unless the name's
 * record is still as the change needs it.
 *
 *     hf__mysql_change_begin(&c);            UPDATE holdfast_lock SET …
 *     hf__text_add(c.sql, ",token='',expires=0 WHERE name_key=…");
 *     hf__mysql_change_then(&c);
 *     hf__text_add(c.sql, ";DELETE …" HF__CHANGED);   more, only if that one
 *     r = hf__mysql_change_send(&c);                  row was changed
 *
 * Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_COMMIT_H
#define HF_BACKEND_MYSQL_COMMIT_H

#include "src/backend/mysql/mysql.h"
#include "src/backend/name/engine.h"

struct hf__mysql_change {
    struct hf__mysql *s;
    const struct hf__op *op;
    struct hf__text *sql;
    const struct hf__token *takes; /* its wake lock is taken; or NULL */
    const struct hf__token *frees; /* its wake lock is dropped; or NULL */
    int begins_at;                 /* the number of statements before BEGIN */
    int slot; /* out: the value that a statement gave @hf_slot */
};

/* Begin the packet, up to "SET revision=revision+1". takes and frees must be
 * set before. */
void hf__mysql_change_begin(struct hf__mysql_change *c);
/* End that statement. The next ones begin with ";" and have HF__CHANGED in
 * their condition. */
void hf__mysql_change_then(struct hf__mysql_change *c);
#define HF__CHANGED " AND @hf=1"
/* Cancels the rest of the change unless the statement before found its one
 * row. */
#define HF__OR_NOTHING ";SET @hf=IF(ROW_COUNT()=1,@hf,0)"
/* HF_OK: it is written. HF__RACED: nothing is written, since somebody else was
 * quicker. Else the operation's result. */
HF_MUST_CHECK int hf__mysql_change_send(struct hf__mysql_change *c);

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

/* ---- columns */

/* "expires=…,…": renew the lease. A statement that was delayed never shortens a
 * lease that was renewed since. */
void hf__mysql_sql_prolong(struct hf__text *t, int64_t lease_us);
/* "name_key=… AND token=…" */
void hf__mysql_sql_own(struct hf__text *t, const struct hf__key *key,
                       const struct hf__token *token);

/* ---- what a decision marked in a name */

/* As the engine's commit(), for s->t.name: writes if the name is as it was
 * read, as far as the operation depends on it. ret_slot (may be NULL) gets the
 * slot of the operation's own grant, if that shares the name with others and is
 * renewed. */
HF_MUST_CHECK int hf__mysql_commit(struct hf__mysql *s, const struct hf__op *op,
                                   int *ret_slot);

#endif
