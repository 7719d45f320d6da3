/* SPDX-License-Identifier: MIT */
/*
 * The error that a caller gets when its claim got nothing: who holds the name,
 * or what kept the store from answering. Called by users' threads and the
 * executor's.
 */
#include "src/core/claim.h"

#include "src/base/error.h"
#include "src/core/grant.h"

#include <stdio.h>
#include <string.h>

/* The holder is the asking thread, as far as the owner fields that a store
 * keeps can tell. */
static bool is_same_thread(const struct hf__owner *a, const struct hf__owner *b)
{
    return a->pid == b->pid && strcmp(a->thread, b->thread) == 0 &&
           strcmp(a->host, b->host) == 0;
}

static int tell_holder(const struct hf__claim *c, int r, const char *verb,
                       const char *when, hf_error *err)
{
    const struct hf__record *k = &c->record;

    return hf__fail(
        err, r, "\"%s\" %s held by %s on %s (pid %lld), fence %llu%s%s",
        hf__grant_name(c->grant), verb, k->owner.label, k->owner.host,
        (long long)k->owner.pid, (unsigned long long)k->fence, when,
        is_same_thread(&k->owner, &c->owner)
            ? ": of this thread's own host, pid and id, so another client or "
              "owner here, a detached grant, or an earlier process that had "
              "these numbers; a lock is re-entrant for one client's owner"
            : "");
}

/* The time was up while a request to the store was under way. */
static int tell_last(const struct hf__claim *c, int r, hf_error *err)
{
    if (c->record.is_held) {
        return tell_holder(c, r, "was", ", when the store last answered", err);
    }
    return hf__fail(
        err, r, "the time for \"%s\" was over before the store answered again",
        hf__grant_name(c->grant));
}

static int tell_busy(const struct hf__claim *c, int r, hf_error *err)
{
    const struct hf__record *k = &c->record;
    const char *name = hf__grant_name(c->grant);
    char left[40] = ""; /* stays empty for a session, whose end is not known */

    if (c->is_cut_short) {
        return tell_last(c, r, err);
    }
    if (k->is_kept) {
        return hf__fail(err, r, "\"%s\" is kept closed for %lld ms more", name,
                        (long long)(k->remaining_us / 1000));
    }
    if (k->is_promised) {
        return hf__fail(err, r,
                        "\"%s\" is free, but other waiters are before this one "
                        "in its queue",
                        name);
    }
    if (!k->is_held) {
        return hf__fail(err, r,
                        "\"%s\" is not free: other threads of this process "
                        "(pid %lld) hold it, or wait before this one",
                        name, (long long)c->owner.pid);
    }
    if (k->remaining_us >= 0) {
        (void)snprintf(left, sizeof left, ", %lld ms left",
                       (long long)(k->remaining_us / 1000));
    }
    return tell_holder(c, r, "is", left, err);
}

/* The store's request still writes to c->err, or left no error there. */
static int tell_silence(const struct hf__claim *c, int r, hf_error *err)
{
    bool has_said = c->last_err.status < 0;

    return hf__fail(err, r, "no answer from the store for \"%s\" in time%s%s",
                    hf__grant_name(c->grant), has_said ? "; before: " : "",
                    has_said ? c->last_err.text : "");
}

int hf__claim_tell(const struct hf__claim *c, int r, hf_error *err)
{
    const char *name = hf__grant_name(c->grant);

    if (r == HF_BUSY || r == HF_TIMEDOUT) {
        return tell_busy(c, r, err);
    }
    if (r == HF_CANCELLED) {
        return hf__fail(err, r, "the wait for \"%s\" was cancelled", name);
    }
    if (c->is_detached || c->err.status == 0) {
        return tell_silence(c, r, err);
    }
    hf__error_copy(err, &c->err);
    if (err != NULL) {
        err->status = r;
    }
    return r;
}
