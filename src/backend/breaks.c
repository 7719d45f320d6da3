/* SPDX-License-Identifier: MIT */
/*
 * The ring of what was broken, and the ears. Decides who is woken; what a
 * holder does then is the core's. Thread: any.
 */
#include "src/backend/breaks.h"

#include "src/base/map.h"
#include <limits.h>

uint64_t hf__token_tag(const struct hf__token *t)
{
    return hf__hash(t->bytes, sizeof t->bytes);
}

static atomic_uint *ear_of(struct hf__breaks *breaks, uint64_t life)
{
    return &breaks->ear[(life >> 3) % HF__EARS];
}

static void ring(atomic_uint *ear)
{
    atomic_fetch_add(ear, 1);
    (void)hf__futex_wake_shared(ear, INT_MAX);
}

void hf__breaks_tell(struct hf__breaks *breaks, const struct hf__token *token,
                     uint64_t life)
{
    unsigned at = atomic_fetch_add(&breaks->next, 1) % HF__BREAKS;

    if (hf__token_is_zero(token)) {
        return; /* it was only kept closed */
    }
    atomic_store(&breaks->tag[at], hf__token_tag(token));
    if (life != 0) {
        ring(ear_of(breaks, life));
        return;
    }
    for (int i = 0; i < HF__EARS; i++) {
        ring(&breaks->ear[i]);
    }
}

/* All of the ring, for whoever took a place in it may have filled it late. */
static bool hear(const struct hf__listening *l, hf__broken_fn fn, void *arg)
{
    bool has_any = false;

    for (int i = 0; i < HF__BREAKS; i++) {
        uint64_t tag = atomic_load(&l->breaks->tag[i]);

        if (tag != l->heard->tag[i]) {
            l->heard->tag[i] = tag;
            fn(arg, tag);
            has_any = true;
        }
    }
    return has_any;
}

void hf__breaks_listen(const struct hf__listening *l, hf__broken_fn fn,
                       void *arg, hf__time deadline)
{
    atomic_uint *ear = ear_of(l->breaks, l->life);
    unsigned seen = atomic_load(ear);

    while (!hear(l, fn, arg) && !hf__is_interrupted(l->head) &&
           hf__before(hf__now(), deadline)) {
        hf__nap_on(l->nap, l->head, ear, seen, deadline);
        seen = atomic_load(ear);
    }
}
