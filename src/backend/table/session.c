/* SPDX-License-Identifier: MIT */
/*
 * The running call, poll() on its socket and on the session's waker, and stale
 * connections. Each session has a mark. The next one finds the session that
 * died by its mark, on the same server only and never another client's, ends it
 * and waits until it has ended: what it has not done by then is never done.
 * Without a mark, or on another server, only waiting long enough is safe.
 * Called by the session's thread.
 */
#include "src/backend/table/session.h"

#include "src/base/error.h"

#include <poll.h>

/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000

void hf__table_begin(struct hf__table_head *t, hf__time deadline, hf_error *err)
{
    t->deadline = deadline;
    t->err = err;
    t->lost = HF_OK;
}

/* ---- sleeping */

short hf__table_sleep(struct hf__table_head *t, int fd, short events,
                      hf__time until)
{
    struct pollfd fds[2] = {{.fd = events == 0 ? -1 : fd, .events = events},
                            {.fd = hf__waker_fd(&t->waker), .events = POLLIN}};
    bool is_ending = false;

    for (;;) {
        int64_t ms;
        int n;

        if (!is_ending && hf__is_interrupted(&t->head)) {
            if (t->grace_ms == 0) {
                return 0;
            }
            is_ending = true;
            until = hf__earlier(until, hf__after_ms(hf__now(), t->grace_ms));
        }
        ms = hf__ms_until(until, hf__now());
        n = poll(fds, 2, (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS));
        if (n > 0 && fds[1].revents != 0) {
            hf__waker_drain(&t->waker); /* perhaps meant for an earlier call */
        }
        if (n > 0 && fds[0].revents != 0) {
            return fds[0].revents;
        }
        if (n == 0 && ms < SLEEP_MAX_MS) {
            return 0;
        }
    }
}

void hf__table_rest(struct hf__table_head *t, hf__time until)
{
    (void)hf__table_sleep(t, -1, 0, until);
}

/* ---- stale connections */

int hf__stale_end(struct hf__table_head *t, hf__end_marked_fn end_marked)
{
    const struct hf__stale_session *old = &t->head.stale_session;
    bool is_gone = false;

    if (old->mark != 0 && old->server_id == t->server_id) {
        int r = end_marked(t, old->mark, &is_gone);

        if (r != HF_OK) {
            return r;
        }
    }
    if (!is_gone) {
        t->stale_until = old->until;
    }
    t->is_alone = true;
    return HF_OK;
}

void hf__stale_leave(struct hf__table_head *t, bool is_dead, int64_t stale_ms)
{
    if (!t->is_alone) {
        return; /* the head still names the one before, the only one that may be
                   there */
    }
    t->head.stale_session = (struct hf__stale_session){.until = t->stale_until};
    if (is_dead) {
        t->head.stale_session = (struct hf__stale_session){
            .mark = t->mark,
            .server_id = t->server_id,
            .until =
                hf__later(t->stale_until, hf__after_ms(hf__now(), stale_ms))};
    }
}

void hf__stale_doubt(const struct hf__table_head *t, struct hf__op *const ops[],
                     int n)
{
    if (t->stale_until.ns == 0 || !hf__before(hf__now(), t->stale_until)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == HF__OP_RELEASE && ops[i]->result == HF_LOST) {
            ops[i]->result = hf__fail(
                ops[i]->err, HF_EUNAVAIL,
                "a statement of a connection that was lost may still be "
                "under way on the server");
        }
    }
}
