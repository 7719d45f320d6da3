/* SPDX-License-Identifier: MIT */
/*
 * The participants of a name and the name as a whole: finding, adding,
 * forgetting, and which of them count. Called by the thread that works on the
 * name.
 */
#include "src/backend/name/name.h"

#include "src/base/alloc.h"

#include <string.h>

/* ---- members */

static bool is_few(const struct hf__participants *m)
{
    return m->inline_one != NULL && m->list == m->inline_one->list;
}

static bool make_room(struct hf__participants *m)
{
    enum { FEW = sizeof m->inline_one->list / sizeof m->inline_one->list[0] };
    int room = m->room == 0 ? 2 : 2 * m->room;
    struct hf__participant **list = NULL;

    if (m->n < m->room) {
        return true;
    }
    if (m->list == NULL && m->inline_one != NULL) {
        m->list = m->inline_one->list;
        m->room = FEW;
        return true;
    }
    list = hf__resize(is_few(m) ? NULL : m->list, (size_t)room * sizeof *list);
    if (list == NULL) {
        return false;
    }
    if (is_few(m)) {
        memcpy(list, m->list, (size_t)m->n * sizeof *list);
    }
    m->list = list;
    m->room = room;
    return true;
}

static struct hf__participant *make(struct hf__participants *m)
{
    if (m->inline_one == NULL || m->inline_one->is_taken) {
        return hf__alloc(sizeof m->inline_one->one);
    }
    m->inline_one->is_taken = true;
    m->inline_one->one = (struct hf__participant){0};
    return &m->inline_one->one;
}

static void unmake(struct hf__participants *m, struct hf__participant *one)
{
    if (m->inline_one != NULL && one == &m->inline_one->one) {
        m->inline_one->is_taken = false;
    } else {
        hf__free(one);
    }
}

struct hf__participant *hf__participants_add(struct hf__participants *m,
                                             int slot)
{
    struct hf__participant *new = make_room(m) ? make(m) : NULL;
    int at = m->n;

    if (new == NULL) {
        return NULL;
    }
    while (at > 0 && m->list[at - 1]->slot > slot) {
        at--;
    }
    memmove(&m->list[at + 1], &m->list[at],
            (size_t)(m->n - at) * sizeof *m->list);
    m->list[at] = new;
    m->n++;
    new->slot = slot;
    return new;
}

struct hf__participant *hf__participants_find(const struct hf__participants *m,
                                              const struct hf__token *token)
{
    for (int i = 0; i < m->n; i++) {
        if (hf__token_equal(&m->list[i]->token, token) &&
            (m->list[i]->marks & HF__MARK_GONE) == 0) {
            return m->list[i];
        }
    }
    return NULL;
}

static void settle(struct hf__participants *m)
{
    int n = 0;

    for (int i = 0; i < m->n; i++) {
        if ((m->list[i]->marks & HF__MARK_GONE) != 0) {
            unmake(m, m->list[i]);
            continue;
        }
        m->list[i]->marks = 0;
        m->list[n++] = m->list[i];
    }
    m->n = n;
}

void hf__name_settle(struct hf__name *name)
{
    settle(&name->grants);
    settle(&name->waiters);
    name->marks = 0;
}

static void forget(struct hf__participants *m)
{
    for (int i = 0; i < m->n; i++) {
        unmake(m, m->list[i]);
    }
    if (!is_few(m)) {
        hf__free(m->list);
    }
    *m = (struct hf__participants){.inline_one = m->inline_one};
}

void hf__name_fini(struct hf__name *name)
{
    forget(&name->grants);
    forget(&name->waiters);
    *name = (struct hf__name){.grants = name->grants, .waiters = name->waiters};
}

/* ---- who counts */

static bool is_in_the_way(const struct hf__participant *g)
{
    return g->state == HF__PARTICIPANT_RUNNING ||
           g->state == HF__PARTICIPANT_FOREIGN;
}

static bool is_taken(const struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        if (is_in_the_way(name->grants.list[i])) {
            return true;
        }
    }
    return false;
}

bool hf__participant_runs(const struct hf__participant *m)
{
    return m->state == HF__PARTICIPANT_RUNNING ||
           m->state == HF__PARTICIPANT_DEAD;
}

bool hf__participant_holds(const struct hf__participant *m)
{
    return hf__participant_runs(m) || m->state == HF__PARTICIPANT_FOREIGN;
}

const struct hf__participant *hf__name_first_to_end(const struct hf__name *name)
{
    const struct hf__participant *first = NULL;

    if (hf__name_is_kept(name)) {
        return NULL;
    }
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (hf__participant_holds(g) &&
            (first == NULL || g->ends_us < first->ends_us)) {
            first = g;
        }
    }
    return first;
}

bool hf__name_is_held(const struct hf__name *name)
{
    return hf__name_first_to_end(name) != NULL;
}

/* A name stays closed if a holder that has gone kept it so. */
bool hf__name_is_kept(const struct hf__name *name)
{
    return name->keep_until_us > name->now_us && !is_taken(name);
}

static bool is_of(const struct hf__participant *m, const struct hf__op *op)
{
    return hf__token_equal(&m->token, &op->token) ||
           hf__token_equal(&m->token, &op->next_token);
}

int hf__name_waiting(const struct hf__name *name, const struct hf__op *op)
{
    int n = 0;

    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        n += t->state == HF__PARTICIPANT_RUNNING && !is_of(t, op);
    }
    return n;
}

const struct hf__participant *hf__name_holder(const struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (g->lock_mode.mode == HF__MODE_EXCLUSIVE &&
            (g->marks & HF__MARK_GONE) == 0 &&
            g->state != HF__PARTICIPANT_BROKEN) {
            return g;
        }
    }
    return NULL;
}

bool hf__name_is_had_alone(const struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (is_in_the_way(g) && g->lock_mode.mode == HF__MODE_EXCLUSIVE &&
            (g->marks & HF__MARK_GONE) == 0) {
            return true;
        }
    }
    return false;
}

bool hf__name_is_awaited(const struct hf__name *name,
                         const struct hf__token *but)
{
    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        if (t->state == HF__PARTICIPANT_RUNNING &&
            (but == NULL || !hf__token_equal(&t->token, but))) {
            return true;
        }
    }
    return false;
}

bool hf__name_is_idle(const struct hf__name *name, int64_t idle_us)
{
    int64_t since_us = name->touched_us;

    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];
        int64_t over_us = name->wall_us - (name->now_us - g->ends_us);

        if (g->state == HF__PARTICIPANT_DAMAGED) {
            return false;
        }
        if (g->state == HF__PARTICIPANT_ENDED && over_us > since_us) {
            since_us = over_us;
        }
    }
    for (int i = 0; i < name->waiters.n; i++) {
        if (name->waiters.list[i]->state != HF__PARTICIPANT_ENDED) {
            return false;
        }
    }
    return !name->is_damaged && !is_taken(name) &&
           name->keep_until_us <= name->now_us &&
           name->wall_us - since_us >= idle_us &&
           name->fence < (uint64_t)name->wall_us;
}

/* ---- shown to the rule */

int hf__contenders_make(struct hf__contenders *l, const struct hf__name *name,
                        const struct hf__token *own)
{
    size_t n = (size_t)name->grants.n + (size_t)name->waiters.n;
    struct hf__contender *at = l->inline_one;

    l->more = NULL;
    if (n > sizeof l->inline_one / sizeof l->inline_one[0]) {
        l->more = hf__alloc(n * sizeof *l->more);
        at = l->more;
    }
    l->all = (struct hf__holders_waiters){.holders = at};
    if (at == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (is_in_the_way(g)) {
            *at++ = (struct hf__contender){g->token, g->lock_mode, g->slot};
            l->all.n_holders++;
        }
    }
    l->all.waiters = at;
    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        if (t->state == HF__PARTICIPANT_RUNNING ||
            (t->state == HF__PARTICIPANT_DEAD && own != NULL &&
             hf__token_equal(&t->token, own))) {
            *at++ = (struct hf__contender){t->token, t->lock_mode, -1};
            l->all.n_waiters++;
        }
    }
    return HF_OK;
}

void hf__contenders_free(struct hf__contenders *l)
{
    hf__free(l->more);
}
