/* SPDX-License-Identifier: MIT */
/*
 * listen(): each grant's own node is watched; when it goes and this client did
 * not delete it, somebody has broken the grant.
 *
 * Grants that are soon released are not worth a watch: the first new grant
 * wakes the listener, which lets a moment pass, and then watches the grants
 * that are as old as that; the server forgets a watch with its node. A session
 * has limited room for watches (watch.h): grants beyond that have none until
 * others are released, and only their renewal finds that they were broken. When
 * the session itself is over, all its grants are told of. The listener also
 * keeps up the evidence that the session lives (evidence.c). Called by the
 * backend session's thread.
 */
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/zookeeper.h"
#include "src/base/alloc.h"

#include <string.h>

/* A claim is watched when it was granted so long ago; an earlier break is found
 * when the watch is set. */
#define AGE_MS 20
/* One look sets at most so many watches, so that a renewal has its turn behind
 * them. */
#define TOGETHER 256

#define PULSES_PER_T 32
#define SIGNS_PER_T  16 /* for a server that stands alone */

/* One grant of ours that is watched. */
struct guard {
    struct hf__token token;
    struct hf__key key; /* its bytes are in `bytes` */
    char bytes[HF__KEY_MAX];
    char name[HF__ZK_CHILD_MAX];
    uint64_t fence;
    struct hf__zk_watch *watch;
    bool is_armed;
};

struct hf__zk_listened {
    struct guard **list;
    int n;
    int room;
};

/* Where to tell breaks, and the results of a look. */
struct hearing {
    hf__broken_fn fn;
    void *arg;
    bool has_told;
    bool has_more;  /* more grants may be waiting for a look */
    bool has_young; /* some grants are still younger than AGE_MS */
};

/* ---- which grants are watched */

/* The argument of take(). */
struct taking {
    struct hf__zk *s;
    size_t spare; /* room for optional watches, in bytes */
    int n;
    bool has_young; /* some grant is still younger than AGE_MS */
};

static void path_of(const struct hf__zk *s, const struct hf__key *key,
                    const char *name, char to[HF__ZK_PATH_MAX])
{
    char folder[HF__ZK_FOLDER_MAX];

    (void)hf__zk_name_path(s->url.chroot, key, folder);
    hf__zk_child_path(folder, name, to);
}

static void guard_free(struct guard *g)
{
    hf__zk_watch_drop(g->watch);
    hf__free(g);
}

/* False: out of memory. */
static bool add(struct hf__zk_listened *p, struct guard *g)
{
    int more = p->room == 0 ? 8 : 2 * p->room;

    if (p->n == p->room) {
        struct guard **grown =
            hf__resize(p->list, (size_t)more * sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        p->list = grown;
        p->room = more;
    }
    p->list[p->n++] = g;
    return true;
}

/* The grants' mutex is held. Without memory the grant is taken later. */
static bool take(void *arg, const struct hf__token *token,
                 const struct hf__key *key, const struct hf__zk_own *own)
{
    struct taking *t = arg;
    char path[HF__ZK_PATH_MAX];
    struct guard *g = NULL;

    if (hf__before(hf__now(), hf__after_ms(own->since, AGE_MS))) {
        t->has_young = true;
        return false;
    }
    path_of(t->s, key, own->name, path);
    if (t->n == TOGETHER || hf__zk_watch_size(path) > t->spare) {
        return false;
    }
    g = hf__alloc(sizeof *g);
    if (g == NULL || !add(t->s->listened, g)) {
        hf__free(g);
        return false;
    }
    g->token = *token;
    g->key = *key;
    memcpy(g->bytes, key->bytes, key->length);
    g->key.bytes = g->bytes;
    memcpy(g->name, own->name, sizeof g->name);
    g->fence = own->fence;
    t->spare -= hf__zk_watch_size(path);
    t->n++;
    return true;
}

static bool is_granted(struct hf__zk *s, const struct guard *g)
{
    return hf__zk_own_is_granted(hf__zk_common(&s->ref), &g->token, &g->key);
}

/* Drop the guards of grants that were released. */
static void part(struct hf__zk *s)
{
    struct hf__zk_listened *p = s->listened;
    int kept = 0;

    for (int i = 0; i < p->n; i++) {
        if (is_granted(s, p->list[i])) {
            p->list[kept++] = p->list[i];
        } else {
            guard_free(p->list[i]);
        }
    }
    p->n = kept;
}

/* Take the new grants, as far as there is room. */
static void take_news(struct hf__zk *s, struct hearing *h)
{
    struct taking t = {.s = s, .spare = hf__zk_watch_spare(&s->ref)};

    hf__zk_own_take(hf__zk_common(&s->ref), take, &t);
    h->has_more = t.n == TOGETHER;
    h->has_young = t.has_young;
}

/* The next listener of this ZooKeeper session takes the grants. */
void hf__zk_listen_fini(struct hf__zk *s)
{
    struct hf__zk_listened *p = s->listened;

    if (p == NULL) {
        return;
    }
    for (int i = 0; i < p->n; i++) {
        hf__zk_own_untake(hf__zk_common(&s->ref), &p->list[i]->token,
                          &p->list[i]->key);
        guard_free(p->list[i]);
    }
    hf__free(p->list);
    hf__free(p);
    s->listened = NULL;
}

/* ---- one look at those whose watch has fired, or is to be set */

static bool has_to_look(const struct guard *g)
{
    return !g->is_armed || hf__zk_watch_has_fired(g->watch);
}

static int find_lookers(const struct hf__zk_listened *p,
                        struct guard *lookers[TOGETHER])
{
    int n = 0;

    for (int i = 0; i < p->n && n < TOGETHER; i++) {
        if (has_to_look(p->list[i])) {
            lookers[n++] = p->list[i];
        }
    }
    return n;
}

/* HF_OK or HF_ENOMEM. */
static int ask(struct hf__zk *s, struct guard *g, struct hf__zk_calls *calls,
               int i)
{
    char path[HF__ZK_PATH_MAX];

    if (g->watch == NULL || hf__zk_watch_is_set(g->watch)) {
        hf__zk_watch_drop(g->watch);
        g->watch = hf__zk_watch_new(&s->ref);
    }
    if (g->watch == NULL) {
        return HF_ENOMEM;
    }
    g->is_armed = false;
    path_of(s, &g->key, g->name, path);
    hf__zk_children(calls, i, path, g->watch);
    return HF_OK;
}

/* A break is told once: its node is not looked at again until the grant is
 * released. A node that we may not read is not looked at again either. */
static void take_answer(struct hf__zk *s, struct guard *g,
                        const struct hf__zk_answer *a, struct hearing *h)
{
    /* The simple recipe's "lock" may be another's by now. */
    bool is_others = a->rc == ZOK && strcmp(g->name, HF__ZK_LOCK_NAME) == 0 &&
                     (uint64_t)a->stat.czxid != g->fence;

    g->is_armed = !hf__zk_is_unknown(a->rc);
    if ((a->rc == ZNONODE || is_others) && is_granted(s, g)) {
        h->fn(h->arg, hf__token_tag(&g->token));
        h->has_told = true;
    }
}

/* HF_OK; HF_BUSY: time is up; HF_ENOMEM; negative: the session is over. */
static int look(struct hf__zk *s, struct hearing *h, hf__time deadline,
                hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto) struct hf__zk_calls *calls = NULL;
    struct guard *lookers[TOGETHER];
    int n = find_lookers(s->listened, lookers);
    int r = n == 0 ? (int)HF_OK : hf__zk_ready(&s->ref, deadline, err);

    if (n == 0 || r != HF_OK) {
        return r;
    }
    h->has_more |= n == TOGETHER;
    calls = hf__zk_calls_new(&s->ref, n);
    if (calls == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        r = ask(s, lookers[i], calls, i);
    }
    r = r == HF_OK ? hf__zk_await(calls, deadline, err) : r;
    for (int i = 0; i < n && r >= 0; i++) {
        take_answer(s, lookers[i], hf__zk_answer(calls, i), h);
    }
    return r;
}

/* ---- listening */

static struct hf__zk_listened *listened_of(struct hf__zk *s)
{
    if (s->listened == NULL) {
        s->listened = hf__alloc(sizeof *s->listened);
    }
    return s->listened;
}

/* ---- so that there is evidence */

/* False: out of memory, nothing was sent. */
static bool ask_for_life(struct hf__zk_ref *f)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(f, 1);

    if (calls == NULL) {
        return false;
    }
    hf__zk_exists(calls, 0, "/", NULL); /* the answer is noted as evidence */
    return hf__zk_answer(calls, 0)->was_sent;
}

/* Returns when to call it again; HF__NEVER: at the session's next event. */
static hf__time keepalive(struct hf__zk *s)
{
    struct hf__zk_ref *f = &s->ref;
    int64_t t_ns = (int64_t)hf__zk_timeout_ms(f) * HF__MS;
    int64_t apart_ns = t_ns / (s->is_alone ? SIGNS_PER_T : PULSES_PER_T);
    unsigned connection = hf__zk_connection(f);
    bool is_pending = s->keepalive.connection == connection &&
                      hf__before(hf__zk_heard_at(f), s->keepalive.sent);
    hf__time last = s->is_alone
                        ? hf__later(s->keepalive.sent, hf__zk_heard_at(f))
                        : s->keepalive.sent;
    hf__time due = hf__after_ns(last, apart_ns);

    if (!hf__zk_is_connected(f)) {
        return hf__zk_mind_silence(f, s->keepalive.sent);
    }
    if (is_pending) {
        return hf__earlier(hf__zk_mind_silence(f, s->keepalive.sent),
                           hf__after_ns(hf__now(), apart_ns));
    }
    if (hf__before(hf__now(), due)) {
        return due;
    }
    hf__time now = hf__now();
    if (ask_for_life(f)) {
        s->keepalive.connection = connection;
        s->keepalive.sent = now;
    }
    return hf__after_ns(now, apart_ns);
}

static void doze(struct hf__zk *s, unsigned seen, hf__time until)
{
    struct hf__parker *parker = &s->ref.parker;

    while (hf__parker_seen(parker) == seen && hf__before(hf__now(), until) &&
           !hf__is_interrupted(&s->head)) {
        hf__park(parker, seen, hf__earlier(keepalive(s), until));
    }
}

/* ---- */

/* Look once at all grants, and sleep until there is a new one, or a watch has
 * fired. Returns as look() does. */
static int look_and_sleep(struct hf__zk *s, hf__broken_fn fn, void *arg,
                          hf__time deadline, hf_error *err)
{
    struct hf__zk_common *common = hf__zk_common(&s->ref);
    unsigned seen = hf__parker_seen(&s->ref.parker);
    struct hearing h = {.fn = fn, .arg = arg};
    int r = HF_ENOMEM;

    if (hf__zk_own_tell(common, &s->ref.parker)) {
        hf__zk_pause(s, hf__earlier(deadline, hf__after_ms(hf__now(), AGE_MS)));
        seen = hf__parker_seen(&s->ref.parker);
        (void)hf__zk_own_tell(common, &s->ref.parker);
    }
    if (listened_of(s) != NULL) {
        part(s);
        take_news(s, &h);
        r = look(s, &h, deadline, err);
    }
    if (h.has_told || (r < 0 && r != HF_ENOMEM)) {
        return h.has_told ? (int)HF_BUSY : r;
    }
    if (!(h.has_more && r == HF_OK) && !hf__is_interrupted(&s->head)) {
        doze(s, seen,
             r == HF_OK && !h.has_young
                 ? deadline
                 : hf__earlier(deadline, hf__after_ms(hf__now(), AGE_MS)));
    }
    return hf__zk_is_over(&s->ref, err);
}

struct tags {
    uint64_t *list;
    int n;
    int room;
};

/* The grants' mutex is held. Without memory the loss is found by the grant's
 * next renewal. */
static void note_tag(void *arg, const struct hf__token *token,
                     const struct hf__key *key, const struct hf__zk_own *own)
{
    struct tags *tags = arg;

    (void)key;
    (void)own;
    if (tags->n == tags->room) {
        int more = tags->room == 0 ? 64 : 2 * tags->room;
        uint64_t *grown = hf__resize(tags->list, (size_t)more * sizeof *grown);

        if (grown == NULL) {
            return;
        }
        tags->list = grown;
        tags->room = more;
    }
    tags->list[tags->n++] = hf__token_tag(token);
}

/* The session is over: tell that all its grants are lost. */
static void tell_all(struct hf__zk *s, hf__broken_fn fn, void *arg)
{
    struct tags tags = {.list = NULL};

    hf__zk_own_each(hf__zk_common(&s->ref), note_tag, &tags);
    for (int i = 0; i < tags.n; i++) {
        fn(arg, tags.list[i]);
    }
    hf__free(tags.list);
    hf__zk_leave_session(s);
}

int hf__zk_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err)
{
    struct hf__zk *s = state;
    int r = HF_OK;

    while (r == HF_OK && !hf__is_interrupted(&s->head) &&
           hf__before(hf__now(), deadline)) {
        r = look_and_sleep(s, fn, arg, deadline, err);
    }
    (void)hf__zk_own_tell(hf__zk_common(&s->ref), NULL);
    if (r < 0) {
        tell_all(s, fn, arg);
    }
    return r < 0 ? r : (int)HF_OK;
}
