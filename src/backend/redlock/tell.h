/* SPDX-License-Identifier: MIT */
/*
 * What is told of members that have no part in a majority: of each one why, and
 * what status that amounts to. Thread: the session's.
 */
#ifndef HF_BACKEND_REDLOCK_TELL_H
#define HF_BACKEND_REDLOCK_TELL_H

#include "src/backend/redlock/redlock.h"

/* Why it does not count; as snprintf(). */
int hf__member_describe(const struct hf__redlock *s, int member, char *to,
                        size_t size);
void hf__refusals_begin(struct hf__redlock *s);
void hf__refusal_note(struct hf__voter *m, const hf_error *why);
/* Why there is no majority: each member that does not count or has refused, by
 * name. Gives `status`. */
int hf__members_tell(const struct hf__redlock *s, int status, hf_error *err);
/* The status of having too few of them: HF_EUNAVAIL, unless so many are
 * refused that those which may come back are too few. */
int hf__members_status(const struct hf__redlock *s);

#endif
