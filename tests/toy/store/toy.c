/* SPDX-License-Identifier: MIT */
/*
 * toy:, the smallest possible store: a list of names in this process, under one
 * mutex. It gives the engine its primitives. tests/toy/take_steps.py adds it to
 * a copy of the tree. It lives while a session is open or a lease runs; a
 * forked child has none. Thread: any.
 */
#include "src/backend/name/engine.h"
#include "src/backend/registry.h"
#include "src/backend/report.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork_list.h"
#include "src/base/list.h"
#include "src/base/wake.h"

#include <string.h>

struct entry {
    struct hf__link link;
    struct hf__name name;
    size_t length;
    char key[HF__KEY_MAX];
};

struct store {
    struct hf__link link;
    struct hf__link entries;
    struct hf__parker changed; /* a name; then waiters look again */
    unsigned sessions;
};

struct session {
    struct hf__engine_session engine_session;
    struct store *store; /* NULL: not opened */
    struct entry *lent;  /* new entry, in no list yet: its name has no record */
    bool has_changed;    /* a name, since begin() */
};

/* Has the one store as its member, or none. */
static struct hf__fork_list toys;

#define ENTRY(at) HF__ELEMENT(at, struct entry, link)

/* ---- which grants and tickets still count */

static enum hf__participant_state state_of_ticket(int64_t idle_ms)
{
    if (idle_ms < HF__TICKET_PATIENCE_MS) {
        return HF__PARTICIPANT_RUNNING;
    }
    return idle_ms < HF__TICKET_KEEP_MS ? HF__PARTICIPANT_DEAD
                                        : HF__PARTICIPANT_ENDED;
}

static void judge(struct hf__name *name)
{
    name->now_us = hf__now().ns / 1000;
    name->wall_us = hf__wall_us();
    name->fence_floor = name->wall_us;
    for (int i = 0; i < name->grants.n; i++) {
        struct hf__participant *g = name->grants.list[i];

        if (g->state == HF__PARTICIPANT_RUNNING && g->ends_us <= name->now_us) {
            g->state = HF__PARTICIPANT_ENDED;
        }
    }
    for (int i = 0; i < name->waiters.n; i++) {
        struct hf__participant *t = name->waiters.list[i];

        t->state = state_of_ticket((name->now_us - t->seen_us) / 1000);
    }
}

/* ---- primitives */

static struct hf__rules rules(void *s)
{
    (void)s;
    return (struct hf__rules){.life = 0}; /* nothing ends with a session */
}

static void begin(void *state)
{
    struct session *s = state;

    hf__fork_list_lock(&toys);
    s->has_changed = false;
}

static void end(void *state)
{
    struct session *s = state;

    hf__fork_list_unlock(&toys);
    if (s->has_changed) {
        hf__unpark(&s->store->changed);
    }
}

static struct entry *find(const struct store *store, const struct hf__key *key)
{
    HF__LIST_EACH (link, &store->entries) {
        if (ENTRY(link)->length == key->length &&
            memcmp(ENTRY(link)->key, key->bytes, key->length) == 0) {
            return ENTRY(link);
        }
    }
    return NULL;
}

static struct entry *make(const struct hf__key *key)
{
    struct entry *e = hf__alloc(sizeof *e);

    if (e != NULL) {
        e->length = key->length;
        memcpy(e->key, key->bytes, key->length);
    }
    return e;
}

static int load(void *state, const struct hf__key *key, const struct hf__op *op,
                bool to_change, struct hf__name **ret_name, hf_error *err)
{
    struct session *s = state;
    struct entry *e = find(s->store, key);

    (void)op;
    (void)to_change;
    if (e == NULL) {
        e = s->lent = make(key);
    }
    if (e == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a name");
    }
    judge(&e->name);
    *ret_name = &e->name;
    return HF_OK;
}

static int commit(void *state, const struct hf__op *op, struct hf__name *name,
                  struct hf__outcome *out)
{
    struct session *s = state;

    (void)op;
    (void)out;
    hf__name_settle(name);
    s->has_changed = true;
    if (s->lent != NULL) {
        hf__list_push(&s->store->entries, &s->lent->link);
        s->lent = NULL;
    }
    return HF_OK;
}

static void drop(struct entry *e)
{
    hf__name_fini(&e->name);
    hf__free(e);
}

static void put_down(void *state)
{
    struct session *s = state;

    if (s->lent != NULL) {
        drop(s->lent);
        s->lent = NULL;
    }
}

/* Scans everything in one step, so the scan is over at once. */
static int scan(void *state, struct hf__scan *scan, hf_error *err)
{
    struct session *s = state;
    const struct hf__key *prefix = scan->prefix;
    int r = HF_OK;

    (void)err;
    HF__LIST_EACH (link, &s->store->entries) {
        struct entry *e = ENTRY(link);
        struct hf__key key = {e->key, (uint16_t)e->length, prefix->name_at};

        if (r == HF_OK && e->length >= prefix->length &&
            memcmp(e->key, prefix->bytes, prefix->length) == 0) {
            judge(&e->name);
            r = scan->fn(scan->arg, &key, &e->name);
        }
    }
    scan->length = 0;
    return r;
}

static int forget(void *s, const struct hf__key *key, struct hf__name *name,
                  int64_t idle_us)
{
    struct entry *e = HF__ELEMENT(name, struct entry, name);

    (void)s;
    (void)key;
    (void)idle_us;
    hf__list_remove(&e->link);
    drop(e);
    return HF_OK;
}

static unsigned seen_now(void *state, struct hf__watch *w[], int n)
{
    struct session *s = state;

    (void)w;
    (void)n;
    return hf__parker_seen(&s->store->changed);
}

static void park(void *state, struct hf__watch *w[], int n, unsigned from,
                 hf__time until)
{
    struct session *s = state;

    (void)w;
    (void)n;
    hf__park(&s->store->changed, from, until);
}

static const struct hf__primitives primitives = {
    .rules = rules,
    .begin = begin,
    .end = end,
    .load = load,
    .put_down = put_down,
    .commit = commit,
    .scan = scan,
    .forget = forget,
    .seen = seen_now,
    .park = park,
};

/* ---- calls */

static int toy_check(void *s, hf__check_fn fn, void *arg, hf__time deadline,
                     hf_error *err)
{
    struct hf__report to = {.fn = fn, .arg = arg};

    (void)s;
    (void)deadline;
    (void)err;
    hf__report_say(&to, "durability", "none (a toy)", "use another store");
    return HF_OK;
}

static struct store *the_store(void)
{
    struct store *store = NULL;

    if (!hf__list_is_empty(&toys.members)) {
        return HF__ELEMENT(toys.members.next, struct store, link);
    }
    store = hf__alloc(sizeof *store);
    if (store != NULL) {
        hf__list_init(&store->entries);
        hf__list_push(&toys.members, &store->link);
    }
    return store;
}

/* Deletes what no client can ask for: fences rise on by the wall clock. */
static void sweep(struct store *store)
{
    HF__LIST_EACH (link, &store->entries) {
        struct hf__name *name = &ENTRY(link)->name;

        judge(name);
        if (!hf__name_is_held(name) && !hf__name_is_kept(name) &&
            !hf__name_is_awaited(name, NULL)) {
            hf__list_remove(link);
            drop(ENTRY(link));
        }
    }
    if (hf__list_is_empty(&store->entries)) {
        hf__list_remove(&store->link);
        hf__free(store);
    }
}

static int toy_open(void *state, const struct hf__url *url, const char *allow,
                    hf__time deadline, hf_error *err)
{
    struct session *s = state;

    (void)url;
    (void)allow;
    (void)deadline;
    HF_SCOPED_FORK_LIST(&toys);
    s->engine_session.primitives = &primitives;
    s->store = the_store();
    if (s->store == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a store");
    }
    s->store->sessions++;
    s->engine_session.head.server_info =
        (struct hf__server_info){.grade = 'D', .reach = HF_REACH_PROCESS};
    return HF_OK;
}

static void toy_interrupt(void *state)
{
    struct session *s = state;

    HF_SCOPED_FORK_LIST(&toys);
    if (s->store != NULL) {
        hf__unpark(&s->store->changed);
    }
}

static void toy_close(void *state)
{
    struct session *s = state;

    HF_SCOPED_FORK_LIST(&toys);
    if (s->store != NULL && --s->store->sessions == 0) {
        sweep(s->store);
    }
    s->store = NULL;
}

static const char *const options[] = {NULL};

const struct hf__backend hf__toy_backend = {
    .scheme = "toy",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |
            HF_CAP_SLOTS,
    .size = sizeof(struct session),
    .options = options,
    .has_no_sigpipe = true,
    .open = toy_open,
    .close = toy_close,
    .execute = hf__engine_session_execute,
    .wait = hf__engine_session_wait,
    .list = hf__engine_session_list,
    .gc = hf__engine_session_gc,
    .check = toy_check,
    .interrupt = toy_interrupt,
};
