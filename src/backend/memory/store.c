/* SPDX-License-Identifier: MIT */
/*
 * The memory: stores and their contents: finding a store, judging which of its
 * records still count, the primitives of the engine and cell(), and freeing a
 * store once nothing in it can matter any more. Thread: any, under the mutex of
 * hf__mem_stores. The begin() of the primitives locks it, and so do the calls
 * for cells.
 */
#include "src/backend/memory/store.h"

#include "src/backend/cell.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

#define TIMEOUT_MIN_MS 150
#define TIMEOUT_MAX_MS 600000

struct hf__fork_list hf__mem_stores;

#define ENTRY(at) HF__ELEMENT(at, struct hf__mem_entry, link)
#define STORE(at) HF__ELEMENT(at, struct hf__mem_store, link)
#define LIFE(at)  HF__ELEMENT(at, struct hf__mem_life, link)

struct cell {
    struct hf__map_link link;
    struct hf__cell_state state;
    unsigned char *value;
    size_t key_length;
    char key[];
};

#define CELL(at) HF__ELEMENT(at, struct cell, link)

/* ---- clients whose grants end with them */

static hf__time life_end(const struct hf__mem_life *life)
{
    return life->sessions > 0 ? HF__NEVER : life->until;
}

static struct hf__mem_life *find_life(const struct hf__mem_store *store,
                                      uint64_t number, uint64_t client)
{
    HF__LIST_EACH (link, &store->lives) {
        struct hf__mem_life *life = LIFE(link);

        if (number != 0 ? life->number == number
                        : life->client == client && client != 0) {
            return life;
        }
    }
    return NULL;
}

static void drop_life(struct hf__mem_life *life)
{
    hf__list_remove(&life->link);
    hf__free(life);
}

int hf__mem_begin_life(struct hf__mem_session *s, const struct hf__url *url,
                       hf_error *err)
{
    int64_t timeout_ms = 0;
    int r = HF_OK;

    if (hf__url_option(url, "session_timeout") == NULL) {
        return HF_OK;
    }
    r = hf__url_duration(url, "session_timeout", TIMEOUT_MIN_MS, TIMEOUT_MAX_MS,
                         &timeout_ms, err);
    if (r != HF_OK) {
        return r;
    }
    /* The grants of a life that is over have ended: a missing life counts as
     * ended. */
    HF__LIST_EACH (link, &s->store->lives) {
        if (!hf__before(hf__now(), life_end(LIFE(link)))) {
            drop_life(LIFE(link));
        }
    }
    s->life = find_life(s->store, 0, s->engine_session.head.client);
    if (s->life == NULL) {
        s->life = hf__alloc(sizeof *s->life);
        if (s->life == NULL) {
            return hf__fail(err, HF_ENOMEM, "out of memory for a session");
        }
        s->life->client = s->engine_session.head.client;
        s->life->number = ++s->store->last_life;
        hf__list_push(&s->store->lives, &s->life->link);
    }
    s->life->timeout_ms = timeout_ms;
    s->life->sessions++;
    /* Two thirds of the timeout, as is usual: a client stops believing in its
     * grant well before the server gives it away. */
    s->engine_session.head.server_info.lease_us = timeout_ms * 1000 * 2 / 3;
    return HF_OK;
}

/* ---- state of grants and tickets */

/* A closed client's grant goes on if the client comes back in time. */
static int64_t ends_us_of(const struct hf__mem_life *life, int64_t now_us)
{
    if (life == NULL) {
        return now_us;
    }
    return life->sessions > 0 ? INT64_MAX : life->until.ns / 1000;
}

static void judge_grant(const struct hf__mem_store *store,
                        const struct hf__name *name, struct hf__participant *g)
{
    if (g->life != 0 && g->state != HF__PARTICIPANT_ENDED) {
        g->ends_us = ends_us_of(find_life(store, g->life, 0), name->now_us);
    }
    if (g->state == HF__PARTICIPANT_RUNNING && g->ends_us <= name->now_us) {
        g->state = HF__PARTICIPANT_ENDED;
    }
}

static void judge_ticket(const struct hf__mem_store *store,
                         const struct hf__name *name, struct hf__participant *t,
                         hf__time now)
{
    int64_t idle_ms = (name->now_us - t->seen_us) / 1000;

    if (t->life != 0) {
        const struct hf__mem_life *life = find_life(store, t->life, 0);

        t->state = life == NULL || !hf__before(now, life_end(life))
                       ? HF__PARTICIPANT_ENDED
                       : HF__PARTICIPANT_RUNNING;
    } else {
        t->state = idle_ms < HF__TICKET_PATIENCE_MS ? HF__PARTICIPANT_RUNNING
                   : idle_ms < HF__TICKET_KEEP_MS   ? HF__PARTICIPANT_DEAD
                                                    : HF__PARTICIPANT_ENDED;
    }
}

static void judge(const struct hf__mem_store *store, struct hf__name *name)
{
    hf__time now = hf__now();

    name->now_us = now.ns / 1000;
    name->wall_us = hf__wall_us();
    name->fence_floor = name->wall_us;
    for (int i = 0; i < name->grants.n; i++) {
        judge_grant(store, name, name->grants.list[i]);
    }
    for (int i = 0; i < name->waiters.n; i++) {
        judge_ticket(store, name, name->waiters.list[i], now);
    }
}

struct hf__mem_entry *hf__mem_find(struct hf__mem_store *store,
                                   const struct hf__key *key)
{
    struct hf__map_link *link =
        hf__map_find(&store->entries, key->bytes, key->length);

    if (link != NULL) {
        judge(store, &ENTRY(link)->name);
    }
    return link == NULL ? NULL : ENTRY(link);
}

/* ---- primitives */

static struct hf__rules rules(void *state)
{
    const struct hf__mem_session *s = state;

    return (struct hf__rules){.life = s->life == NULL ? 0 : s->life->number,
                              .ends_with_life = s->life != NULL};
}

static void begin(void *state)
{
    struct hf__mem_session *s = state;

    hf__fork_list_lock(&hf__mem_stores);
    s->has_changed = false;
}

static void end(void *state)
{
    struct hf__mem_session *s = state;
    struct hf__parker *changed = &s->store->changed;

    hf__fork_list_unlock(&hf__mem_stores);
    if (s->has_changed) {
        hf__unpark(changed);
    }
}

static int load(void *state, const struct hf__key *key, const struct hf__op *op,
                bool to_change, struct hf__name **ret_name, hf_error *err)
{
    struct hf__mem_store *store = ((struct hf__mem_session *)state)->store;
    struct hf__mem_entry *e = hf__mem_find(store, key);

    (void)op;
    (void)to_change;
    (void)err;
    *ret_name = e == NULL ? &store->none : &e->name;
    if (e == NULL) {
        hf__name_fini(&store->none);
        judge(store, &store->none);
    }
    return HF_OK;
}

/* The first change of a name creates its record. */
static int add(struct hf__mem_store *store, const struct hf__key *key)
{
    struct hf__mem_entry *e = hf__alloc(sizeof *e);

    if (e == NULL) {
        hf__name_fini(&store->none);
        return HF_ENOMEM;
    }
    e->length = key->length;
    memcpy(e->key, key->bytes, key->length);
    e->name = store->none;
    e->name.is_there = true;
    store->none = (struct hf__name){0};
    hf__map_add(&store->entries, &e->link, e->key, e->length);
    return HF_OK;
}

static int commit(void *state, const struct hf__op *op, struct hf__name *name,
                  struct hf__outcome *out)
{
    struct hf__mem_session *s = state;

    (void)out;
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if ((g->marks & HF__MARK_BROKEN) != 0) {
            hf__breaks_tell(&s->store->words, 0, &g->token, HF__MEM_LIFE);
        }
    }
    hf__name_settle(name);
    s->has_changed = true;
    if (name == &s->store->none && add(s->store, &op->key) != HF_OK) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a lock");
    }
    return HF_OK;
}

static int forget(void *state, const struct hf__key *key, struct hf__name *name,
                  int64_t idle_us)
{
    struct hf__mem_session *s = state;
    struct hf__mem_entry *e = HF__ELEMENT(name, struct hf__mem_entry, name);

    (void)key;
    (void)idle_us;
    hf__map_remove(&s->store->entries, &e->link);
    hf__name_fini(&e->name);
    hf__free(e);
    return HF_OK;
}

static bool begins(const char *key, size_t length, const struct hf__key *prefix)
{
    return length >= prefix->length &&
           memcmp(key, prefix->bytes, prefix->length) == 0;
}

struct scanning {
    struct hf__mem_store *store;
    const struct hf__scan *scan;
    int result;
};

static void scan_one(void *arg, struct hf__map_link *link)
{
    struct scanning *s = arg;
    const struct hf__key *prefix = s->scan->prefix;
    struct hf__mem_entry *e = ENTRY(link);
    struct hf__key key = {e->key, (uint16_t)e->length, prefix->name_at};

    if (s->result == HF_OK && begins(e->key, e->length, prefix)) {
        judge(s->store, &e->name);
        s->result = s->scan->fn(s->scan->arg, &key, &e->name);
    }
}

/* One call scans all names: it waits for nothing. */
static int scan(void *state, struct hf__scan *scan, hf_error *err)
{
    struct hf__mem_store *store = ((struct hf__mem_session *)state)->store;
    struct scanning s = {store, scan, HF_OK};

    (void)err;
    hf__map_each(&store->entries, scan_one, &s);
    scan->length = 0;
    return s.result;
}

static unsigned seen_now(void *state, struct hf__watch *w[], int n)
{
    (void)w;
    (void)n;
    return hf__parker_seen(&((struct hf__mem_session *)state)->store->changed);
}

static void park(void *state, struct hf__watch *w[], int n, unsigned from,
                 hf__time until)
{
    (void)w;
    (void)n;
    hf__park(&((struct hf__mem_session *)state)->store->changed, from, until);
}

const struct hf__primitives hf__mem_primitives = {
    .rules = rules,
    .begin = begin,
    .end = end,
    .load = load,
    .commit = commit,
    .scan = scan,
    .forget = forget,
    .seen = seen_now,
    .park = park,
};

/* ---- cells */

static void drop_cell(struct hf__mem_store *store, struct cell *cell)
{
    hf__map_remove(&store->cells, &cell->link);
    hf__free(cell->value);
    hf__free(cell);
}

static struct cell *add_cell(struct hf__mem_store *store,
                             const struct hf__key *key)
{
    struct cell *cell = hf__alloc(sizeof *cell + key->length);

    if (cell != NULL) {
        cell->key_length = key->length;
        memcpy(cell->key, key->bytes, key->length);
        hf__map_add(&store->cells, &cell->link, cell->key, key->length);
    }
    return cell;
}

/* The value is allocated first, so that nothing is half done without memory. */
static int write_cell(struct hf__mem_store *store, struct cell *cell,
                      const struct hf__cell_op *op)
{
    unsigned char *value = hf__alloc(op->state.length + 1);

    if (cell == NULL && value != NULL) {
        cell = add_cell(store, &op->key);
    }
    if (cell == NULL || value == NULL) {
        hf__free(value);
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a cell");
    }
    if (op->state.length > 0) {
        memcpy(value, op->value, op->state.length);
    }
    hf__free(cell->value);
    cell->value = value;
    cell->state = op->state;
    return HF_OK;
}

int hf__mem_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                 hf_error *err)
{
    struct hf__mem_store *store = ((struct hf__mem_session *)state)->store;
    HF_SCOPED_FORK_LIST(&hf__mem_stores);
    struct hf__map_link *link =
        hf__map_find(&store->cells, op->key.bytes, op->key.length);
    struct cell *cell = link == NULL ? NULL : CELL(link);

    (void)deadline;
    (void)err;
    if (op->what != HF__CELL_GET) {
        const struct hf__cell_state none = {0};
        bool writes = false;
        int64_t wall_us = hf__wall_us();
        int64_t floor_us = (int64_t)store->cells_gone + 1;
        int r =
            hf__cell_decide(op, cell == NULL ? &none : &cell->state,
                            wall_us > floor_us ? wall_us : floor_us, &writes);

        op->result = writes ? write_cell(store, cell, op) : r;
        return HF_OK;
    }
    if (cell != NULL) {
        op->state = cell->state;
        memcpy(op->value, cell->value, cell->state.length);
    }
    op->result = HF_OK;
    return HF_OK;
}

struct cleaning {
    struct hf__mem_store *store;
    const struct hf__key *prefix;
    struct hf__gc *gc;
};

static void clean_one(void *arg, struct hf__map_link *link)
{
    const struct cleaning *c = arg;
    struct cell *cell = CELL(link);

    if (begins(cell->key, cell->key_length, c->prefix) &&
        hf__cell_is_idle(&cell->state, hf__wall_us(), c->gc->idle_us)) {
        c->store->cells_gone = cell->state.version > c->store->cells_gone
                                   ? cell->state.version
                                   : c->store->cells_gone;
        drop_cell(c->store, cell);
        c->gc->count++;
    }
}

void hf__mem_clean_cells(struct hf__mem_store *store,
                         const struct hf__key *prefix, struct hf__gc *g)
{
    struct cleaning c = {store, prefix, g};
    HF_SCOPED_FORK_LIST(&hf__mem_stores);

    hf__map_each(&store->cells, clean_one, &c);
    g->length = 0;
}

/* ---- stores */

static void store_free(struct hf__mem_store *store)
{
    struct hf__map_link *link;

    while ((link = hf__map_any(&store->entries)) != NULL) {
        hf__map_remove(&store->entries, link);
        hf__name_fini(&ENTRY(link)->name);
        hf__free(ENTRY(link));
    }
    hf__map_fini(&store->entries);
    while ((link = hf__map_any(&store->cells)) != NULL) {
        drop_cell(store, CELL(link));
    }
    hf__map_fini(&store->cells);
    HF__LIST_EACH (life, &store->lives) {
        drop_life(LIFE(life));
    }
    hf__name_fini(&store->none);
    hf__words_fini(&store->words);
    hf__free(store);
}

struct need {
    const struct hf__mem_store *store;
    bool is_there;
};

static void note_running(void *arg, struct hf__map_link *link)
{
    struct need *need = arg;
    struct hf__name *name = &ENTRY(link)->name;

    judge(need->store, name);
    need->is_there |= hf__name_is_held(name) || hf__name_is_kept(name) ||
                      hf__name_is_awaited(name, NULL);
}

void hf__mem_sweep(void)
{
    HF__LIST_EACH (link, &hf__mem_stores.members) {
        struct hf__mem_store *store = STORE(link);
        struct need need = {store, store->sessions > 0};

        hf__map_each(&store->entries, note_running, &need);
        if (!need.is_there) {
            hf__list_remove(link);
            store_free(store);
        }
    }
}

static struct hf__mem_store *store_new(const char *name)
{
    size_t length = strlen(name);
    struct hf__mem_store *store = hf__alloc(sizeof *store + length + 1);

    if (store == NULL || hf__map_init(&store->entries) != HF_OK ||
        hf__map_init(&store->cells) != HF_OK) {
        if (store != NULL) {
            hf__map_fini(&store->entries);
        }
        hf__free(store);
        return NULL;
    }
    memcpy(store->name, name, length + 1);
    hf__words_own(&store->words, &store->breaks, sizeof store->breaks);
    hf__list_init(&store->lives);
    hf__list_push(&hf__mem_stores.members, &store->link);
    return store;
}

struct hf__mem_store *hf__mem_store(const char *name)
{
    HF__LIST_EACH (link, &hf__mem_stores.members) {
        if (strcmp(STORE(link)->name, name) == 0) {
            return STORE(link);
        }
    }
    return store_new(name);
}
