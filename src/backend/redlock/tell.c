/* SPDX-License-Identifier: MIT */
/*
 * Error texts: why members have no part in a majority. A member's first refusal
 * in a call is kept until the next call. Called by the session's thread.
 */
#include "src/backend/redlock/members.h"

#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

/* A member that was asked and is silent for that long is named, too. */
#define SILENT_MS 20

int hf__member_describe(const struct hf__redlock *s, int member, char *to,
                        size_t size)
{
    const struct hf__redlock_member *m = &s->members[member];
    int64_t left_ms = hf__ms_until(m->counts_at, hf__now());

    if (m->is_over && m->peer.state == HF__PEER_DEAD) {
        return snprintf(to, size, "%s", m->peer.err.text);
    }
    if (!m->is_in) {
        return snprintf(to, size, "%s: it does not answer", m->target.shown);
    }
    if (m->duplicate_of >= 0) {
        return snprintf(to, size, "%s: it is the same server as %s",
                        m->target.shown,
                        s->members[m->duplicate_of].target.shown);
    }
    if (left_ms == 0) {
        return snprintf(to, size, "%s: no answer yet", m->target.shown);
    }
    return hf__durability_describe(m, left_ms, to, size);
}

/* ---- refusals */

void hf__refusals_begin(struct hf__redlock *s)
{
    for (int i = 0; i < s->n; i++) {
        hf_error *said = &s->members[i].said;

        said->size = sizeof *said; /* the status tells if the rest counts */
        said->status = HF_OK;
    }
}

void hf__refusal_note(struct hf__redlock_member *m, const hf_error *why)
{
    if (m->said.status == 0) {
        hf__error_copy(&m->said, why);
    }
}

static int count_refusals(const struct hf__redlock *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        n += s->members[i].said.status != 0;
    }
    return n;
}

/* ---- reasons */

/* Returns as hf__member_describe(). */
static int say_why(const struct hf__redlock *s, int member, char *to,
                   size_t size)
{
    const struct hf__redlock_member *m = &s->members[member];

    return m->said.status != 0
               ? snprintf(to, size, "%s: %s", m->target.shown, m->said.text)
               : hf__member_describe(s, member, to, size);
}

/* Was it asked, and has sent nothing since? */
static bool is_silent(const struct hf__redlock_member *m, hf__time now)
{
    return m->n_pending > 0 &&
           hf__between_ns(m->silent_from, now) >= SILENT_MS * HF__MS;
}

static int name_target(const struct hf__redlock *s, int member, char *to,
                       size_t size)
{
    const struct hf__target *t = &s->members[member].target;

    return snprintf(to, size, "%s:%d", t->host, t->port);
}

/* Write one text for each member that has no part in a majority. False: they do
 * not all fit. */
static bool tell_each(const struct hf__redlock *s, char *to, size_t size,
                      int (*say)(const struct hf__redlock *, int, char *,
                                 size_t))
{
    hf__time now = hf__now();
    size_t used = 0;

    to[0] = '\0';
    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        if (hf__member_counts(m, now) && !is_silent(m, now) &&
            m->said.status == 0) {
            continue;
        }
        if (used + 2 >= size) {
            return false;
        }
        used += (size_t)snprintf(to + used, size - used, "%s",
                                 used > 0 ? "; " : "");
        used += (size_t)say(s, i, to + used, size - used);
        if (used >= size) {
            return false;
        }
    }
    return true;
}

/* If the reasons do not fit, the text has at least all names. */
int hf__members_tell(const struct hf__redlock *s, int status, hf_error *err)
{
    char why[2 * sizeof err->text];
    size_t room = sizeof err->text - 40; /* for the words before them */
    int count = hf__members_count(s);
    int majority = hf__redlock_majority(s);

    if (!tell_each(s, why, room, say_why)) {
        (void)tell_each(s, why, room, name_target);
        size_t used = strlen(why);

        (void)snprintf(why + used, sizeof why - used, ": ");
        (void)tell_each(s, why + used + 2, sizeof why - used - 2, say_why);
    }
    if (count < majority) {
        return hf__fail(err, status, "%d of %d members count, %d must: %s",
                        count, s->n, majority, why);
    }
    return hf__fail(err, status, "%d of %d members refuse: %s",
                    count_refusals(s), s->n, why);
}

int hf__members_status(const struct hf__redlock *s)
{
    int coming = 0;
    int status = HF_EUNAVAIL;

    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];
        bool is_refused = m->duplicate_of >= 0 ||
                          (m->is_over && m->peer.status != HF_EUNAVAIL);

        coming += !is_refused;
        if (is_refused && status == HF_EUNAVAIL) {
            status = m->duplicate_of >= 0 ? (int)HF_EUNSAFE : m->peer.status;
        }
    }
    return coming >= hf__redlock_majority(s) ? (int)HF_EUNAVAIL : status;
}
