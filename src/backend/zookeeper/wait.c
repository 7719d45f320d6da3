/* SPDX-License-Identifier: MIT */
/*
 * wait(): a waiter lists the folder, and if it may not enter, watches only the
 * one who is in its way (queue.h says which). That the watch fired is a hint:
 * the waiter looks again, for the one that went may have been in the queue as
 * well; only if no other was before it, it tries at once. If the predecessor
 * goes between the listing and the watch, the answer that sets the watch tells.
 * If there is no room for one more watch (watch.h), the waiter looks again and
 * again.
 *
 * By the simple recipe all waiters watch the one node, and when it goes, each
 * pauses for a random moment, so that they don't all come at once. Called by
 * the backend session's thread.
 */
#include "src/backend/zookeeper/waits.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <string.h>

/* ---- its own place
 *
 * A waiter in the queue also watches its own claim: if somebody deletes it, the
 * waiter has to queue again at once, and not only when its predecessor has
 * gone. It does no harm if such a watch could not be set, for want of room or
 * of an answer: it is set at the next look. Watches on predecessors have
 * priority for room.
 */

/* Is the waiter in the queue, with no watch set on its own claim? */
static bool find_position(struct hf__zk *s, const struct hf__zk_wait *w,
                          struct hf__zk_own *own)
{
    struct hf__op op = {.key = w->request.key, .token = w->request.ticket};

    return w->is_armed && !w->has_fired &&
           !hf__token_is_zero(&w->request.ticket) &&
           (w->own_watch == NULL || !hf__zk_watch_is_set(w->own_watch)) &&
           hf__zk_own_find(hf__zk_common(&s->ref), &op, own) &&
           own->name[0] != '\0';
}

/* A claim has no children, so a watch on their list fires when the claim goes,
 * and not when it is written to. False: nothing was sent, or memory is
 * short. */
static bool ask(struct hf__zk *s, struct hf__zk_wait *w,
                struct hf__zk_calls *calls, int i)
{
    struct hf__zk_own own;
    char folder[HF__ZK_FOLDER_MAX];
    char path[HF__ZK_PATH_MAX];

    if (!find_position(s, w, &own)) {
        return false;
    }
    (void)hf__zk_name_path(s->url.chroot, &w->request.key, folder);
    hf__zk_child_path(folder, own.name, path);
    /* A watch that has fired keeps saying so. */
    hf__zk_watch_drop(w->own_watch);
    w->own_watch = hf__zk_watch_size(path) <= hf__zk_watch_spare(&s->ref)
                       ? hf__zk_watch_new(&s->ref)
                       : NULL;
    if (w->own_watch == NULL) {
        return false;
    }
    hf__zk_children(calls, i, path, w->own_watch);
    return true;
}

/* HF_BUSY: the deadline, or an interrupt; HF_ENOMEM; negative: the session is
 * over. */
static int watch_positions(struct hf__zk *s, struct hf__zk_wait *waits[], int n,
                           hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, n);
    int n_asked = 0;
    int r = HF_OK;

    if (calls == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < n; i++) {
        n_asked += ask(s, waits[i], calls, i);
    }
    r = n_asked == 0 ? r : hf__zk_await(calls, deadline, err);
    for (int i = 0; r >= 0 && n_asked > 0 && i < n; i++) {
        if (hf__zk_answer(calls, i)->rc == ZNONODE) {
            waits[i]->is_armed = false; /* it looks again */
        }
    }
    return r;
}

/* When waiting for slots, a claim before us may be told to enter, and stay
 * away; then nothing wakes the next. So a waiter looks at times by itself; one
 * further back looks less often, for its turn is later. */
#define LOOK_MS   1000
#define LOOKS_MAX 10 /* at most so many LOOK_MS */
/* Without a watch, a waiter polls, as the core does for stores that can't
 * wait. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150
/* Without memory nothing can be asked, so wait() sleeps so long. */
#define BLIND_MS 100
/* Waiters of the simple recipe pause at most so long. */
#define JITTER_MS 20

/* ---- looking */

/* Was the claim let in, and for slots, has it one, or is one free? A gone claim
 * may have left its slot behind. */
static bool can_enter(const struct hf__zk_queue *queue, int position,
                      const struct hf__zk_own *own)
{
    const struct hf__zk_claim *claim = &queue->claims[position];

    return claim->entry == HF__ENTRY_OPEN &&
           (claim->child.lock_mode.mode != HF__MODE_SLOTS ||
            own->slot_name[0] != '\0' ||
            hf__zk_queue_free_slot(queue, position) >= 0);
}

static int64_t look_ms(const struct hf__zk_queue *queue, int position)
{
    int before = position - queue->n_in;

    before = before < 1 ? 1 : before;
    return LOOK_MS * (int64_t)(before > LOOKS_MAX ? LOOKS_MAX : before);
}

/* May the waiter try, by the listing? If not, w tells what to watch. */
static bool may_try(struct hf__zk *s, struct hf__zk_wait *w,
                    const struct hf__zk_queue *queue)
{
    struct hf__op op = {.key = w->request.key, .token = w->request.ticket};
    struct hf__zk_predecessor ahead;
    struct hf__zk_own own;
    int position;

    if (!hf__zk_own_find(hf__zk_common(&s->ref), &op, &own)) {
        return true; /* it has to queue again */
    }
    position = hf__zk_queue_find(queue, own.name);
    if (position < 0 || queue->claims[position].entry == HF__ENTRY_MISFIT ||
        queue->has_lock || can_enter(queue, position, &own)) {
        if (position >= 0 && queue->claims[position].entry == HF__ENTRY_OPEN) {
            hf__zk_own_call(hf__zk_common(&s->ref), &op.token, &op.key);
        }
        return true;
    }
    ahead = hf__zk_queue_predecessor(queue, position);
    w->view = ahead.view;
    w->is_next = position == 1;
    if (ahead.who >= 0) {
        memcpy(w->ahead, queue->claims[ahead.who].name,
               strlen(queue->claims[ahead.who].name) + 1);
    }
    if (ahead.view == HF__ZK_SEE_DATA) {
        w->look_at = hf__after_ms(hf__now(), look_ms(queue, position));
    }
    return false;
}

/* The same for a waiter that is not in the queue: it may try if it could enter,
 * or the holder is not the one that it saw. */
static bool may_try_apart(struct hf__zk_wait *w,
                          const struct hf__zk_queue *queue)
{
    enum hf__entry entry = hf__zk_queue_would(queue, w->request.lock_mode);
    const struct hf__zk_claim *first = queue->claims;

    w->view = HF__ZK_SEE_ALL;
    if (queue->has_lock) {
        w->view = HF__ZK_SEE_NODE;
        memcpy(w->ahead, HF__ZK_LOCK_NAME, sizeof HF__ZK_LOCK_NAME);
        return false;
    }
    if (entry == HF__ENTRY_OPEN || entry == HF__ENTRY_MISFIT) {
        return true;
    }
    return queue->n_in > 0 && !hf__token_is_zero(&w->request.token) &&
           first->child.lock_mode.mode != HF__MODE_SLOTS &&
           !hf__token_equal(&first->child.token, &w->request.token);
}

/* HF_OK, or HF_ENOMEM. */
static int judge(struct hf__zk *s, struct hf__zk_wait *w,
                 const struct hf__zk_answer *a)
{
    HF_AUTO(hf__zk_queue_fini) struct hf__zk_queue queue = {0};
    bool has_ticket = !hf__token_is_zero(&w->request.ticket);

    if (hf__zk_is_short(a->rc)) {
        return HF_ENOMEM;
    }
    w->look_at = HF__NEVER;
    w->is_seen = a->rc == ZOK || a->rc == ZNONODE;
    if (!w->is_seen) {
        /* If the answer is unknown, the waiter looks again; if it is refused,
         * the caller tries, and is told why. */
        w->has_fired = !hf__zk_is_unknown(a->rc);
        return HF_OK;
    }
    if (hf__zk_queue_read(&queue, a->names.list, a->rc == ZOK ? a->names.n : 0,
                          hf__zk_next_sequence(a->stat.cversion,
                                               a->stat.numChildren)) != HF_OK) {
        return HF_ENOMEM;
    }
    w->has_fired =
        has_ticket ? may_try(s, w, &queue) : may_try_apart(w, &queue);
    return HF_OK;
}

/* ---- one round for all that have to look */

static bool has_lost_position(const struct hf__zk_wait *w)
{
    return w->own_watch != NULL && hf__zk_watch_has_fired(w->own_watch);
}

/* A wait without a watch has no news. */
static bool has_news(const struct hf__zk_wait *w)
{
    return w->watch != NULL && hf__zk_watch_has_fired(w->watch);
}

static bool has_to_look(const struct hf__zk_wait *w, hf__time now)
{
    return !w->has_fired &&
           (!w->is_armed || has_news(w) || has_lost_position(w) ||
            !hf__before(now, w->look_at));
}

static bool must_look(const struct hf__zk_waits *p, hf__time now)
{
    for (int i = 0; i < p->n_wanted; i++) {
        if (has_to_look(p->list[i], now)) {
            return true;
        }
    }
    return false;
}

static void folder_of(const struct hf__zk *s, const struct hf__zk_wait *w,
                      char to[HF__ZK_FOLDER_MAX])
{
    (void)hf__zk_name_path(s->url.chroot, &w->request.key, to);
}

/* The path to watch. A claim has no children: a watch on their list fires when
 * the claim goes, and not when it says that it has entered. */
static void sight_of(const struct hf__zk *s, const struct hf__zk_wait *w,
                     char to[HF__ZK_PATH_MAX])
{
    char folder[HF__ZK_FOLDER_MAX];

    folder_of(s, w, folder);
    if (w->view == HF__ZK_SEE_ALL) {
        memcpy(to, folder, strlen(folder) + 1);
    } else {
        hf__zk_child_path(folder, w->ahead, to);
    }
}

/* Sends the request that sets the watch, unless it is surely set on that path.
 * A watch on another path, or one that is perhaps set, is replaced. HF_OK or
 * HF_ENOMEM. */
static int ask_watch(struct hf__zk *s, struct hf__zk_wait *w,
                     struct hf__zk_calls *calls, int i)
{
    bool is_list = w->view != HF__ZK_SEE_DATA;
    char path[HF__ZK_PATH_MAX];

    sight_of(s, w, path);
    if (w->watch != NULL && hf__zk_watch_is_on(w->watch, path, is_list)) {
        w->is_armed = true;
        return HF_OK;
    }
    if (w->watch == NULL || hf__zk_watch_is_set(w->watch)) {
        hf__zk_watch_drop(w->watch);
        w->watch = hf__zk_watch_new(&s->ref);
    }
    if (w->watch == NULL) {
        return HF_ENOMEM;
    }
    if (is_list) {
        hf__zk_children(calls, i, path, w->watch);
    } else {
        hf__zk_get(calls, i, path, w->watch);
    }
    return HF_OK;
}

/* Takes the answer of the request that sets the watch: the one to watch may
 * have gone since the listing, or "lock" may be another now. */
static void take_watch(struct hf__zk *s, struct hf__zk_wait *w,
                       const struct hf__zk_answer *a, int *r)
{
    bool is_simple = s->url.recipe == HF__ZK_SIMPLE;

    w->is_armed = a->rc == ZOK;
    if (hf__zk_is_short(a->rc)) {
        *r = HF_ENOMEM;
    } else if (w->is_armed && w->view == HF__ZK_SEE_ALL) {
        *r = judge(s, w, a);
    } else if (w->is_armed && is_simple && w->request.fence != 0) {
        w->has_fired = (uint64_t)a->stat.czxid != w->request.fence;
    } else if (a->rc != ZNONODE && !hf__zk_is_unknown(a->rc)) {
        w->has_fired = !w->is_armed; /* the server refuses it */
    }
    if (w->is_armed && !has_news(w) && !hf__zk_watch_is_set(w->watch)) {
        int64_t ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);

        w->look_at = hf__earlier(w->look_at, hf__after_ms(hf__now(), ms));
    }
}

static int list_all(struct hf__zk *s, struct hf__zk_wait *lookers[], int n,
                    hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, n);
    char folder[HF__ZK_FOLDER_MAX];
    int r;

    if (calls == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < n; i++) {
        folder_of(s, lookers[i], folder);
        hf__zk_children(calls, i, folder, NULL);
    }
    r = hf__zk_await(calls, deadline, err);
    for (int i = 0; r >= 0 && i < n; i++) {
        lookers[i]->is_armed = false;
        if (judge(s, lookers[i], hf__zk_answer(calls, i)) != HF_OK) {
            return HF_ENOMEM;
        }
    }
    return r;
}

/* Set watches for the waits that the listing did not let try. */
static int watch_all(struct hf__zk *s, struct hf__zk_wait *lookers[], int n,
                     hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, n);
    int r = HF_OK;

    if (calls == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        if (!lookers[i]->has_fired && lookers[i]->is_seen) {
            r = ask_watch(s, lookers[i], calls, i);
        }
    }
    r = r == HF_OK ? hf__zk_await(calls, deadline, err) : r;
    for (int i = 0; r >= 0 && i < n; i++) {
        const struct hf__zk_answer *a = hf__zk_answer(calls, i);
        int judged = HF_OK;

        if (a->was_sent) {
            take_watch(s, lookers[i], a, &judged);
        }
        r = judged == HF_OK ? r : judged;
    }
    return r;
}

/* ---- waiting */

/* The only claim before the waiter has gone: it need not look first. */
static void fire_next(struct hf__zk *s)
{
    struct hf__zk_waits *p = s->waits;

    for (int i = 0; i < p->n_wanted; i++) {
        struct hf__zk_wait *w = p->list[i];

        if (w->is_armed && w->is_next && w->view == HF__ZK_SEE_NODE &&
            hf__zk_watch_has_fired(w->watch)) {
            hf__zk_own_call(hf__zk_common(&s->ref), &w->request.ticket,
                            &w->request.key);
            w->has_fired = true;
            w->is_armed = false;
        }
    }
}

static bool has_any_fired(const struct hf__zk_waits *p)
{
    for (int i = 0; i < p->n_wanted; i++) {
        if (p->list[i]->has_fired) {
            return true;
        }
    }
    return false;
}

static hf__time next_look(const struct hf__zk_waits *p, hf__time deadline)
{
    for (int i = 0; i < p->n_wanted; i++) {
        deadline = hf__earlier(deadline, p->list[i]->look_at);
    }
    return deadline;
}

/* Watches may fire at any time, so there is room for all waits, and they are
 * not counted first. Returns how many have to look. */
static int find_lookers(const struct hf__zk_waits *p, hf__time now,
                        struct hf__zk_wait **ret_lookers)
{
    int n = 0;

    for (int i = 0; i < p->n_wanted; i++) {
        if (has_to_look(p->list[i], now)) {
            ret_lookers[n++] = p->list[i];
        }
    }
    return n;
}

/* HF_OK; HF_BUSY: time is up; HF_ENOMEM; negative: the session is over. */
static int look(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    struct hf__zk_waits *p = s->waits;
    hf__time now = hf__now();
    struct hf__zk_wait **lookers;
    int n;
    int r;

    if (!must_look(p, now)) {
        return HF_OK;
    }
    r = hf__zk_ready(&s->ref, deadline, err);
    if (r != HF_OK) {
        return r;
    }
    lookers = hf__alloc((size_t)p->n_wanted * sizeof *lookers);
    if (lookers == NULL) {
        return HF_ENOMEM;
    }
    n = find_lookers(p, now, lookers);
    r = list_all(s, lookers, n, deadline, err);
    if (r == HF_OK) {
        r = watch_all(s, lookers, n, deadline, err);
    }
    if (r == HF_OK) {
        r = watch_positions(s, lookers, n, deadline, err);
    }
    hf__free(lookers);
    return r;
}

static int wait_for_news(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    struct hf__zk_waits *p = s->waits;
    bool has_slept = false;
    int r = HF_OK;

    while (r == HF_OK) {
        unsigned seen = hf__parker_seen(&s->ref.parker);

        fire_next(s);
        r = has_any_fired(p) ? (int)HF_OK : look(s, deadline, err);
        if (has_any_fired(p) || hf__is_interrupted(&s->head) ||
            !hf__before(hf__now(), deadline)) {
            break;
        }
        if (r == HF_OK && !must_look(p, hf__now())) {
            hf__park(&s->ref.parker, seen, next_look(p, deadline));
            has_slept = true;
            r = hf__zk_is_over(&s->ref, err);
        }
    }
    if (has_slept && has_any_fired(p) && s->url.recipe == HF__ZK_SIMPLE) {
        hf__zk_pause(s,
                     hf__after_ms(hf__now(), hf__random_between(0, JITTER_MS)));
    }
    return r == HF_BUSY ? (int)HF_OK : r;
}

/* Sleep, and tell that nothing fired: the core calls again. */
static int sleep_blindly(struct hf__zk *s, hf__time deadline)
{
    hf__time until = hf__earlier(deadline, hf__after_ms(hf__now(), BLIND_MS));
    unsigned seen = hf__parker_seen(&s->ref.parker);

    if (!hf__is_interrupted(&s->head)) {
        hf__park(&s->ref.parker, seen, until);
    }
    return HF_OK;
}

int hf__zk_wait(void *state, struct hf__watch *requests[], int n,
                hf__time deadline, hf_error *err)
{
    struct hf__zk *s = state;
    int r;

    if (hf__zk_waits_of(s) == NULL) {
        return sleep_blindly(s, deadline);
    }
    r = hf__zk_waits_take(s, requests, n);
    r = r == HF_OK ? wait_for_news(s, deadline, err) : r;
    if (r == HF_ENOMEM && !has_any_fired(s->waits)) {
        return sleep_blindly(s, deadline);
    }
    hf__zk_waits_tell(s->waits, requests, n);
    return r == HF_ENOMEM ? (int)HF_OK : r;
}
