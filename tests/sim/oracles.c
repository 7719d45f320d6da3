/* SPDX-License-Identifier: MIT */
/*
 * The promises, looked at whenever a turn may end. The oracles read what
 * hf_held() would read, and never write as it does; their arithmetic is their
 * own.
 */
#include "tests/sim/oracles.h"
#include "src/core/lock.h"
#include "tests/sim/made.h"

#include <string.h>

enum { HOLDS = 64 };
/* What a call may take beyond its limit, and what the clock's drift may do. */
#define TICK_NS (120 * HF__MS_NS)
/* Of a quorum: the rounds of a batch that others are in. */
#define ROUNDS_NS (200 * HF__MS_NS)
#define DRIFT_DIV 100

/* A grant as its holder has it. */
struct held {
    const hf_lock *whole; /* NULL: none */
    const struct hf__grant *grant;
    int host;
    int name;
    enum hf__mode mode;
    int slots;
    int slot;
    uint64_t fence;
    int64_t called; /* true time */
    int64_t until;  /* by its clock, as last seen */
    int64_t let_go; /* by its clock; 0: held, or at risk */
    int64_t no_since;
    int64_t refused; /* true time at which its host was told; 0: it was not */
    int64_t stood;   /* by then */
    int64_t most;    /* by its clock: max_hold; 0: no limit */
    bool was_held;
    bool has_said_no;
    bool was_renewing; /* or about to, before it let go */
    bool is_excused;
};

static struct held holds[HOLDS];
static uint64_t highest[HF__NAMES];
static uint64_t broken[HF__NAMES]; /* all up to it are excused */

static bool is_held(const struct held *h)
{
    int64_t until = atomic_load(&h->grant->held_until);

    return until != 0 && hf__virtual_boottime(h->host) < until;
}

static bool is_ours(const struct held *h)
{
    int state = atomic_load(&h->grant->state);

    return state == HF_STATE_HELD || state == HF_STATE_AT_RISK;
}

/* ---- its end */

/* Who believes in it does so for no longer than the store lets him have it,
 * however long the way was and whatever its clock shows. */
static void expect_owned(const struct held *h)
{
    int64_t end = hf__scene.plan.quorum != 0 ? hf__made_end(&h->grant->token)
                                             : hf__ledger_end(&h->grant->token);
    int64_t ppm = hf__scene.plan.ppm[h->host];
    int64_t left = h->until - hf__virtual_boottime(h->host);

    if (end != 0 && !h->is_excused &&
        left - left / 1000000 * ppm > end - hf__virtual_boottime(0)) {
        hf__flaw("host %d believes in name %d for longer than its lease runs",
                 h->host, h->name);
    }
}

static void note_loss(const struct held *h)
{
    if (atomic_load(&h->grant->state) != HF_STATE_LOST ||
        atomic_load(&h->grant->reason) != HF_REASON_EXPIRED ||
        h->let_go < h->until || !hf__is_quiet()) {
        return; /* or the store has said so, or it may be moot */
    }
    hf__ledger_owe(h->host, h->name, &h->grant->token);
}

/* ---- two at once */

static bool agree(const struct held *a, const struct held *b)
{
    if (a->mode == HF__MODE_SHARED && b->mode == HF__MODE_SHARED) {
        return true;
    }
    return a->mode == HF__MODE_SLOTS && b->mode == HF__MODE_SLOTS &&
           a->slots == b->slots && a->slot != b->slot && a->slot < a->slots;
}

static void expect_apart(const struct held *a)
{
    for (const struct held *b = holds; b < holds + HOLDS; b++) {
        if (b != a && b->whole != NULL && b->was_held && b->name == a->name &&
            !b->is_excused && !a->is_excused && !agree(a, b)) {
            hf__flaw("host %d (fence %llu) and host %d (fence %llu) both hold "
                     "name %d",
                     a->host, (unsigned long long)a->fence, b->host,
                     (unsigned long long)b->fence, a->name);
        }
    }
}

/* Its clock has said no for longer than a confirmation takes that was read
 * before: then it is no for good. */
static void expect_final(struct held *h)
{
    int64_t now = hf__virtual_boottime(h->host);
    bool is = is_held(h);

    if (is && h->no_since != 0 && now > h->no_since + HF__MS_NS) {
        hf__flaw("host %d holds name %d again", h->host, h->name);
    }
    /* Who renews several at once takes their answers together. */
    if (is && h->refused != 0 && h->whole->n_parts == 0 &&
        hf__virtual_stood(h->host) == h->stood &&
        hf__true_now() > h->refused + HF__MS_NS) {
        hf__flaw("host %d holds name %d though the store refused", h->host,
                 h->name);
    }
    h->no_since = is ? 0 : h->no_since != 0 ? h->no_since : now;
    h->was_held = is;
}

void hf__oracle_look(void)
{
    hf__line_look();
    for (struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole == NULL) {
            continue;
        }
        int64_t until = atomic_load(&h->grant->held_until);
        h->until = until != 0 ? until : h->until;
        expect_final(h);
        if (h->let_go == 0) {
            h->was_renewing = h->grant->pending == HF__PENDING_RENEW;
        }
        if (h->let_go == 0 && !is_ours(h)) {
            h->let_go = hf__virtual_boottime(h->host);
            note_loss(h);
        }
        if (h->most != 0 && h->was_held &&
            hf__virtual_boottime(h->host) > h->most) {
            hf__flaw("host %d holds name %d past max_hold", h->host, h->name);
        }
    }
    for (const struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole != NULL && h->was_held) {
            expect_apart(h);
            expect_owned(h);
        }
    }
}

/* ---- grants */

void hf__oracle_call(struct hf__claim_seen *seen)
{
    seen->at = hf__true_now();
    seen->stood = hf__virtual_stood(hf__virtual_host());
    memcpy(seen->floor, highest, sizeof highest);
}

static bool is_foreseen(const struct held *h)
{
    return h->fence > broken[h->name] &&
           h->called >= hf__scene.frozen_until[h->host];
}

static void expect_above(const struct held *h, uint64_t floor)
{
    if (h->fence <= floor && !h->is_excused) {
        hf__flaw("host %d has the fence %llu of name %d after %llu was seen",
                 h->host, (unsigned long long)h->fence, h->name,
                 (unsigned long long)floor);
    }
}

static struct held *add(void)
{
    struct held *h = holds;

    while (h->whole != NULL) {
        if (++h == holds + HOLDS) {
            hf__flaw("more is held than can be looked at");
        }
    }
    return h;
}

void hf__oracle_granted(hf_lock *whole, hf_lock *part, int name,
                        const hf_acquire_opts *opts,
                        const struct hf__claim_seen *seen)
{
    struct held *h = add();
    int64_t now = hf__virtual_boottime(hf__virtual_host());
    /* Another thread may have been called back while this one slept. */
    int64_t told = seen->told != 0 ? seen->told : now;

    *h = (struct held){
        .whole = whole,
        .grant = part->grant,
        .host = hf__virtual_host(),
        .name = name,
        .mode = opts->shared      ? HF__MODE_SHARED
                : opts->slots > 0 ? HF__MODE_SLOTS
                                  : HF__MODE_EXCLUSIVE,
        .slots = opts->slots,
        .slot = part->grant->slot,
        .fence = part->grant->fsm.fence,
        .called = seen->at,
        .most = opts->max_hold_ms > 0 ? now + opts->max_hold_ms * HF__MS_NS : 0,
    };
    h->is_excused = !is_foreseen(h);
    /* What has ended before it was told of is given back by now. */
    h->let_go = is_ours(h) ? 0 : now;
    hf__note(
        "has name %d, fence %+lld%s", name,
        (long long)(h->fence - (highest[name] != 0 ? highest[name] : h->fence)),
        h->is_excused ? ", excused" : "");
    /* Who was stopped meanwhile may find that it is over. */
    if (!is_held(h) && whole == part && !h->is_excused &&
        hf__virtual_stood(h->host) == seen->stood &&
        told > part->grant->fsm.deadline.ns + HF__MS_NS) {
        hf__flaw("host %d was given name %d after its end", h->host, name);
    }
    if (!part->grant->is_adopted && is_held(h)) {
        expect_above(h, h->mode == HF__MODE_EXCLUSIVE ? highest[name]
                                                      : seen->floor[name]);
    }
    if (hf__scene.plan.quorum != 0 && !part->grant->is_adopted) {
        hf__made_expect_known(&part->grant->token, h->fence);
    }
    highest[name] = h->fence > highest[name] ? h->fence : highest[name];
    hf__scene.tally->grants++;
    hf__scene.tally->excused += h->is_excused;
    hf__scene.tally->shared += h->mode == HF__MODE_SHARED;
    hf__scene.tally->slotted += h->mode == HF__MODE_SLOTS;
    hf__oracle_look();
}

bool hf__oracle_held(hf_lock *whole)
{
    bool is = hf_held(whole) != 0;

    for (struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole != whole) {
            continue;
        }
        if (h->has_said_no && is) {
            hf__flaw("host %d holds name %d again", h->host, h->name);
        }
        h->has_said_no |= !is;
    }
    return is;
}

void hf__oracle_forget(const hf_lock *whole)
{
    for (struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole == whole) {
            h->whole = NULL;
        }
    }
}

bool hf__oracle_is_excused(const hf_lock *whole)
{
    bool is = false;

    for (struct held *h = holds; h < holds + HOLDS; h++) {
        is |= h->whole == whole && h->is_excused;
    }
    return is;
}

uint64_t hf__oracle_fence_held(const struct hf__token *token)
{
    for (const struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole != NULL && !h->is_excused && is_held(h) &&
            hf__token_equal(token, &h->grant->token)) {
            return h->fence;
        }
    }
    return 0;
}

void hf__oracle_dead(int host)
{
    for (struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->host == host) {
            h->whole = NULL;
        }
    }
}

void hf__oracle_excuse(int host, int name, uint64_t fence)
{
    /* Fences follow the store's wall clock, so what is granted later is above
     * this. */
    uint64_t wall = (uint64_t)hf__wall_us();

    for (int i = 0; host < 0 && i < HF__NAMES; i++) {
        uint64_t top = hf__account_top(i) > wall ? hf__account_top(i) : wall;
        uint64_t end = fence != UINT64_MAX ? fence : top;

        if ((name < 0 || name == i) && broken[i] < end) {
            broken[i] = end;
        }
    }
    for (struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole != NULL && (h->host == host || !is_foreseen(h))) {
            hf__scene.tally->excused += !h->is_excused;
            h->is_excused = true;
        }
    }
}

/* ---- what goes out */

void hf__oracle_sent(const struct hf__op *op)
{
    if (op->kind == HF__OP_RELEASE) {
        hf__ledger_pay(&op->token);
    }
    for (const struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole == NULL ||
            !hf__token_equal(&op->token, &h->grant->token)) {
            continue;
        }
        if (op->kind == HF__OP_RENEW) {
            hf__scene.tally->renewals++;
        }
        /* Nothing helps who is stopped between the look and the act. */
        if (op->kind == HF__OP_RENEW && h->until <= op->sent.ns &&
            hf__true_now() > hf__scene.resumed[h->host] + HF__MS_NS) {
            hf__flaw("host %d renews name %d after its deadline", h->host,
                     h->name);
        }
        if (op->kind == HF__OP_RENEW && h->let_go != 0 && !h->was_renewing &&
            h->let_go < op->sent.ns) {
            hf__flaw("host %d renews name %d after it let go", h->host,
                     h->name);
        }
        if (op->kind == HF__OP_RELEASE && is_held(h)) {
            hf__flaw("host %d releases name %d while it holds it", h->host,
                     h->name);
        }
    }
}

void hf__oracle_answered(const struct hf__op *op)
{
    for (struct held *h = holds; h < holds + HOLDS; h++) {
        if (h->whole != NULL && op->kind == HF__OP_RENEW &&
            op->result == HF_LOST &&
            hf__token_equal(&op->token, &h->grant->token)) {
            h->refused = hf__true_now();
            h->stood = hf__virtual_stood(h->host);
        }
    }
}

void hf__oracle_took(const struct hf__claim_seen *seen, int64_t limit_ms,
                     const char *what)
{
    int host = hf__virtual_host();
    int64_t limit = limit_ms * HF__MS_NS;
    int64_t tick = TICK_NS + (hf__scene.plan.quorum != 0 ? ROUNDS_NS : 0);
    int64_t took =
        hf__true_now() - seen->at - (hf__virtual_stood(host) - seen->stood);

    if (took > limit + limit / DRIFT_DIV + tick) {
        hf__flaw("%s of host %d took %lld ms instead of %lld", what, host,
                 (long long)(took / HF__MS_NS), (long long)limit_ms);
    }
}
