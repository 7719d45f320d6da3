/* SPDX-License-Identifier: MIT */
/*
 * A session at the contract, of any store: by which URL it opens, and which
 * ones are refused.
 */
#ifndef HF_TESTS_STORE_SERVER_DOOR_H
#define HF_TESTS_STORE_SERVER_DOOR_H

#include "src/backend/conn.h"

struct door {
    struct hf__conn conn;
    hf_error error; /* of the last call */
};

/* Closed at the end of the scope. */
#define DOOR(name) HF_AUTO(shut) struct door name = {0}
void shut(struct door *d);

/* Open, with 10 s; gives the status, its text in d->error. */
int enter(struct door *d, const char *url);
int enter_within(struct door *d, const char *url, int64_t ms);
int enter_allowing(struct door *d, const char *url, const char *allow);
int enter_by(struct door *d, const char *url, const char *allow, int64_t ms);
/* Expects the status, and its text to have these words. */
void expect_refused(const char *url, int status, const char *words);
/* What check() says of `name`: its value, "" if it says nothing; its verdict
 * in *ret_verdict if not NULL. Until the next call. */
const char *finding(struct door *d, const char *name, hf_verdict *ret_verdict);
/* A socket that takes connections and says nothing; its port. */
int listen_silently(int *ret_port);

#endif
