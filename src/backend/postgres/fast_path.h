/* SPDX-License-Identifier: MIT */
/*
 * Operations that the server can judge by itself in the statement that writes,
 * several of a kind at once. What can't be done so stays open, and the engine
 * decides on it. Thread: the session's.
 */
#ifndef HF_BACKEND_POSTGRES_FAST_PATH_H
#define HF_BACKEND_POSTGRES_FAST_PATH_H

#include "src/backend/postgres/postgres.h"

/* The result of an operation of which nothing was written so far. */
#define HF__PG_OPEN 110

/* In the order in which the kinds of a batch are applied. */
enum hf__pg_form {
    HF__PG_FAST_RENEW,
    HF__PG_FAST_RENEW_ONE_OF_SEVERAL,
    HF__PG_FAST_RELEASE,
    HF__PG_FAST_RELEASE_ONE_OF_SEVERAL,
    HF__PG_FAST_HANDOVER,
    HF__PG_FAST_ACQUIRE,
    HF__PG_FAST_MAKE, /* … names that have no record yet */
    HF__PG_FAST_NOT
};
enum hf__pg_form hf__pg_form_of(const struct hf__op *op);

/* What is done, or undone, as one. */
struct hf__pg_unit {
    enum hf__pg_form form;
    struct hf__op **ops; /* sorted by key */
    int n;
    bool is_refused; /* for what is in it; each alone may go well */
};

/* Ask for all of the unit, as a group. */
void hf__pg_fast_ask(struct hf__pg *s, const struct hf__pg_unit *u);
/* Take the reply: those that were not done are open. HF_OK, or the session is
 * dead. */
HF_MUST_CHECK int hf__pg_fast_hear(struct hf__pg *s, struct hf__pg_unit *u);

/* Wake locks of grants that those units give back: they are let go of after the
 * rows say so, by a group of their own. Gives how many. */
int hf__pg_fast_forget_wake_locks(struct hf__pg *s,
                                  const struct hf__pg_unit *units, int n,
                                  int64_t ret_wake_locks[HF__PG_WAKE_LOCKS]);
void hf__pg_fast_ask_unlock(struct hf__pg *s, const int64_t wake_locks[],
                            int n);
/* That of a grant which is over, if it is this session's, is let go of now;
 * s->t.lost is set if that fails. */
void hf__pg_fast_unlock(struct hf__pg *s, const struct hf__token *token);
/* A statement that failed may have taken some: the same for all. */
void hf__pg_fast_unlock_all(struct hf__pg *s);
/* Ask for an empty record of that name, if it has none. */
void hf__pg_fast_ask_record(struct hf__pg *s, const struct hf__key *key);

/* What was sent last was refused, or (r, of the wire) went wrong: what that is
 * for an operation. s->t.lost is set if the session is dead; of what was sent
 * then and not answered, it is `if_lost`. */
int hf__pg_failed(struct hf__pg *s, hf_error *err, int r, int if_lost);

/* As the engine's commit(): of s->t.name. commit.c */
HF_MUST_CHECK int hf__pg_commit(struct hf__pg *s, const struct hf__op *op,
                                struct hf__name *name);
/* One operation by the engine; with the rows that were read for it, or NULL.
 * HF_OK, or the session is dead. decide.c */
HF_MUST_CHECK int hf__pg_decide(struct hf__pg *s, struct hf__op *op,
                                PGresult *seen);

#endif
