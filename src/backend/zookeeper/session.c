/* SPDX-License-Identifier: MIT */
/*
 * Who shares a ZooKeeper session, how long it lives, and what is freed at its
 * end. start.c makes the library's handle, stop.c closes it, state.c has its
 * state meanwhile, request.c and send.c send. Called by the references'
 * threads.
 */
#include "src/backend/zookeeper/session.h"

#include "src/backend/zookeeper/internal.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <stdio.h>
#include <string.h>

/* A server that runs has usually let us in by then. */
#define USUAL_MS 250
/* At least so long a busy server is waited for, before the next one is
 * tried. */
#define TURN_MIN_MS 1000

/* The sessions of this process that are not closed. */
static struct {
    struct hf__mutex mutex;
    struct hf__link sessions;
    unsigned generation; /* of the process that has them; 0: none yet */
} registry = {.mutex = HF__MUTEX_INIT};

/* A fork() here would leave the registry locked in the child for ever. Sessions
 * that the parent has in it are the parent's, so the child starts with an empty
 * one. */
static void registry_lock(void)
{
    hf__fork_forbid();
    hf__mutex_lock(&registry.mutex);
    if (registry.generation != hf__fork_generation()) {
        registry.generation = hf__fork_generation();
        hf__list_init(&registry.sessions);
    }
}

static void registry_unlock(void)
{
    hf__mutex_unlock(&registry.mutex);
    hf__fork_allow();
}

/* ---- coming and going */

static struct hf__zk_session *new_session(uint64_t client,
                                          const struct hf__zk_target *target)
{
    struct hf__zk_session *session = hf__alloc(sizeof *session);

    if (session == NULL || hf__map_init(&session->common.nodes) != HF_OK) {
        hf__free(session);
        return NULL;
    }
    session->client = client;
    session->has_user = target->user != NULL;
    session->is_known = !session->has_user;
    session->io_timeout_ms = target->io_timeout_ms;
    session->socket = -1;
    (void)snprintf(session->shown, sizeof session->shown, "%s", target->hosts);
    hf__mutex_init(&session->mutex);
    hf__mutex_init(&session->common.mutex);
    hf__list_init(&session->in_registry);
    hf__list_init(&session->refs);
    hf__list_init(&session->calls);
    hf__list_init(&session->watches);
    hf__list_init(&session->common.news);
    session->why = (hf_error)HF_ERROR_INIT;
    return session;
}

static void free_session(struct hf__zk_session *session)
{
    hf__map_fini(&session->common.nodes);
    hf__mutex_fini(&session->common.mutex);
    hf__mutex_fini(&session->mutex);
    hf__free(session);
}

static struct hf__zk_session *find_session(uint64_t client)
{
    HF__LIST_EACH (it, &registry.sessions) {
        struct hf__zk_session *session =
            HF__ELEMENT(it, struct hf__zk_session, in_registry);

        if (client != 0 && session->client == client &&
            !hf__zk_state_is_over(atomic_load(&session->state))) {
            return session;
        }
    }
    return NULL;
}

/* Sets f->session, unless memory is short. True: the session is new, and f is
 * to start it. */
static bool join(struct hf__zk_ref *f, const struct hf__zk_target *target)
{
    bool is_new = false;

    registry_lock();
    struct hf__zk_session *session = find_session(f->head->client);
    if (session == NULL) {
        session = new_session(f->head->client, target);
        is_new = session != NULL;
    }
    if (is_new) {
        hf__list_push(&registry.sessions, &session->in_registry);
    }
    if (session != NULL) {
        session->n_refs++;
    }
    registry_unlock();
    f->session = session;
    if (session != NULL) {
        HF_SCOPED_LOCK(&session->mutex);
        hf__list_push(&session->refs, &f->in_session);
    }
    return is_new;
}

/* True: f was the last reference of the session. */
static bool leave(struct hf__zk_ref *f)
{
    struct hf__zk_session *session = f->session;

    hf__mutex_lock(&session->mutex);
    hf__list_remove(&f->in_session);
    hf__mutex_unlock(&session->mutex);
    f->session = NULL;
    registry_lock();
    bool is_last = --session->n_refs == 0;
    if (is_last) {
        hf__list_remove(&session->in_registry);
    }
    registry_unlock();
    return is_last;
}

/* Free the requests that the library never answered, and never will. */
static void discard(struct hf__zk_session *session)
{
    struct hf__link *it = NULL;
    struct hf__map_link *node = NULL;

    while ((it = hf__list_pop(&session->calls)) != NULL) {
        hf__zk_calls_discard(HF__ELEMENT(it, struct hf__zk_calls, in_session));
    }
    while ((it = hf__list_pop(&session->watches)) != NULL) {
        hf__zk_watch_discard(hf__zk_watch_in(it));
    }
    while ((node = hf__map_any(&session->common.nodes)) != NULL) {
        hf__map_remove(&session->common.nodes, node);
        session->common.drop(node);
    }
}

static void end_session(struct hf__zk_session *session)
{
    /* Somebody may still rely on a grant, so we may not delete its node: it
     * ends when the session times out, later than the grant's lease. */
    if (session->handle != NULL &&
        !hf__zk_stop(session, session->common.n_granted > 0)) {
        atomic_store(&session->is_abandoned, true);
        hf__zk_cut(session);
        return;
    }
    hf__fd_close(session->socket);
    discard(session);
    free_session(session);
}

/* ---- references */

static void note_start(struct hf__zk_session *session, int r,
                       const hf_error *why)
{
    if (r != HF_OK) {
        hf__mutex_lock(&session->mutex);
        session->why = *why;
        hf__mutex_unlock(&session->mutex);
        hf__zk_move(session, HF__ZK_FAILED);
    }
}

static void start(struct hf__zk_session *session,
                  const struct hf__zk_target *target)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__zk_start(session, target, &why);

    note_start(session, r, &why);
}

static void restart(struct hf__zk_session *session,
                    const struct hf__zk_target *target)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__zk_start_elsewhere(session, target, &why);

    note_start(session, r, &why);
}

static int fail_refused(struct hf__zk_ref *f, int error, hf_error *err)
{
    char words[64];

    return hf__fail_native(err, HF_EUNAVAIL, error, "%s: %s", f->session->shown,
                           hf__errno_text(error, words, sizeof words));
}

/* The library leaves a server that takes the connection and says nothing only
 * when the session would be over. So the reference that makes the session turns
 * to another server, and gives each of them its part of the time. */
static int await_another(struct hf__zk_ref *f,
                         const struct hf__zk_target *target, hf__time deadline,
                         hf_error *err)
{
    struct hf__zk_session *session = f->session;
    int r = HF_BUSY;

    while (r == HF_BUSY && !hf__is_interrupted(f->head) &&
           hf__before(hf__now(), deadline)) {
        hf__time now = hf__now();
        int64_t part_ms = hf__ms_until(deadline, now) /
                          (2 * (int64_t)atomic_load(&session->n_addresses));

        part_ms = part_ms < TURN_MIN_MS ? TURN_MIN_MS : part_ms;
        r = hf__zk_ready(f, hf__earlier(deadline, hf__after_ms(now, part_ms)),
                         err);
        if (r == HF_BUSY && !hf__is_interrupted(f->head) &&
            hf__before(hf__now(), deadline)) {
            restart(session, target);
        }
    }
    return r;
}

/* The library retries for ever, and does not say why it fails. */
static int await_first(struct hf__zk_ref *f, const struct hf__zk_target *target,
                       bool is_new, hf__time deadline, hf_error *err)
{
    char addresses[HF__ZK_ADDRESSES_MAX];
    hf__time soon = hf__earlier(deadline, hf__after_ms(hf__now(), USUAL_MS));
    int r = hf__zk_ready(f, soon, err);

    if (r != HF_BUSY || hf__is_interrupted(f->head)) {
        return r;
    }
    hf__mutex_lock(&f->session->mutex);
    memcpy(addresses, f->session->addresses, sizeof addresses);
    hf__mutex_unlock(&f->session->mutex);
    int error = addresses[0] == '\0' ? 0 : hf__zk_probe(addresses);
    if (error != 0) {
        return fail_refused(f, error, err);
    }
    return is_new && hf__zk_has_choice(f)
               ? await_another(f, target, deadline, err)
               : hf__zk_ready(f, deadline, err);
}

int hf__zk_ref_open(struct hf__zk_ref *f, struct hf__head *head,
                    const struct hf__zk_target *target, hf__time deadline,
                    hf_error *err)
{
    bool is_new = false;
    int r = HF_OK;

    f->head = head;
    do {
        hf__zk_ref_close(f);
        is_new = join(f, target);
        if (is_new) {
            start(f->session, target);
        }
        if (f->session == NULL || hf__zk_calls_reserve(f) != HF_OK) {
            return hf__fail(err, HF_ENOMEM, "out of memory for a session");
        }
        r = await_first(f, target, is_new, deadline, err);
        /* A session of other references may end before we have used it. */
    } while (r == HF_EUNAVAIL && !is_new &&
             hf__zk_state_is_over(atomic_load(&f->session->state)));
    return r != HF_BUSY
               ? r
               : hf__fail(err, HF_EUNAVAIL,
                          "%s: no server let us in in time: does one run "
                          "there, with a majority of its ensemble, and "
                          "may this host have one more connection "
                          "(maxClientCnxns)?",
                          f->session->shown);
}

void hf__zk_ref_close(struct hf__zk_ref *f)
{
    struct hf__zk_session *session = f->session;

    hf__free(f->spare);
    f->spare = NULL;
    if (session != NULL && leave(f)) {
        end_session(session);
    }
}

void hf__zk_abandon(struct hf__zk_ref *f)
{
    struct hf__zk_session *session = f->session;

    if (hf__zk_state_is_over(atomic_load(&session->state)) &&
        !atomic_exchange(&session->is_abandoned, true)) {
        hf__zk_cut(session);
    }
}

void hf__zk_ref_wake(struct hf__zk_ref *f)
{
    hf__unpark(&f->parker);
}
