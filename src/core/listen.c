/* SPDX-License-Identifier: MIT */
/*
 * Listeners of grants. A caller that waits for several grants, or steps many
 * things, sleeps on its own parker and listens to the grants. This file decides
 * which parkers a change unparks; the callers check for themselves what has
 * changed. Called by any thread, without locks.
 */
#include "src/core/grant.h"

void hf__grant_listen(struct hf__grant *h, struct hf__listener *l,
                      struct hf__parker *parker)
{
    HF_SCOPED_LOCK(&h->mutex);

    l->parker = parker;
    if (!l->is_listening) {
        hf__list_push(&h->listeners, &l->link);
        atomic_fetch_add(&h->n_listeners, 1);
        l->is_listening = true;
    }
}

void hf__grant_ignore(struct hf__grant *h, struct hf__listener *l)
{
    HF_SCOPED_LOCK(&h->mutex);

    if (l->is_listening) {
        hf__list_remove(&l->link);
        atomic_fetch_sub(&h->n_listeners, 1);
        l->is_listening = false;
    }
}

void hf__grant_stir(struct hf__grant *h)
{
    hf__unpark(&h->parker);
    if (atomic_load(&h->n_listeners) == 0) {
        return; /* a caller that is about to listen looks afterwards */
    }
    hf__mutex_lock(&h->mutex);
    HF__LIST_EACH (link, &h->listeners) {
        hf__unpark(HF__ELEMENT(link, struct hf__listener, link)->parker);
    }
    hf__mutex_unlock(&h->mutex);
}
