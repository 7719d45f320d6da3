/* SPDX-License-Identifier: MIT */
/*
 * What the numbers of MySQL and MariaDB mean for a lock. Thread: any.
 */
#ifndef HF_BACKEND_MYSQL_ERRORS_H
#define HF_BACKEND_MYSQL_ERRORS_H

#include "src/base/base.h"

struct hf__mysql;

enum hf__error_class {
    HF__ERROR_AGAIN,  /* rolled back, and worth another attempt: 1213, 1205 */
    HF__ERROR_BATCH,  /* refused for what is in it: neighbours may pass */
    HF__ERROR_SERVER, /* refused, and so would be whatever follows */
    HF__ERROR_UNKNOWN /* the session is of no use; it may be applied */
};

/* Of a number that the server gave. */
enum hf__error_class hf__mysql_error_class(unsigned error);
/* What it said, without tokens: a server or a proxy may repeat a statement. */
void hf__mysql_words(const struct hf__mysql *s, char *to, size_t size);
/* Tell err (NULL is fine) what the last reply's error, or what ended the
 * connection, means: its status, negative. */
int hf__mysql_fail(const struct hf__mysql *s, hf_error *err);

/* The same of an operation, which can't be HF_EINVAL. */
int hf__mysql_refusal(const struct hf__mysql *s, hf_error *err);

/* A lock that somebody else has is waited for that long, where that costs
 * nobody else time. */
#define HF__LOCK_WAIT_S 1
/* Refused as HF__ERROR_AGAIN: may another attempt at once help? Not if this
 * one waited as long as one may, for a row or for a table. */
bool hf__mysql_is_worth_another(const struct hf__mysql *s);

#endif
