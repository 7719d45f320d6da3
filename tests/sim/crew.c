/* SPDX-License-Identifier: MIT */
/*
 * What the threads of a host want of the library.
 */
#include "src/core/lock.h"
#include "tests/sim/oracles.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { PATIENT_LEASES = 40, PATIENT_MS = 60000, OPERATOR = 150, LOOKS = 800 };

static const char *const names[HF__NAMES] = {"0", "1", "2"};
static const char *const labels[HF__VIRTUAL_HOSTS] = {"0", "1", "2", "3",
                                                      "4", "5", "6", "7"};

/* A claim, and what became of it. */
struct want {
    hf_acquire_opts opts;
    struct hf__claim_seen seen;
    int number;
    int n;
    int names[HF__NAMES];
    char note[24]; /* which claim it is, and what of it a note tells */
    bool is_detached;
    hf_lock *lock;
    bool is_async;
    bool is_over; /* an asynchronous one */
    int result;
    int64_t cancel_at; /* true time */
};

static hf_client *client(void)
{
    return hf__scene.clients[hf__virtual_host()];
}

static void sleep_slot(int64_t ns)
{
    hf__virtual_sleep(NULL, hf__true_now() + ns);
}

/* ---- claims */

static void draw_manner(struct want *w)
{
    const struct hf__lot *p = &hf__scene.plan;

    if (hf__chance(p->shared)) {
        w->opts.shared = 1;
    } else if (hf__chance(p->slotted)) {
        w->opts.slots = p->slots[w->names[0]];
    }
    w->opts.fair = hf__chance(p->fair);
}

static int64_t lease_asked(void)
{
    return hf__scene.plan.session_ms != 0 ? HF_LEASE_DEFAULT_MS
                                          : hf__scene.plan.lease_ms;
}

static void begin_want(struct want *w, int n)
{
    *w = (struct want){
        .opts = HF_ACQUIRE_OPTS_INIT, .n = n, .number = ++hf__scene.claims};
    w->opts.lease_ms = lease_asked();
    w->opts.owner = labels[hf__virtual_host()];
    w->opts.note = w->note;
}

/* Whoever wants several names says them in an order of its own. */
static void draw_names(struct want *w)
{
    int n = hf__scene.plan.names;
    int at = (int)hf__between(0, n - 1);
    int step = hf__chance(500) ? 1 : n - 1;

    for (int i = 0; i < w->n; i++) {
        w->names[i] = (at + i * step) % n;
    }
}

static void say_note(struct want *w)
{
    const char *word = w->n > 1                              ? "many"
                       : w->opts.fair && w->opts.wait_ms > 0 ? "fair"
                                                             : "one";

    if (w->is_detached) {
        (void)snprintf(w->note, sizeof w->note, "detached");
    } else {
        (void)snprintf(w->note, sizeof w->note, "%s %d", word, w->number);
    }
}

static void draw_want(struct want *w)
{
    const struct hf__lot *p = &hf__scene.plan;
    bool is_many = hf__chance(p->many);

    begin_want(w, is_many ? p->names : 1);
    hf__scene.tally->several += is_many;
    draw_names(w);
    w->opts.wait_ms = hf__chance(p->tried) ? 0 : p->wait_ms;
    w->opts.auto_renew = hf__chance(p->renewed);
    w->opts.max_hold_ms = hf__chance(500) ? p->max_hold_ms : 0;
    draw_manner(w);
    w->is_async = w->n == 1 && hf__chance(p->async);
    w->is_detached = w->n == 1 && hf__chance(p->detached);
    say_note(w);
}

static void be_told(void *arg, int status, hf_lock *lock, const hf_error *err)
{
    struct want *w = arg;

    (void)err;
    w->result = status;
    w->lock = lock;
    w->seen.told = hf__virtual_boottime(hf__virtual_host());
    w->is_over = true;
}

/* Whoever dispatches is called back, for others' claims as well. */
static int acquire_async(struct want *w)
{
    const struct hf__lot *p = &hf__scene.plan;
    hf_cancel *cancel = NULL;
    struct pollfd fd = {hf_fd(client()), POLLIN, 0};
    int r = hf_cancel_new(&cancel);

    w->cancel_at =
        hf__true_now() + hf__between(0, 2 * w->opts.wait_ms + 1) * HF__MS_NS;
    w->opts.cancel = cancel;
    r = r == HF_OK ? hf_acquire_async(client(), names[w->names[0]], &w->opts,
                                      be_told, w, NULL)
                   : r;
    hf__oracle_took(&w->seen, 0, "an asynchronous acquire");
    while (r == HF_OK && !w->is_over) {
        (void)poll(&fd, 1, (int)(p->lease_ms / 10));
        if (hf__true_now() > w->cancel_at) {
            hf_cancel_fire(cancel);
        }
        (void)!hf_dispatch(client(), NULL); /* how many were told */
    }
    hf_cancel_free(cancel);
    hf__scene.tally->async++;
    if (w->result == HF_CANCELLED) {
        hf__scene.tally->cancelled++;
        /* What it was granted goes back in no time that stats tell. */
        hf__disturb(hf__virtual_host(),
                    hf__true_now() +
                        (p->io_timeout_ms + 2 * p->lease_ms) * HF__MS_NS);
    }
    return r == HF_OK ? w->result : r;
}

static int acquire(struct want *w)
{
    const struct hf__lot *p = &hf__scene.plan;
    int64_t limit =
        w->opts.wait_ms > p->io_timeout_ms ? w->opts.wait_ms : p->io_timeout_ms;
    const char *asked[HF__NAMES];
    int r;

    hf__note("wants name %d of %d%s%s, slots %d, wait %lld", w->names[0], w->n,
             w->opts.shared ? ", shared" : "", w->opts.fair ? ", fair" : "",
             w->opts.slots, (long long)w->opts.wait_ms);
    hf__oracle_call(&w->seen);
    if (w->n == 1 && w->opts.wait_ms > 0) {
        hf__wish_begin(w->number, w->names[0], &w->opts);
    }
    if (w->is_async) {
        r = acquire_async(w);
        limit += p->lease_ms / 10;
    } else if (w->n == 1) {
        r = hf_acquire(client(), names[w->names[0]], &w->opts, &w->lock, NULL);
    } else {
        for (int i = 0; i < w->n; i++) {
            asked[i] = names[w->names[i]];
        }
        r = hf_acquire_many(client(), asked, w->n, &w->opts, &w->lock, NULL);
        limit += p->io_timeout_ms;
    }
    hf__wish_end(w->number);
    hf__note("acquire: %s", hf_strstatus(r));
    hf__oracle_took(&w->seen, limit, "an acquire");
    for (int i = 0; r == HF_OK && i < w->n; i++) {
        hf__oracle_granted(w->lock, hf__lock_part(w->lock, i), w->names[i],
                           &w->opts, &w->seen);
    }
    hf__scene.tally->busy += r > 0;
    hf__scene.tally->unknown += r == HF_EUNKNOWN;
    return r;
}

/* Who is renewed in quiet times loses nothing. */
static void expect_healthy(const struct want *w)
{
    int64_t lease = hf__scene.plan.lease_ms * HF__MS_NS;

    if (hf__true_now() - lease > hf__scene.plan.calm_ns &&
        w->seen.at > hf__scene.plan.calm_ns && w->opts.auto_renew &&
        w->opts.max_hold_ms == 0 && !hf__oracle_is_excused(w->lock)) {
        hf__flaw("host %d lost name %d though nothing was wrong: %s",
                 hf__virtual_host(), w->names[0],
                 hf_strreason(hf_lost_reason(w->lock)));
    }
}

/* Who is told that it was its own to the end, had it to the end. */
static void expect_not_broken(const struct want *w)
{
    for (int i = 0; i < w->n; i++) {
        if (hf__account_is_broken(&hf__lock_part(w->lock, i)->grant->token)) {
            hf__flaw("name %d was broken, and is released as if it was not",
                     w->names[i]);
        }
    }
}

static void release(struct want *w)
{
    struct hf__claim_seen seen;
    int r = HF_OK;

    hf__oracle_call(&seen);
    if (hf_state(w->lock) == HF_STATE_LOST) {
        hf__scene.tally->lost++;
        expect_healthy(w);
    }
    if (hf__chance(800)) {
        r = hf_release(w->lock, NULL);
        hf__note("release: %s", hf_strstatus(r));
        if (r != HF_OK && r != HF_LOST && r != HF_EUNKNOWN) {
            hf__flaw("a release ended as %s", hf_strstatus(r));
        }
        if (r == HF_OK) {
            expect_not_broken(w);
        }
        hf__oracle_took(&seen, hf__scene.plan.io_timeout_ms, "a release");
        (void)hf__oracle_held(w->lock);
    }
    hf__oracle_forget(w->lock);
    hf_free(w->lock);
}

static bool has_more(const hf_stats_info *stats)
{
    return stats->owing + stats->held + stats->waiting != 0;
}

/* What a call that failed may have been granted is given back, also while
 * requests are lost: once the host owes nothing, nothing of it is there. */
static void expect_nothing_left(const struct want *w)
{
    const struct hf__lot *p = &hf__scene.plan;
    int64_t end = hf__true_now() + p->lease_ms * HF__MS_NS;
    int host = hf__virtual_host();
    hf_stats_info stats = HF_STATS_INFO_INIT;

    while (hf_stats(client(), &stats) == HF_OK && has_more(&stats) &&
           hf__true_now() < end) {
        sleep_slot(p->lease_ms * HF__MS_NS / 10);
    }
    if (hf__chance(500)) { /* what comes late is kept out */
        sleep_slot(hf__between(0, p->lease_ms * HF__MS_NS));
    }
    if (!has_more(&stats) && hf__scene.disturbed[host] < w->seen.at) {
        hf__store_expect_empty(host);
    }
}

static void hold(struct want *w)
{
    int64_t end = hf__true_now() + hf__between(0, hf__scene.plan.hold_ns);
    bool writes = w->n == 1 && !w->opts.shared && w->opts.slots == 0;
    struct hf__draft draft = {
        .name = w->names[0], .called = w->seen.at, .granted = hf__true_now()};

    while (hf__true_now() < end && hf__oracle_held(w->lock)) {
        hf__resource_read(&draft);
        sleep_slot(hf__between(1, hf__scene.plan.hold_ns / 2));
        if (writes) {
            hf__resource_write(&draft, w->lock);
        }
        if (!w->opts.auto_renew && hf__chance(300)) {
            int r = hf_renew(w->lock, NULL);
            hf__note("renew: %s", hf_strstatus(r));
        }
    }
}

/* It is left to its lease, and found again by its token. */
static void detach(struct want *w)
{
    char token[HF__TOKEN_TEXT_SIZE];
    int r = hf_detach(w->lock, NULL);

    hf__note("detach: %s", hf_strstatus(r));
    if (r != HF_OK) {
        release(w);
        return;
    }
    hf__scene.tally->detached++;
    memcpy(token, hf_token(w->lock), sizeof token);
    hf__oracle_forget(w->lock);
    hf_free(w->lock);
    sleep_slot(hf__between(0, hf__scene.plan.lease_ms * HF__MS_NS));
    hf__oracle_call(&w->seen);
    r = hf_adopt(client(), names[w->names[0]], token, &w->opts, &w->lock, NULL);
    hf__note("adopt: %s", hf_strstatus(r));
    if (r == HF_OK) {
        hf__scene.tally->adopted++;
        hf__oracle_granted(w->lock, w->lock, w->names[0], &w->opts, &w->seen);
        hold(w);
        release(w);
    }
}

static void claim(void)
{
    struct want w;

    draw_want(&w);
    if (acquire(&w) == HF_OK) {
        hold(&w);
        if (w.is_detached) {
            detach(&w);
        } else {
            release(&w);
        }
    }
    if (hf__scene.plan.crew == 1 && hf__chance(LOOKS)) {
        expect_nothing_left(&w);
    }
}

static void expect_names(int from, int n)
{
    const struct hf__lot *p = &hf__scene.plan;
    struct want w;
    int r;

    begin_want(&w, n);
    for (int i = 0; i < n; i++) {
        w.names[i] = from + n - 1 - i;
    }
    w.opts.wait_ms = p->lease_ms * PATIENT_LEASES + PATIENT_MS;
    say_note(&w);
    r = acquire(&w);
    if (r != HF_OK) {
        hf__flaw("%d names from %d on are not got: %s", n, from,
                 hf_strstatus(r));
    }
    release(&w);
}

/* The faults are over: whoever wants a name and waits gets it, and all
 * together as well. */
static void expect_all_names(void)
{
    int n = hf__scene.plan.names;

    for (int i = 0; i < n; i++) {
        expect_names(i, 1);
    }
    if (n > 1) {
        expect_names(0, n);
    }
}

/* Nothing new happens, but it takes seconds until all is as it was: who claims
 * now and then finds out. */
static bool is_healing(void)
{
    return hf__true_now() > hf__scene.plan.heal_ns && !hf__is_quiet();
}

void *hf__ready_list_work(void *arg)
{
    while (hf__true_now() < hf__scene.plan.drain_ns) {
        sleep_slot(hf__between(0, hf__scene.plan.think_ns));
        if (hf__scene.plan.quorum != 0 && is_healing()) {
            sleep_slot(2 * hf__scene.plan.lease_ms * HF__MS_NS);
        }
        if (hf__has(HF__FAULT_BREAK) && hf__chance(OPERATOR) &&
            hf__true_now() < hf__scene.plan.heal_ns) {
            int name = (int)hf__between(0, hf__scene.plan.names - 1);
            int r = hf_break(client(), names[name], 0, NULL);
            hf__note("break of name %d: %s", name, hf_strstatus(r));
        }
        claim();
    }
    expect_all_names();
    return arg;
}
