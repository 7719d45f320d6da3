/* SPDX-License-Identifier: MIT */
/*
 * The words of the contract suite for waiting, listing and cleaning, and for
 * what is known of a store by its name. A waiter sleeps in a thread of his own,
 * and what is measured is how long.
 */
#include "tests/contract/vocabulary.h"

#include "tests/contract/urls.h"

#include <string.h>

/* ---- waiting */

void watch_name(struct waiting *w, struct party *p, const char *name)
{
    *w = (struct waiting){.who = p};
    w->watch.key = make_key(w->key, name);
    w->watch.fence = p->record.fence;
    w->watch.token = p->record.token;
    w->watch.lock_mode = p->lock_mode;
    if (p->is_queued) {
        w->watch.ticket = claim_of(p, name)->token;
    }
}

static void wait_now(void *arg)
{
    struct waiting *w = arg;
    struct hf__watch *one = &w->watch;
    hf__time deadline = hf__after_ms(hf__now(), w->limit_ms);
    int64_t start = hf__test_now_ms();

    w->result = hf__conn_wait(&w->who->conn, &one, 1, deadline, &w->who->error);
    w->took_ms = hf__test_now_ms() - start;
}

int wait_up_to(struct waiting *w, int64_t ms)
{
    w->limit_ms = ms;
    wait_now(w);
    return w->result;
}

/* Waits again whenever nothing has happened: a spurious return is fine. */
static void wait_until_fired(void *arg)
{
    struct waiting *w = arg;
    int64_t start = hf__test_now_ms();

    w->limit_ms = slowly(12000);
    do {
        wait_now(w);
    } while (w->result == HF_OK && !w->watch.has_fired &&
             hf__test_now_ms() - start < w->limit_ms);
    w->took_ms = hf__test_now_ms() - start;
    if (w->result == HF_OK && w->watch.has_fired) {
        /* Its session has other things to do now than to wait. */
        w->result = hf__conn_wait(&w->who->conn, NULL, 0,
                                  hf__after_ms(hf__now(), slowly(5000)),
                                  &w->who->error);
    }
}

void start_waiting(struct waiting *w)
{
    w->thread = hf__test_start(wait_until_fired, w);
    hf__test_pause_ms(30); /* long enough to be asleep, and no look has come */
}

void stop_waiting(struct waiting *w)
{
    hf__test_join(w->thread);
    EXPECT_IS(w->result, HF_OK);
}

void expect_woken(struct waiting *w)
{
    int64_t start = hf__test_now_ms();

    /* Perhaps for the end of a session. */
    stop_waiting(w);
    EXPECT_SOON(hf__test_now_ms() - start, slowly(6000));
    EXPECT(w->watch.has_fired);
}

void until_free(struct party *p, const char *name)
{
    int64_t start = hf__test_now_ms();

    for (;;) {
        EXPECT_IS(inspect(p, name), HF_OK);
        if (!p->record.is_held && !p->record.is_kept) {
            return;
        }
        EXPECT_SOON(hf__test_now_ms() - start, slowly(10000));
        hf__test_pause_ms(5);
    }
}

/* ---- listing */

static int add_to_listing(void *arg, const char *name, size_t length,
                          const struct hf__record *record)
{
    struct listing *l = arg;

    EXPECT_LESS(l->count, CLAIMS_MAX);
    EXPECT(length <= HF_NAME_MAX);
    memcpy(l->names[l->count], name, length);
    l->names[l->count][length] = '\0';
    l->records[l->count] = *record;
    l->count++;
    return l->count == l->stop_after;
}

int list(struct party *p, const char *prefix, struct listing *l)
{
    char buf[HF__KEY_MAX];
    struct hf__key key = make_key(buf, prefix);

    l->count = 0;
    return hf__conn_list(&p->conn, &key, add_to_listing, l,
                         hf__after_ms(hf__now(), slowly(10000)), &p->error);
}

/* ---- cleaning */

bool cleans(void)
{
    return backend()->gc != NULL;
}

bool tells_ends(void)
{
    return cleans() && !has(HF_CAP_SESSION);
}

int collect_garbage(struct party *p, int64_t idle_ms, uint64_t *ret_count)
{
    char buf[HF__KEY_MAX];
    struct hf__key key = make_key(buf, "");
    struct hf__gc g = {.idle_us = idle_ms * 1000};
    int r = HF_OK;

    do {
        r = hf__conn_gc(&p->conn, &key, &g,
                        hf__after_ms(hf__now(), slowly(10000)), &p->error);
    } while (r == HF_OK && g.length > 0);
    *ret_count = g.count;
    p->expired = g.expired;
    return r;
}

/* ---- by its name */

bool ends_at_once(void)
{
    return hf__store_ends_at_once(hf__test_args[0]);
}

bool breaks_more(void)
{
    return hf__store_breaks_more(hf__test_args[0]);
}

bool settles_late(void)
{
    return hf__store_settles_late(hf__test_args[0]);
}
