/* SPDX-License-Identifier: MIT */
/*
 * What the error numbers of MySQL and MariaDB mean for a lock. Thread: any.
 */
#ifndef HF_BACKEND_MYSQL_ERRORS_H
#define HF_BACKEND_MYSQL_ERRORS_H

#include "src/base/base.h"

struct hf__mysql;

enum hf__error_class {
    HF__ERROR_AGAIN,  /* rolled back, and worth another attempt: 1213, 1205 */
    HF__ERROR_BATCH,  /* refused for one of its operations: the others may
                         pass */
    HF__ERROR_SERVER, /* refused, and whatever follows would be, too */
    HF__ERROR_UNKNOWN /* the session can't be used any more; the statement may
                         be applied */
};

/* The class of an error number of the server or the client library. */
enum hf__error_class hf__mysql_error_class(unsigned error);
/* Copy the server's message, with tokens hidden: a server or a proxy may quote
 * a statement. */
void hf__mysql_words(const struct hf__mysql *s, char *to, size_t size);
/* Write to err (may be NULL) what the last reply's error means, or what ended
 * the connection. Returns the status, negative. */
int hf__mysql_fail(const struct hf__mysql *s, hf_error *err);

/* The same for an operation, whose status can't be HF_EINVAL. */
int hf__mysql_refusal(const struct hf__mysql *s, hf_error *err);

/* Seconds to wait for a lock that somebody else has, where nobody else has to
 * wait with it. */
#define HF__LOCK_WAIT_S 1
/* After HF__ERROR_AGAIN: may another attempt at once help? Not if this one
 * waited its full time for a row or a table. */
bool hf__mysql_is_worth_another(const struct hf__mysql *s);

#endif
