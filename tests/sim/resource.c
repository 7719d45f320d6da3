/* SPDX-License-Identifier: MIT */
/*
 * What the locks are for: one resource of each name that compares fences, and
 * one that does not. A holder reads, takes its time and writes. The first
 * takes what comes late, and refuses what is below the highest fence it has
 * seen: so what it took was written in the order of the grants, whatever was
 * foreseen. To the second nobody writes whom hf_held() tells that it is over:
 * so no update is lost, unless what no client can foresee has happened.
 */
#include "src/core/lock.h"
#include "tests/sim/oracles.h"

static struct resource {
    /* by fences: of the last write that was taken */
    uint64_t fence;
    struct hf__token token;
    int64_t granted;
    int64_t called; /* the latest call that led to a write */
    /* without */
    int version;
    int excused; /* the last version that an excused holder wrote */
} resources[HF__NAMES];

void hf__resource_read(struct hf__draft *d)
{
    d->version = resources[d->name].version;
}

static void write_fenced(struct resource *r, const struct hf__draft *d,
                         const hf_lock *lock)
{
    const struct hf__token *token = &lock->grant->token;
    uint64_t fence = hf_fence(lock);

    if (hf__token_equal(token, &r->token)) {
        return;
    }
    if (fence < r->fence) {
        if (d->called > r->granted) {
            hf__flaw("host %d has the fence %llu of name %d, by which its "
                     "resource refuses it",
                     hf__virtual_host(), (unsigned long long)fence, d->name);
        }
        return;
    }
    if (fence == r->fence || d->granted < r->called) {
        hf__flaw("host %d writes to what is fenced by name %d after a later "
                 "holder",
                 hf__virtual_host(), d->name);
    }
    r->fence = fence;
    r->token = *token;
    r->granted = d->granted;
    r->called = d->called > r->called ? d->called : r->called;
}

/* Who was stopped between the look and the act, nobody can help. */
static void write_unfenced(struct resource *r, const struct hf__draft *d,
                           hf_lock *lock)
{
    int host = hf__virtual_host();
    int64_t stood = hf__virtual_stood(host);

    if (!hf__oracle_held(lock) || hf__virtual_stood(host) != stood) {
        return;
    }
    if (r->version != d->version && d->version >= r->excused &&
        !hf__oracle_is_excused(lock)) {
        hf__flaw("host %d overwrites an update of what name %d protects", host,
                 d->name);
    }
    r->version++;
    if (hf__oracle_is_excused(lock)) {
        r->excused = r->version;
    }
    hf__scene.tally->updates++;
}

void hf__resource_write(const struct hf__draft *d, hf_lock *lock)
{
    write_fenced(&resources[d->name], d, lock);
    write_unfenced(&resources[d->name], d, lock);
}
