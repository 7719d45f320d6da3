/* SPDX-License-Identifier: MIT */
/*
 * The store of the world, `world:`: memory: as it is, at the end of a way on
 * which a request has a fate (way.c). A thread that asks is on the way until
 * its answer is there: its host may be stopped or dead meanwhile, the request
 * is not.
 */
#include "tests/sim/way.h"

#include "tests/sim/made.h"
#include "tests/sim/oracles.h"

#include "src/backend/compatibility.h"
#include "src/backend/conn.h"
#include "src/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 32 };

static const struct hf__backend *const inner = &hf__memory_backend;
static struct hf__way *sessions;
static unsigned epoch;      /* restarts */
static unsigned generation; /* of what it remembers */
static int64_t down_until;

static int fail_dead(hf_error *err, int status)
{
    return hf__fail(err, status, "the connection is gone");
}

bool hf__way_is_severed(const struct hf__way *s)
{
    return s->epoch != epoch || hf__true_now() < down_until;
}

/* A deadline by the caller's clock as a true time, and back. */
static int64_t limit_of(hf__time deadline)
{
    return hf__is_never(deadline)
               ? HF__VIRTUAL_NEVER
               : hf__true_now() + hf__between_ns(hf__now(), deadline);
}

static hf__time deadline_of(int64_t limit)
{
    return limit == HF__VIRTUAL_NEVER
               ? HF__NEVER
               : hf__after_ns(hf__now(), limit - hf__true_now());
}

/* On the way, and back at the host, which may stand by now. */
static void leave_host(void)
{
    hf__virtual_be(0, 0);
}

static void come_home(int host)
{
    hf__virtual_be(host, host);
    hf__virtual_pass(true);
}

/* ---- the calls of a store */

static int world_execute(void *state, struct hf__op *ops[], int n,
                         hf__time deadline, hf_error *err)
{
    struct hf__way *s = state;
    int64_t limit = limit_of(deadline);
    int host = hf__virtual_host();
    int r;

    for (int i = 0; i < n; i++) {
        hf__oracle_sent(ops[i]);
    }
    leave_host();
    r = hf__way_meet(s, ops, n, limit);
    come_home(host);
    for (int i = 0; i < n; i++) {
        hf__oracle_answered(ops[i]);
    }
    return r == HF_OK ? r : fail_dead(err, r);
}

/* Who waits or listens is stopped with its host, but by the store's clock. */
static int after_wait(struct hf__way *s, int r, hf_error *err)
{
    hf__virtual_be(s->host, s->host);
    return r == HF_OK && (hf__way_is_severed(s) || hf__way_is_cut(s))
               ? fail_dead(err, HF_EUNAVAIL)
               : r;
}

static void note_waits(const struct hf__way *s, struct hf__watch *w[], int n,
                       bool begins)
{
    for (int i = 0; i < n && s->memory == generation; i++) {
        hf__account_waits(&w[i]->key, &w[i]->ticket, begins);
    }
}

static int world_wait(void *state, struct hf__watch *w[], int n,
                      hf__time deadline, hf_error *err)
{
    struct hf__way *s = state;
    int64_t limit = limit_of(deadline);
    int r;

    hf__virtual_be(s->host, 0);
    note_waits(s, w, n, true);
    r = inner->wait(hf__way_enter(s), w, n, deadline_of(limit), err);
    note_waits(s, w, n, false);
    return after_wait(s, r, err);
}

static int world_listen(void *state, hf__broken_fn fn, void *arg,
                        hf__time deadline, hf_error *err)
{
    struct hf__way *s = state;
    int64_t limit = limit_of(deadline);

    hf__virtual_be(s->host, 0);
    return after_wait(
        s, inner->listen(hf__way_enter(s), fn, arg, deadline_of(limit), err),
        err);
}

static int world_check(void *state, hf__check_fn fn, void *arg,
                       hf__time deadline, hf_error *err)
{
    struct hf__way *s = state;

    return inner->check(hf__way_enter(s), fn, arg, deadline, err);
}

static void world_interrupt(void *state)
{
    struct hf__way *s = state;

    if (s->is_open) {
        atomic_store(&hf__way_inner(s)->interrupted,
                     atomic_load(&s->head.interrupted));
        inner->interrupt(s->state);
    }
    hf__virtual_ring(s, 1);
}

static int open_inner(struct hf__way *s, const struct hf__url *url)
{
    struct hf__url at = *url;
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof path, "world%u", generation);
    at.path = path;
    hf__way_inner(s)->stale_session = s->head.stale_session;
    hf__way_inner(s)->client = s->head.client;
    hf__way_inner(s)->only_listens = s->head.only_listens;
    s->epoch = epoch;
    s->memory = generation;
    return inner->open(hf__way_enter(s), &at, "", HF__NEVER, NULL);
}

static int open_here(struct hf__way *s, const struct hf__url *url)
{
    HF_SCOPED_LOCK(&hf__way_mutex);

    if (hf__true_now() < down_until || hf__scene.is_dead[s->host] ||
        open_inner(s, url) != HF_OK) {
        return HF_EUNAVAIL;
    }
    s->is_open = true;
    s->head.server_info = hf__way_inner(s)->server_info;
    s->next = sessions;
    sessions = s;
    hf__account_session(s->host, 1);
    return HF_OK;
}

static void close_here(struct hf__way *s)
{
    s->is_open = false;
    inner->close(hf__way_enter(s));
    if (s->memory == generation) {
        hf__account_session(s->host, -1);
    }
}

static int world_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct hf__way *s = state;
    int64_t limit = limit_of(deadline);
    int host = hf__virtual_host();
    int r = HF_EUNAVAIL;

    (void)allow;
    s->host = host;
    s->epoch = epoch;
    leave_host();
    if (!hf__way_is_cut(s)) {
        r = hf__way_travel(s, hf__way_delay(), limit) ? open_here(s, url)
                                                      : HF_EUNAVAIL;
    } else {
        (void)hf__way_travel(s, INT64_MAX / 4, limit);
    }
    come_home(host);
    return r == HF_OK ? r : fail_dead(err, r);
}

static void world_close(void *state)
{
    struct hf__way *s = state;
    int host = hf__virtual_host();

    leave_host();
    hf__mutex_lock(&hf__way_mutex);
    for (struct hf__way **at = &sessions; *at != NULL; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            close_here(s);
            s->head.stale_session = hf__way_inner(s)->stale_session;
            break;
        }
    }
    hf__mutex_unlock(&hf__way_mutex);
    come_home(host);
}

static unsigned world_caps(const struct hf__url *url)
{
    return hf__caps_of(inner, url) & ~HF_CAP_LIST;
}

const struct hf__backend *hf__sim_store(void)
{
    static struct hf__backend world;

    if (world.scheme == NULL) {
        world = *inner;
        world.scheme = "world";
        world.caps &= ~HF_CAP_LIST;
        world.caps_of = world_caps;
        world.size = sizeof(struct hf__way) + inner->size;
        world.open = world_open;
        world.close = world_close;
        world.execute = world_execute;
        world.wait = world_wait;
        world.listen = world_listen;
        world.list = NULL;
        world.gc = NULL;
        world.check = world_check;
        world.interrupt = world_interrupt;
    }
    return &world;
}

/* In the place of the registry's. */
int __wrap_hf__backend_load(const char *scheme, const struct hf__backend **ret,
                            hf_error *err);
int __wrap_hf__backend_load(const char *scheme, const struct hf__backend **ret,
                            hf_error *err)
{
    (void)scheme;
    (void)err;
    *ret = hf__scene.plan.quorum != 0 ? hf__made_store() : hf__sim_store();
    return HF_OK;
}

/* ---- what happens to the store */

void hf__store_bury(int host)
{
    HF_SCOPED_LOCK(&hf__way_mutex);

    hf__wires_bury(host);
    hf__account_dead(host);
    for (struct hf__way **at = &sessions; *at != NULL;) {
        struct hf__way *s = *at;

        if (s->host == host) {
            *at = s->next;
            close_here(s);
        } else {
            at = &s->next;
        }
    }
}

/* A session of the world's own, of what the store remembers now. */
static struct hf__way *own_session(void)
{
    static struct hf__way *own;
    static unsigned of;
    static const struct hf__url url = {.scheme = "memory"};

    if (own == NULL || of != generation) {
        own = calloc(1, sizeof *own + inner->size);
        of = generation;
        if (own == NULL || open_inner(own, &url) != HF_OK) {
            abort();
        }
    }
    own->is_open = true;
    own->head.generation++;
    own->epoch = epoch;
    return own;
}

void hf__store_restart(bool forgets)
{
    HF_SCOPED_LOCK(&hf__way_mutex);
    int64_t lease = hf__scene.plan.lease_ms * HF__MS_NS;

    if (hf__scene.plan.quorum != 0) {
        hf__made_restart(forgets);
        return;
    }
    hf__note("the store restarts");
    epoch++;
    down_until = hf__true_now() + hf__between(0, lease);
    for (int i = 0; i < HF__VIRTUAL_HOSTS; i++) {
        hf__disturb(i, down_until);
    }
    hf__scene.tally->restarts++;
    hf__way_forget();
    if (forgets) {
        generation++;
        hf__account_forget();
        (void)own_session(); /* or it is forgotten once its clients are gone */
        hf__scene.tally->forgotten++;
        hf__oracle_excuse(-1, -1, UINT64_MAX);
    }
    for (struct hf__way *s = sessions; s != NULL; s = s->next) {
        hf__way_inner(s)->interrupted = hf__way_inner(s)->generation;
        inner->interrupt(s->state);
    }
}

void *hf__store_bring(void *arg)
{
    for (;;) {
        while (hf__way_bring(own_session(), hf__true_now())) {
        }
        hf__doze_until(hf__way_next());
    }
    return arg;
}

static bool may_stay(int host, const struct hf__owner *owner)
{
    return (host != 0 && owner->label[0] - '0' != host) ||
           strcmp(owner->note, "detached") == 0 ||
           hf__scene.is_dead[owner->label[0] - '0'];
}

void hf__store_expect_empty(int host)
{
    int of = hf__virtual_host();

    if (hf__scene.plan.quorum != 0) {
        hf__made_expect_empty(host);
        return;
    }
    leave_host(); /* leases run by the store's clock */
    for (int i = 0; i < hf__scene.plan.names; i++) {
        struct hf__participant_list crowd = {0};
        struct hf__op op = {.kind = HF__OP_INSPECT, .ret_participants = &crowd};
        struct hf__record record = {0};
        struct hf__op *one = &op;
        char key[] = "sim:0";

        key[sizeof key - 2] = "0123456789"[i];
        op.key = (struct hf__key){key, sizeof key - 1, 4};
        op.ret_record = &record;
        (void)inner->execute(hf__way_enter(own_session()), &one, 1, HF__NEVER,
                             NULL);
        if (host == 0 && record.fence == 0) {
            hf__flaw("the store knows nothing of %s", key);
        }
        for (int j = 0; j < crowd.n; j++) {
            const struct hf__owner *owner = &crowd.list[j].record.owner;

            if (!may_stay(host, owner)) {
                hf__flaw("host %s left %s at %s", owner->label,
                         crowd.list[j].is_waiting ? "a ticket" : "a grant",
                         key);
            }
        }
        hf__participant_list_free(&crowd);
    }
    hf__virtual_be(of, of);
}
