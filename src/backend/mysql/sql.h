/* SPDX-License-Identifier: MIT */
/*
 * What goes into SQL. Bytes from outside do as hexadecimal literals, so that no
 * character set and no sql_mode can change what they mean.
 *
 * Wake locks: user locks of the server, by which waiters are woken. A holder's
 * session holds the wake lock of its token from before the row is written until
 * after it was freed; who waits for that token asks for its wake lock. They are
 * hints and never the lock itself. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_SQL_H
#define HF_BACKEND_MYSQL_SQL_H

#include "src/backend/table/text.h"

struct hf__mysql;

/* ---- literals */

/* x'0af3'; '' for none. */
void hf__text_hex(struct hf__text *, const void *bytes, size_t length);
/* _utf8mb4 x'…' */
void hf__text_string(struct hf__text *, const char *string);
void hf__text_key(struct hf__text *, const struct hf__key *);
void hf__text_token(struct hf__text *, const struct hf__token *);

/* ---- wake locks */

/* Whose connection has the wake lock of the token in that column: "hf", a
 * grant's; "hq", a ticket's. */
#define HF__WAKE_LOCK_OF_TOKEN(prefix)                                         \
    "IS_USED_LOCK(CONCAT('" prefix ".',HEX(LEFT(token,8))))"

/* Names of user locks, as SQL. */
void hf__mysql_wake_lock_of_grant(struct hf__text *t,
                                  const struct hf__token *token);
void hf__mysql_wake_lock_of_ticket(struct hf__text *t,
                                   const struct hf__token *token);
/* Of the first who waits for a name, in the session's database. */
void hf__mysql_wake_lock_of_turn(struct hf__text *t, const struct hf__key *key);

/* GET_LOCK(…,0) and RELEASE_LOCK(…) of a grant's wake lock, as SQL. It is taken
 * once only, as what is taken twice has to be dropped twice; 1: it was now. */
void hf__mysql_wake_lock_take(struct hf__text *t,
                              const struct hf__token *token);
void hf__mysql_wake_lock_drop(struct hf__text *t,
                              const struct hf__token *token);

/* The token did not win: its wake lock is dropped with the next packet. */
void hf__mysql_wake_lock_leave(struct hf__mysql *s,
                               const struct hf__token *token);

#endif
