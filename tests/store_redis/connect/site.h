/* SPDX-License-Identifier: MIT */
/*
 * What these tests share: sessions at the contract with the store, and a port
 * that says nothing. The server is the program's, unless a test starts one.
 */
#ifndef HF_TESTS_STORE_REDIS_CONNECT_SITE_H
#define HF_TESTS_STORE_REDIS_CONNECT_SITE_H

#include "src/backend/conn.h"
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

#include <stdio.h>

struct door {
    struct hf__conn conn;
    hf_error error; /* of the last call */
};

/* Closed at the end of the scope. */
#define DOOR(name) HF_AUTO(shut) struct door name = {0}
void shut(struct door *d);
#define AUTO_SERVER HF_AUTO(end_server) struct hf__redis
void end_server(struct hf__redis **);

/* "redis://AUTHORITY/0OPTIONS" with printf's help, till the next call. */
__attribute__((format(printf, 1, 2))) const char *url_of(const char *format,
                                                         ...);
/* 127.0.0.1 and its port. */
const char *at(const struct hf__redis *);

/* As one that was promoted: it follows nobody any more. */
void has_been_a_replica(struct hf__redis *);

/* Open, with 10 s; gives the status, its text in d->error. */
int enter(struct door *d, const char *url);
int enter_within(struct door *d, const char *url, int64_t ms);
int enter_allowing(struct door *d, const char *url, const char *allow);
/* Expects it to open, and gives the grade. */
char expect_open(const char *url);
/* Expects the status, and its text to have these words. */
void expect_refused(const char *url, int status, const char *words);

/* A socket that takes connections and says nothing; its port. */
int listen_silently(int *ret_port);

#endif
