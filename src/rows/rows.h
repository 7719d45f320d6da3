/* SPDX-License-Identifier: MIT */
/*
 * What every call for a row needs, whatever the client library: the text of its
 * statements; the caller's arguments, checked and copied; what is reported to
 * the caller; and the parts of an update by version that need no server:
 * calling the callback, and trying again. Thread: the caller's.
 */
#ifndef HF_ROWS_ROWS_H
#define HF_ROWS_ROWS_H

#include "include/holdfast-rows.h"
#include "src/base/base.h"

struct hf__sql {
    char *bytes;
    size_t length;
    size_t room;
    bool is_broken; /* out of memory: no part of it may be sent */
};

/* Which names a server accepts. */
struct hf__names {
    char quote;  /* around a name; doubled within it */
    int longest; /* in characters, or in bytes */
    bool is_in_bytes;
    bool is_utf8; /* the connection; only then non-ASCII names are taken */
    const char *encoding; /* how to get is_utf8, for the error's text */
};

void hf__sql_clear(struct hf__sql *);
/* Takes a zeroed object. */
void hf__sql_fini(struct hf__sql *);

__attribute__((format(printf, 2, 3))) void
hf__sql_addf(struct hf__sql *, const char *format, ...);
/* Add a name that was checked, in quotes. */
void hf__sql_quoted(struct hf__sql *, char quote, const char *name);
/* Make room for `more` bytes and a NUL at the end; NULL: out of memory. A
 * caller that writes there adds to the length. */
HF_MUST_CHECK char *hf__sql_room(struct hf__sql *, size_t more);

/* Write the condition of a guard: "`fence`<=17". HF_OK, HF_EINVAL,
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__sql_guard(char *buf, size_t size, const char *column,
                                uint64_t fence, const struct hf__names *,
                                hf_error *err);
/* The name of a status, including those of holdfast.h; never NULL. */
const char *hf__sql_strstatus(int status);

struct hf__call {
    hf_error *err; /* own_err; the caller's is filled in at the end */
    hf_error own_err;
    hf_error *ret_err;     /* the caller's */
    hf_row_info *ret_info; /* the caller's, or NULL */
    hf_row row;
    hf_row_info info;
};

/* Take the caller's pointers. The struct must not be moved afterwards. */
void hf__call_begin(struct hf__call *, hf_row_info *ret_info,
                    hf_error *ret_err);
/* Copy the row. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__call_open(struct hf__call *, const void *db,
                                const hf_row *);
/* Check the row's names and the values of its key. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__call_check_row(struct hf__call *,
                                     const struct hf__names *);
/* End the call: the caller gets the info, and the error unless r is HF_OK.
 * Gives r. */
HF_MUST_CHECK int hf__call_end(struct hf__call *, int r);

/* Copy the caller's lock options over the defaults, and check them; NULL keeps
 * the defaults. */
HF_MUST_CHECK int hf__call_lock_opts(hf_row_lock_opts *,
                                     const hf_row_lock_opts *theirs,
                                     hf_error *);
/* Fail with HF_ROW_GONE; `how` follows "no such row" in the text. */
HF_MUST_CHECK int hf__call_gone(struct hf__call *, const char *how);
/* Fail with HF_EUNSAFE: a lock without a transaction. */
HF_MUST_CHECK int hf__call_outside(struct hf__call *);

struct hf__change {
    struct hf__call *call;
    hf_row_update u;
    hf_row_value old[HF_ROW_COLUMNS_MAX];
    hf_row_value new[HF_ROW_COLUMNS_MAX];
};

/* Copy the update and check it. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__change_open(struct hf__change *,
                                  const hf_row_update *given,
                                  const struct hf__names *);
/* Have the callback compute the new values from the old. HF_OK,
 * HF_ROW_DECLINED, HF_EINVAL. */
HF_MUST_CHECK int hf__change_ask(struct hf__change *);
/* Fail with HF_CONFLICT. */
HF_MUST_CHECK int hf__change_conflict(struct hf__change *);
/* Call attempt until it ends with another status than HF_CONFLICT or
 * HF_DEADLOCK, as often as the update's retries and for as long as its limit_ms
 * allow; is_once: only once. Counts the tries in the info. */
HF_MUST_CHECK int hf__change_attempts(struct hf__change *, bool is_once,
                                      int (*attempt)(void *), void *arg);

#endif
