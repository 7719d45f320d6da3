/* SPDX-License-Identifier: MIT */
/*
 * What each kind of operation makes of a name that was read, grants beside
 * others and the line included. All set the operation's results, or c->is_raced
 * for another attempt; they give HF_OK, or the session is dead. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_MYSQL_CROWDED_H
#define HF_BACKEND_MYSQL_CROWDED_H

#include "src/backend/mysql/change.h"

/* acquire.c */
HF_MUST_CHECK int hf__mysql_crowd_acquire(struct hf__mysql_change *c,
                                          const struct hf__mysql_name *name);
/* owned.c: by the owner of a grant */
HF_MUST_CHECK int hf__mysql_crowd_handover(struct hf__mysql_change *c,
                                           const struct hf__mysql_name *name);
HF_MUST_CHECK int hf__mysql_crowd_renew(struct hf__mysql_change *c,
                                        const struct hf__mysql_name *name);
HF_MUST_CHECK int hf__mysql_crowd_release(struct hf__mysql_change *c,
                                          const struct hf__mysql_name *name);
HF_MUST_CHECK int hf__mysql_crowd_raise(struct hf__mysql_change *c,
                                        const struct hf__mysql_name *name);
/* A renewal or a release of a grant beside others without reading first, in
 * one round trip: c->is_done, or it is not there as it should be. */
HF_MUST_CHECK int hf__mysql_crowd_try_own(struct hf__mysql_change *c);
/* operate.c: for people */
HF_MUST_CHECK int hf__mysql_crowd_inspect(struct hf__mysql_change *c,
                                          const struct hf__mysql_name *name);
HF_MUST_CHECK int hf__mysql_crowd_break(struct hf__mysql_change *c,
                                        const struct hf__mysql_name *name);

/* The result for what makes no sense in the tables. */
int hf__mysql_crowd_damaged(const struct hf__op *op);
/* ",fence=…,token=…,…" of an exclusive grant; then the rest of its change is
 * written and sent. */
HF_MUST_CHECK int hf__mysql_crowd_grant_alone(struct hf__mysql_change *c,
                                              const struct hf__mysql_name *name,
                                              const struct hf__token *token);

#endif
