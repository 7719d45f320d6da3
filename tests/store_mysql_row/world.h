/* SPDX-License-Identifier: MIT */
/*
 * What the tests of mysql://…?scheme=row say besides the words of
 * tests/contract/vocabulary.h: what an administrator sees and does on the
 * server, which all tests of a program share; the database is the test's.
 */
#ifndef HF_TESTS_STORE_MYSQL_ROW_WORLD_H
#define HF_TESTS_STORE_MYSQL_ROW_WORLD_H

#include "tests/contract/vocabulary.h"
#include "tests/servers/mariadb.h"

const struct hf__mariadb *server(void);
const char *database(void);
/* The store's URL with these options: "session_timeout=3s&max_connections=2",
 * and for another user "name:password"; till the next call. */
const char *url_with(const char *options);
const char *url_as(const char *user, const char *options);
/* By that port of 127.0.0.1. */
const char *url_by(int port);
/* A party of that URL, until the end of the scope. */
#define PARTY_AT(who, url)                                                     \
    HF_AUTO(give_back_and_leave) struct party who = {0};                       \
    EXPECT_IS(join_url(&who, #who, url), HF_OK)
/* Its URL is refused with that status, and the words name what is wrong. */
void expect_refusal(const char *url, int status, const char *words);

/* The connections of this database that have a transaction open, as the server
 * tells of them: how many, and one of them (0: there is none). */
int transactions(void);
int64_t holder(void);
/* How many of them wait for a row. */
int queue(void);
void end_connection(int64_t id);
/* In the database; *TABLE* is the table. */
void change_table(const char *table, const char *how);
/* From now on each new row of that table is refused with that error. */
void refuse_rows(const char *table, unsigned error);
void accept_rows(void);
/* What check() says of that, and how grave it is; till the next call. */
const char *finding(struct party *, const char *name, hf_verdict *ret_verdict);
/* One attempt, whatever it gives, HF__AGAIN too. */
int try_once(struct party *, const char *name);

#endif
