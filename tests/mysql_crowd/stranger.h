/* SPDX-License-Identifier: MIT */
/*
 * Somebody else on the server, with the words of the contract suite for the
 * rest: a session that locks rows, changes them and holds user locks, and a
 * look at what the tables say.
 */
#ifndef HF_TESTS_MYSQL_CROWD_STRANGER_H
#define HF_TESTS_MYSQL_CROWD_STRANGER_H

#include "tests/contract/vocabulary_crowd.h"

#include <mysql.h>

/* A session in the test's database; it ends with the scope. */
#define STRANGER(who)                                                          \
    __attribute__((cleanup(end_stranger))) MYSQL *who = stranger()
MYSQL *stranger(void);
void end_stranger(MYSQL **);
/* One statement; 0, or the number of the error. */
__attribute__((format(printf, 2, 3))) unsigned try_sql(MYSQL *,
                                                       const char *format, ...);
/* The same, which must succeed. */
__attribute__((format(printf, 2, 3))) void sql(MYSQL *, const char *format,
                                               ...);
/* The first value that it gives, as a number; NULL is −1. */
__attribute__((format(printf, 2, 3))) int64_t number(MYSQL *,
                                                     const char *format, ...);
/* How the store spells a name: x'…'. Until the next call. */
const char *spelled(const char *name);
/* The user lock of a claim's token, as SQL. Until the next call. */
const char *bell(const char *prefix, const struct claim *);

/* One operation on a thread of its own. */
struct errand {
    struct party *who;
    struct request rq;
    int64_t took_ms;
    int result;
    struct hf__test_thread *thread;
};
void start_errand(struct errand *, struct party *, enum hf__op_kind,
                  const char *name, struct hf__manner);
int end_errand(struct errand *);

#endif
