/* SPDX-License-Identifier: MIT */
/*
 * A change of one name: a transaction that goes out as one packet, so that
 * nobody who stops can leave a row locked, and that does nothing unless the
 * name's record is still as it was read.
 *
 *     hf__mysql_change_begin(&c);            UPDATE holdfast_lock SET …
 *     hf__text_add(c.sql, ",token='',expires=0");
 *     hf__mysql_change_where(&c, name);          WHERE … AND revision=…
 *     hf__text_add(c.sql, " AND expires>" HF__SQL_NOW);
 *     hf__mysql_change_then(&c);
 *     hf__mysql_beside_put(&c, …);           more, only if that one row was
 * changed r = hf__mysql_change_send(&c);
 *
 * Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_CHANGE_H
#define HF_BACKEND_MYSQL_CHANGE_H

#include "src/backend/mysql/name.h"

struct hf__mysql_change {
    struct hf__mysql *s;
    struct hf__op *op;
    struct hf__text *sql;
    const struct hf__token *takes; /* whose grant bell is taken; or NULL */
    const struct hf__token *frees; /* whose is let go of; or NULL */
    int begins_at;                 /* behind so many statements of the packet */
    int slot;      /* out: what a part of it has set @hf_slot to */
    bool is_done;  /* out: it is written */
    bool is_raced; /* out: nothing is, as somebody was quicker: read again */
};

/* Up to "SET revision=revision+1"; takes and frees are set by then. */
void hf__mysql_change_begin(struct hf__mysql_change *c);
/* If nobody has changed the name since it was read. */
void hf__mysql_change_where(struct hf__mysql_change *c,
                            const struct hf__mysql_name *name);
/* The end of that statement. The next ones begin with ";" and ask for
 * HF__CHANGED. */
void hf__mysql_change_then(struct hf__mysql_change *c);
#define HF__CHANGED " AND @hf=1"
/* HF_OK, or the session is dead. The operation's result is the caller's to
 * set if the change is done, else it is set. */
HF_MUST_CHECK int hf__mysql_change_send(struct hf__mysql_change *c);

/* A transaction of several statements in one packet, "BEGIN;" and ";COMMIT":
 * as the server needs it to be whole or nothing. */
const char *hf__mysql_sql_begin(const struct hf__mysql *s);
const char *hf__mysql_sql_commit(const struct hf__mysql *s);

/* Begin s->sql afresh, for statements that may wait for a row's lock. */
void hf__mysql_packet_begin(struct hf__mysql *s);
/* The server refused what was sent last, or there was no memory to send it
 * (r: what sending gave): the operation's result. HF_OK, or the session is
 * dead. */
HF_MUST_CHECK int hf__mysql_refused(struct hf__mysql *s, struct hf__op *op,
                                    int r);

/* ---- columns */

/* "expires=…,…": the lease begins anew. A statement that was held up never
 * makes a lease shorter that was renewed since. */
void hf__mysql_sql_prolong(struct hf__text *t, int64_t lease_us);
/* "name_key=… AND token=…" */
void hf__mysql_sql_own(struct hf__text *t, const struct hf__key *key,
                       const struct hf__token *token);

/* ---- rows of the other tables; parts of a change */

/* The grant of an acquire. */
void hf__mysql_beside_put(struct hf__mysql_change *c, uint64_t fence, int slot);
/* Those that are not there any more; the token's own too. alone: also those
 * whose lease runs, but who were not broken. */
void hf__mysql_beside_clear(struct hf__mysql_change *c,
                            const struct hf__mysql_name *name,
                            const struct hf__token *token, bool is_alone);
/* Of which will then be some left? */
bool hf__mysql_beside_will_remain(const struct hf__mysql_name *name,
                                  const struct hf__token *token, bool is_alone);
/* Tickets of those who are gone, and the token's own. */
void hf__mysql_line_clear(struct hf__mysql_change *c,
                          const struct hf__mysql_name *name,
                          const struct hf__token *token);
bool hf__mysql_line_will_remain(const struct hf__mysql_name *name,
                                const struct hf__token *token);

#endif
