/* SPDX-License-Identifier: MIT */
/*
 * Somebody else on the server of a store of tables, with the words of the
 * contract suite for the rest: a session that locks rows, changes them and
 * holds bells, and a look at what the tables say. Each store has its own, in a
 * file of its name.
 */
#ifndef HF_TESTS_TABLE_CROWD_STRANGER_H
#define HF_TESTS_TABLE_CROWD_STRANGER_H

#include "src/backend/table/name.h"
#include "tests/contract/vocabulary_crowd.h"

/* A session in the test's database; it ends with the scope. */
#define STRANGER(who)                                                          \
    __attribute__((cleanup(end_stranger))) struct stranger *who = stranger()
struct stranger *stranger(void);
void end_stranger(struct stranger **);
/* One statement: does it do? */
__attribute__((format(printf, 2, 3))) bool can(struct stranger *,
                                               const char *format, ...);
/* The same, which must do. */
__attribute__((format(printf, 2, 3))) void sql(struct stranger *,
                                               const char *format, ...);
/* The first value that it gives, as a number; NULL is −1. */
__attribute__((format(printf, 2, 3))) int64_t number(struct stranger *,
                                                     const char *format, ...);
/* How SQL spells the key of a name. Until the next call. */
const char *spelled(const char *name);

/* ---- bells */

/* Has anybody that of the claim's grant? */
bool rings(struct stranger *, const struct claim *);
/* Take that of the claim's ticket, and let go of it. */
void take_ticket_bell(struct stranger *, const struct claim *);
void drop_ticket_bell(struct stranger *, const struct claim *);
/* From now on the party's session has none. */
void do_without_bells(struct party *);

/* ---- errands */

/* One operation on a thread of its own, with ten seconds. */
struct errand {
    struct party *who;
    struct request rq;
    int64_t took_ms;
    int result;
    struct hf__test_thread *thread;
};
void start_errand(struct errand *, struct party *, enum hf__op_kind,
                  const char *name, struct hf__lock_mode);
int end_errand(struct errand *);

/* End the statement, or (whole) the session, that the party waits for. */
void end_statement_of(struct stranger *, const struct party *, bool whole);

#endif
