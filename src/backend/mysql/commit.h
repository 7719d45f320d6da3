/* SPDX-License-Identifier: MIT */
/*
 * A change of one name: a transaction that goes out as one packet, so that
 * nobody who stops can leave a row locked, and that does nothing unless the
 * name's record is still as the change needs it.
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
    const struct hf__token *takes; /* whose grant wake lock is taken; or NULL */
    const struct hf__token *frees; /* whose is let go of; or NULL */
    int begins_at;                 /* behind so many statements of the packet */
    int slot; /* out: what a part of it has set @hf_slot to */
};

/* Up to "SET revision=revision+1"; takes and frees are set by then. */
void hf__mysql_change_begin(struct hf__mysql_change *c);
/* The end of that statement. The next ones begin with ";" and ask for
 * HF__CHANGED. */
void hf__mysql_change_then(struct hf__mysql_change *c);
#define HF__CHANGED " AND @hf=1"
/* Nor is it done unless the statement before found its one row. */
#define HF__OR_NOTHING ";SET @hf=IF(ROW_COUNT()=1,@hf,0)"
/* HF_OK, it is written; HF__RACED, nothing is, as somebody was quicker; or
 * what the operation comes to. */
HF_MUST_CHECK int hf__mysql_change_send(struct hf__mysql_change *c);

/* A transaction of several statements in one packet, "BEGIN;" and ";COMMIT":
 * as the server needs it to be whole or nothing. */
const char *hf__mysql_sql_begin(const struct hf__mysql *s);
const char *hf__mysql_sql_commit(const struct hf__mysql *s);

/* Begin s->sql afresh, with what the wake locks that were left need. */
void hf__mysql_wake_lock_begin_packet(struct hf__mysql *s, int *ret_replies);
/* Begin s->sql afresh, for statements that may wait for a row's lock. */
void hf__mysql_packet_begin(struct hf__mysql *s);
/* The server refused what was sent last, or it did not go there and back (r:
 * what sending gave): what the operation comes to. s->t.lost is set if the
 * session is dead; then that is `if_lost`. */
int hf__mysql_refused(struct hf__mysql *s, hf_error *err, int r, int if_lost);

/* ---- columns */

/* "expires=…,…": the lease begins anew. A statement that was held up never
 * makes a lease shorter that was renewed since. */
void hf__mysql_sql_prolong(struct hf__text *t, int64_t lease_us);
/* "name_key=… AND token=…" */
void hf__mysql_sql_own(struct hf__text *t, const struct hf__key *key,
                       const struct hf__token *token);

/* ---- what a decision marked of a name */

/* As the engine's commit(), of s->t.name; if the name is as it was read, as far
 * as the operation minds. ret_slot: that of the own grant, if it stands beside
 * others and is renewed. May be NULL. */
HF_MUST_CHECK int hf__mysql_commit(struct hf__mysql *s, const struct hf__op *op,
                                   int *ret_slot);

#endif
