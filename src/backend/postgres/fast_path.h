/* SPDX-License-Identifier: MIT */
/*
 * The fast path: operations whose conditions the server can check in the
 * statement that writes, several of a kind at once. An operation that it does
 * not apply stays open, and the engine decides on it. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_FAST_PATH_H
#define HF_BACKEND_POSTGRES_FAST_PATH_H

#include "src/backend/postgres/postgres.h"

/* The result of an operation for which nothing was written so far. */
#define HF__PG_OPEN 110

/* The kinds of operations, in the order in which those of a batch are
 * applied. */
enum hf__pg_form {
    HF__PG_FAST_RENEW,
    HF__PG_FAST_RENEW_ONE_OF_SEVERAL,
    HF__PG_FAST_RELEASE,
    HF__PG_FAST_RELEASE_ONE_OF_SEVERAL,
    HF__PG_FAST_HANDOVER,
    HF__PG_FAST_ACQUIRE,
    HF__PG_FAST_MAKE, /* acquire a name without a record */
    HF__PG_FAST_NOT
};
enum hf__pg_form hf__pg_form_of(const struct hf__op *op);

/* Operations of one form, which the server commits or undoes together. */
struct hf__pg_unit {
    enum hf__pg_form form;
    struct hf__op **ops; /* sorted by key */
    int n;
    bool is_refused; /* the server undid all of it; each alone may succeed */
};

/* Ask, without sending it, for all operations of the unit, as one group. */
void hf__pg_fast_ask(struct hf__pg *s, const struct hf__pg_unit *u);
/* Take the unit's reply: operations that were not applied become open. HF_OK,
 * or the session is dead. */
HF_MUST_CHECK int hf__pg_fast_hear(struct hf__pg *s, struct hf__pg_unit *u);

/* Forget the wake locks of grants that those units give back, and list their
 * keys. They are released by a group of their own, after the rows say that the
 * grants are over. Gives how many. */
int hf__pg_fast_forget_wake_locks(struct hf__pg *s,
                                  const struct hf__pg_unit *units, int n,
                                  int64_t ret_wake_locks[HF__PG_WAKE_LOCKS]);
void hf__pg_fast_ask_unlock(struct hf__pg *s, const int64_t wake_locks[],
                            int n);
/* The grant is over: release its wake lock now, if this session has it.
 * s->t.lost is set if that fails. */
void hf__pg_fast_unlock(struct hf__pg *s, const struct hf__token *token);
/* A failed statement may have taken some wake locks: release all of the
 * session. s->t.lost is set if that fails. */
void hf__pg_fast_unlock_all(struct hf__pg *s);
/* Ask, without sending it, for an empty record of that name, if it has none. */
void hf__pg_fast_ask_record(struct hf__pg *s, const struct hf__key *key);

/* The result of an operation that failed: `r` is an error of the wire, or HF_OK
 * where the server refused (s->reply). If the session is dead, s->t.lost is
 * set, and an operation that was sent and not answered gets `if_lost`. */
int hf__pg_failed(struct hf__pg *s, hf_error *err, int r, int if_lost);

/* The engine's commit(), of s->t.name (commit.c). */
HF_MUST_CHECK int hf__pg_commit(struct hf__pg *s, const struct hf__op *op,
                                struct hf__name *name);
/* Let the engine decide on one operation and write it; `seen` are rows that
 * were read for it, or NULL. HF_OK, or the session is dead (decide.c). */
HF_MUST_CHECK int hf__pg_decide(struct hf__pg *s, struct hf__op *op,
                                PGresult *seen);

#endif
