/* SPDX-License-Identifier: MIT */
/*
 * Who shares a link, how long it lives, and what is left of it at the end. How
 * the library's handle is made and closed is start.c's, what it is meanwhile
 * state.c's, what is sent request.c's. Called by the fronts' threads.
 */
#include "src/backend/zookeeper/link.h"

#include "src/backend/zookeeper/parts.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <stdio.h>
#include <string.h>

/* A server that is there has let us in by then. */
#define USUAL_MS 250
/* One that has more to do than usual. */
#define TURN_MIN_MS 1000

/* The links of this process that are not over. */
static struct {
    struct hf__mutex mutex;
    struct hf__link links;
    unsigned generation; /* of the process whose links they are; 0: none yet */
} registry = {.mutex = HF__MUTEX_INIT};

/* A fork() would leave the registry locked in the child for ever. What the
 * parent has in it is the parent's. */
static void registry_lock(void)
{
    hf__fork_forbid();
    hf__mutex_lock(&registry.mutex);
    if (registry.generation != hf__fork_generation()) {
        registry.generation = hf__fork_generation();
        hf__list_init(&registry.links);
    }
}

static void registry_unlock(void)
{
    hf__mutex_unlock(&registry.mutex);
    hf__fork_allow();
}

/* ---- coming and going */

static struct hf__zk_link *new_link(uint64_t client,
                                    const struct hf__zk_target *target)
{
    struct hf__zk_link *link = hf__alloc(sizeof *link);

    if (link == NULL || hf__map_init(&link->common.nodes) != HF_OK) {
        hf__free(link);
        return NULL;
    }
    link->client = client;
    link->has_user = target->user != NULL;
    link->is_known = !link->has_user;
    link->io_timeout_ms = target->io_timeout_ms;
    link->socket = -1;
    (void)snprintf(link->shown, sizeof link->shown, "%s", target->hosts);
    hf__mutex_init(&link->mutex);
    hf__mutex_init(&link->common.mutex);
    hf__list_init(&link->in_registry);
    hf__list_init(&link->fronts);
    hf__list_init(&link->calls);
    hf__list_init(&link->watches);
    hf__list_init(&link->common.news);
    link->why = (hf_error)HF_ERROR_INIT;
    return link;
}

static void free_link(struct hf__zk_link *link)
{
    hf__map_fini(&link->common.nodes);
    hf__mutex_fini(&link->common.mutex);
    hf__mutex_fini(&link->mutex);
    hf__free(link);
}

static struct hf__zk_link *find_link(uint64_t client)
{
    HF__LIST_EACH (it, &registry.links) {
        struct hf__zk_link *link =
            HF__ELEMENT(it, struct hf__zk_link, in_registry);

        if (client != 0 && link->client == client &&
            !hf__zk_state_is_over(atomic_load(&link->state))) {
            return link;
        }
    }
    return NULL;
}

/* Sets f->link, unless memory is short. True: it is new, and f's to start. */
static bool join(struct hf__zk_front *f, const struct hf__zk_target *target)
{
    bool is_new = false;

    registry_lock();
    struct hf__zk_link *link = find_link(f->head->client);
    if (link == NULL) {
        link = new_link(f->head->client, target);
        is_new = link != NULL;
    }
    if (is_new) {
        hf__list_push(&registry.links, &link->in_registry);
    }
    if (link != NULL) {
        link->n_fronts++;
    }
    registry_unlock();
    f->link = link;
    if (link != NULL) {
        HF_SCOPED_LOCK(&link->mutex);
        hf__list_push(&link->fronts, &f->in_link);
    }
    return is_new;
}

/* True: nobody else has it. */
static bool leave(struct hf__zk_front *f)
{
    struct hf__zk_link *link = f->link;

    hf__mutex_lock(&link->mutex);
    hf__list_remove(&f->in_link);
    hf__mutex_unlock(&link->mutex);
    f->link = NULL;
    registry_lock();
    bool is_last = --link->n_fronts == 0;
    if (is_last) {
        hf__list_remove(&link->in_registry);
    }
    registry_unlock();
    return is_last;
}

/* What the library never answered, and never will. */
static void discard(struct hf__zk_link *link)
{
    struct hf__link *it = NULL;
    struct hf__map_link *node = NULL;

    while ((it = hf__list_pop(&link->calls)) != NULL) {
        hf__zk_calls_discard(HF__ELEMENT(it, struct hf__zk_calls, in_link));
    }
    while ((it = hf__list_pop(&link->watches)) != NULL) {
        hf__zk_watch_discard(hf__zk_watch_in(it));
    }
    while ((node = hf__map_any(&link->common.nodes)) != NULL) {
        hf__map_remove(&link->common.nodes, node);
        link->common.drop(node);
    }
}

static void end_link(struct hf__zk_link *link)
{
    /* Deleting what somebody may count on is not ours to do: it ends with the
     * session's time, later than they count on it. */
    if (link->handle != NULL &&
        !hf__zk_stop(link, link->common.n_granted > 0)) {
        atomic_store(&link->is_abandoned, true);
        hf__zk_cut(link);
        return;
    }
    hf__fd_close(link->socket);
    discard(link);
    free_link(link);
}

/* ---- fronts */

static void note_start(struct hf__zk_link *link, int r, const hf_error *why)
{
    if (r != HF_OK) {
        hf__mutex_lock(&link->mutex);
        link->why = *why;
        hf__mutex_unlock(&link->mutex);
        hf__zk_move(link, HF__ZK_FAILED);
    }
}

static void start(struct hf__zk_link *link, const struct hf__zk_target *target)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__zk_start(link, target, &why);

    note_start(link, r, &why);
}

static void restart(struct hf__zk_link *link,
                    const struct hf__zk_target *target)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__zk_start_elsewhere(link, target, &why);

    note_start(link, r, &why);
}

static int fail_refused(struct hf__zk_front *f, int error, hf_error *err)
{
    char words[64];

    return hf__fail_native(err, HF_EUNAVAIL, error, "%s: %s", f->link->shown,
                           hf__errno_text(error, words, sizeof words));
}

/* A server that takes a connection and says nothing is left by the library only
 * when the session would be over. So who makes the link turns to another, for
 * each of them has its part of the time. */
static int await_another(struct hf__zk_front *f,
                         const struct hf__zk_target *target, hf__time deadline,
                         hf_error *err)
{
    struct hf__zk_link *link = f->link;
    int r = HF_BUSY;

    while (r == HF_BUSY && !hf__is_interrupted(f->head) &&
           hf__before(hf__now(), deadline)) {
        hf__time now = hf__now();
        int64_t part_ms = hf__ms_until(deadline, now) /
                          (2 * (int64_t)atomic_load(&link->n_addresses));

        part_ms = part_ms < TURN_MIN_MS ? TURN_MIN_MS : part_ms;
        r = hf__zk_ready(f, hf__earlier(deadline, hf__after_ms(now, part_ms)),
                         err);
        if (r == HF_BUSY && !hf__is_interrupted(f->head) &&
            hf__before(hf__now(), deadline)) {
            restart(link, target);
        }
    }
    return r;
}

/* The library tries for ever, and does not say why. */
static int await_first(struct hf__zk_front *f,
                       const struct hf__zk_target *target, bool is_new,
                       hf__time deadline, hf_error *err)
{
    char addresses[HF__ZK_ADDRESSES_MAX];
    hf__time soon = hf__earlier(deadline, hf__after_ms(hf__now(), USUAL_MS));
    int r = hf__zk_ready(f, soon, err);

    if (r != HF_BUSY || hf__is_interrupted(f->head)) {
        return r;
    }
    hf__mutex_lock(&f->link->mutex);
    memcpy(addresses, f->link->addresses, sizeof addresses);
    hf__mutex_unlock(&f->link->mutex);
    int error = addresses[0] == '\0' ? 0 : hf__zk_probe(addresses);
    if (error != 0) {
        return fail_refused(f, error, err);
    }
    return is_new && hf__zk_has_choice(f)
               ? await_another(f, target, deadline, err)
               : hf__zk_ready(f, deadline, err);
}

int hf__zk_front_open(struct hf__zk_front *f, struct hf__head *head,
                      const struct hf__zk_target *target, hf__time deadline,
                      hf_error *err)
{
    bool is_new = false;
    int r = HF_OK;

    f->head = head;
    do {
        hf__zk_front_close(f);
        is_new = join(f, target);
        if (is_new) {
            start(f->link, target);
        }
        if (f->link == NULL || hf__zk_calls_reserve(f) != HF_OK) {
            return hf__fail(err, HF_ENOMEM, "out of memory for a session");
        }
        r = await_first(f, target, is_new, deadline, err);
        /* One that was the others' may end before it is ours. */
    } while (r == HF_EUNAVAIL && !is_new &&
             hf__zk_state_is_over(atomic_load(&f->link->state)));
    return r != HF_BUSY
               ? r
               : hf__fail(err, HF_EUNAVAIL,
                          "%s: no server let us in in time: does one run "
                          "there, with a majority of its ensemble, and "
                          "may this host have one more connection "
                          "(maxClientCnxns)?",
                          f->link->shown);
}

void hf__zk_front_close(struct hf__zk_front *f)
{
    struct hf__zk_link *link = f->link;

    hf__free(f->spare);
    f->spare = NULL;
    if (link != NULL && leave(f)) {
        end_link(link);
    }
}

void hf__zk_abandon(struct hf__zk_front *f)
{
    struct hf__zk_link *link = f->link;

    if (hf__zk_state_is_over(atomic_load(&link->state)) &&
        !atomic_exchange(&link->is_abandoned, true)) {
        hf__zk_cut(link);
    }
}

void hf__zk_front_wake(struct hf__zk_front *f)
{
    hf__unpark(&f->parker);
}
