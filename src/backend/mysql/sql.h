/* SPDX-License-Identifier: MIT */
/*
 * Parts of SQL. Outside values are hexadecimal literals, so that no character
 * set and no sql_mode can change their meaning.
 *
 * Wake locks are user locks of the server that wake waiters. A holder's session
 * holds the wake lock of its token from before the row is written until after
 * it was freed; waiters for that holder ask for the wake lock. Wake locks are
 * hints and never the lock itself. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_SQL_H
#define HF_BACKEND_MYSQL_SQL_H

#include "src/backend/table/text.h"

struct hf__mysql;

/* ---- literals */

/* x'0af3'; '' if there are no bytes. */
void hf__text_hex(struct hf__text *, const void *bytes, size_t length);
/* _utf8mb4 x'…' */
void hf__text_string(struct hf__text *, const char *string);
void hf__text_key(struct hf__text *, const struct hf__key *);
void hf__text_token(struct hf__text *, const struct hf__token *);

/* ---- wake locks */

/* The connection that has the wake lock of the token in that column; prefix
 * "hf": a grant's, "hq": a ticket's. */
#define HF__WAKE_LOCK_OF_TOKEN(prefix)                                         \
    "IS_USED_LOCK(CONCAT('" prefix ".',HEX(LEFT(token,8))))"

/* Write the names of user locks, as SQL. */
void hf__mysql_wake_lock_of_grant(struct hf__text *t,
                                  const struct hf__token *token);
void hf__mysql_wake_lock_of_ticket(struct hf__text *t,
                                   const struct hf__token *token);
/* The user lock of the first waiter for a name, in the session's database. */
void hf__mysql_wake_lock_of_turn(struct hf__text *t, const struct hf__key *key);

/* GET_LOCK(…,0) and RELEASE_LOCK(…) of a grant's wake lock, as SQL. It is taken
 * only if we do not have it, since a lock taken twice must be dropped twice; 1:
 * it was taken now. */
void hf__mysql_wake_lock_take(struct hf__text *t,
                              const struct hf__token *token);
void hf__mysql_wake_lock_drop(struct hf__text *t,
                              const struct hf__token *token);

/* The token did not win: the next packet will drop its wake lock. */
void hf__mysql_wake_lock_leave(struct hf__mysql *s,
                               const struct hf__token *token);

#endif
