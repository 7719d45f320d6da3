/* SPDX-License-Identifier: MIT */
/*
 * The words of the contract suite for claims that stand beside others or in
 * line, and for who is at a name.
 */
#include "tests/contract/vocabulary_crowd.h"

static int ask_as(struct party *p, const char *name,
                  struct hf__lock_mode lock_mode, enum hf__queueing queueing,
                  int64_t lease_ms)
{
    struct request rq;

    ask(p, &rq, HF__OP_ACQUIRE, name);
    rq.op.lock_mode = lock_mode;
    rq.op.queueing = queueing;
    rq.op.lease_us = lease_ms * 1000;
    return send_one_request(p, &rq);
}

int try_for(struct party *p, const char *name, struct hf__lock_mode lock_mode,
            int64_t lease_ms)
{
    return ask_as(p, name, lock_mode, HF__QUEUE_NEVER, lease_ms);
}

int try_as(struct party *p, const char *name, struct hf__lock_mode lock_mode)
{
    return try_for(p, name, lock_mode, LEASE_MS);
}

int want(struct party *p, const char *name, struct hf__lock_mode lock_mode)
{
    return ask_as(p, name, lock_mode, HF__QUEUE_BEHIND_SHARED, LEASE_MS);
}

int queue_up(struct party *p, const char *name, struct hf__lock_mode lock_mode)
{
    return ask_as(p, name, lock_mode, HF__QUEUE_ALWAYS, LEASE_MS);
}

void until_granted(struct party *p, const char *name,
                   struct hf__lock_mode lock_mode)
{
    int64_t start = hf__test_now_ms();

    for (;;) {
        int r = want(p, name, lock_mode);

        if (r == HF_OK) {
            return;
        }
        EXPECT_IS(r, HF_BUSY);
        EXPECT_SOON(hf__test_now_ms() - start, slowly(10000));
        hf__test_pause_ms(5);
    }
}

void look_around(struct party *p, const char *name, struct scene *s)
{
    struct request rq;

    *s = (struct scene){0};
    ask(p, &rq, HF__OP_INSPECT, name);
    rq.op.ret_participants = &s->crowd;
    EXPECT_IS(send_one_request(p, &rq), HF_OK);
    for (int i = 0; i < s->crowd.n; i++) {
        if (s->crowd.list[i].is_waiting) {
            s->n_waiters++;
        } else {
            EXPECT_IS(s->n_waiters, 0); /* holders come first */
            s->n_holders++;
        }
    }
    EXPECT_IS(p->record.is_held, s->n_holders > 0);
}

void expect_around(struct party *p, const char *name, int n_holders,
                   int n_waiters)
{
    struct scene s;

    look_around(p, name, &s);
    hf__participant_list_free(&s.crowd);
    EXPECT_IS(s.n_holders, n_holders);
    EXPECT_IS(s.n_waiters, n_waiters);
}

bool is_next(struct party *p, const char *name, int i, const struct party *who)
{
    struct scene s;
    bool is = false;

    look_around(p, name, &s);
    if (i < s.n_waiters) {
        EXPECT_TEXT(s.crowd.list[s.n_holders + i].record.owner.label,
                    who->owner.label);
        is = true;
    }
    hf__participant_list_free(&s.crowd);
    return is;
}

void until_held_by(struct party *p, const char *name, int n_holders)
{
    int64_t start = hf__test_now_ms();
    struct scene s = {.n_holders = -1};

    while (s.n_holders != n_holders) {
        look_around(p, name, &s);
        hf__participant_list_free(&s.crowd);
        EXPECT_SOON(hf__test_now_ms() - start, slowly(10000));
        hf__test_pause_ms(5);
    }
}
