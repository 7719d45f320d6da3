/* SPDX-License-Identifier: MIT */
/*
 * What the tests of this folder at the contract need of a store of SQL tables:
 * its site.c has these words. Sessions are those of tests/store_server/door.h.
 */
#ifndef HF_TESTS_STORE_TABLE_SITE_H
#define HF_TESTS_STORE_TABLE_SITE_H

#include "tests/lib/test.h"
#include "tests/servers/proxy.h"
#include "tests/store_server/names.h"

#include <stdio.h>

/* The URL of this test's database with these options ("" for none), for the
 * ordinary user; the same at another port of 127.0.0.1. Until the next call. */
const char *url_with(const char *options);
const char *url_at_port(int port);
int server_port(void);
extern const struct hf__framing *const framing;
extern const char *const deletion; /* how a name's row is sent away */

/* A statement in the test's database, which must do. */
__attribute__((format(printf, 1, 2))) void sql(const char *format, ...);
/* The first value that one gives, "" for NULL; until the next call. */
__attribute__((format(printf, 1, 2))) const char *value(const char *format,
                                                        ...);
/* The table of locks has room for names that are none of ours. */
void admit_long_names(void);

/* Somebody with a connection of his own; his statements must do. */
struct person *come_in(void);
void person_says(struct person *, const char *statement);
void go_out(struct person *);

#endif
