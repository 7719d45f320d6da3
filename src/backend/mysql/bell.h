/* SPDX-License-Identifier: MIT */
/*
 * Bells: user locks of the server, by which waiters are woken. A holder's
 * session holds the bell of its token from before the row is written until
 * after it was freed; who waits for that token asks for its bell. They are
 * hints and never the lock itself. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_BELL_H
#define HF_BACKEND_MYSQL_BELL_H

#include "src/backend/mysql/mysql.h"

/* Whose connection has the bell of the token in that column: "hf", a grant's;
 * "hq", a ticket's. */
#define HF__BELL_OF_TOKEN(prefix)                                              \
    "IS_USED_LOCK(CONCAT('" prefix ".',HEX(LEFT(token,8))))"

/* Names of user locks, as SQL. */
void hf__bell_of_grant(struct hf__text *t, const struct hf__token *token);
void hf__bell_of_ticket(struct hf__text *t, const struct hf__token *token);
/* Of the first who waits for a name, in the session's database. */
void hf__bell_of_turn(struct hf__text *t, const struct hf__key *key);

/* GET_LOCK(…,0) and RELEASE_LOCK(…) of a grant's bell, as SQL. It is taken
 * once only, as what is taken twice has to be dropped twice; 1: it was now. */
void hf__bell_take(struct hf__text *t, const struct hf__token *token);
void hf__bell_drop(struct hf__text *t, const struct hf__token *token);

/* The token did not win: its bell is dropped with the next packet. */
void hf__bell_leave(struct hf__mysql *s, const struct hf__token *token);
/* Begin s->sql afresh, with what the bells that were left need. */
void hf__bell_begin_packet(struct hf__mysql *s, int *ret_replies);

#endif
