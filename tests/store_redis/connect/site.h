/* SPDX-License-Identifier: MIT */
/*
 * What these tests share: URLs, sessions (door.h), and a port that says
 * nothing. The server is the program's, unless a test starts one.
 */
#ifndef HF_TESTS_STORE_REDIS_CONNECT_SITE_H
#define HF_TESTS_STORE_REDIS_CONNECT_SITE_H

#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"
#include "tests/store_server/door.h"

#include <stdio.h>

/* Ended at the end of the scope. */
#define AUTO_SERVER HF_AUTO(end_server) struct hf__redis
void end_server(struct hf__redis **);

/* "redis://AUTHORITY/0OPTIONS" with printf's help, till the next call. */
__attribute__((format(printf, 1, 2))) const char *url_of(const char *format,
                                                         ...);
/* 127.0.0.1 and its port. */
const char *at(const struct hf__redis *);

/* It is that one's replica, and has all that one has. */
void follow(struct hf__redis *replica, const struct hf__redis *master);
/* As one that was promoted: it follows nobody any more. */
void has_been_a_replica(struct hf__redis *);

/* Expects it to open, and gives the grade. */
char expect_open(const char *url);

#endif
