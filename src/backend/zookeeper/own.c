/* SPDX-License-Identifier: MIT */
/*
 * The claims of a ZooKeeper session, by name and token, under a mutex of its
 * own: the backend sessions of a client that share it make, renew and release
 * each other's claims. These functions send nothing.
 *
 * The second part ends the grants of a session that is over, for the server or
 * for us. Their renewals tell of the loss without a server, for the next
 * session has none of these grants, and this one's may end sooner than their
 * leases say. Everything else is asked in the next session. If the server does
 * not know that the session is over, we leave it to time out once nobody relies
 * on its grants, for an idle reference would keep it alive. Thread: any; the
 * second part: the backend sessions' threads.
 */
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/zookeeper.h"
#include "src/base/alloc.h"

#include <string.h>

#define KEY_MAX (sizeof(struct hf__token) + HF__KEY_MAX)

struct entry {
    struct hf__map_link link;
    struct hf__link in_news;
    struct hf__zk_own own;
    struct hf__token token;
    struct hf__key key; /* its bytes are in `bytes`, after the token */
    char bytes[KEY_MAX];
};

static size_t write_key(char to[KEY_MAX], const struct hf__token *token,
                        const struct hf__key *key)
{
    memcpy(to, token->bytes, sizeof token->bytes);
    memcpy(to + sizeof token->bytes, key->bytes, key->length);
    return sizeof token->bytes + key->length;
}

/* The mutex is held. */
static struct entry *find(struct hf__zk_common *common,
                          const struct hf__token *token,
                          const struct hf__key *key)
{
    char bytes[KEY_MAX];
    size_t length = write_key(bytes, token, key);
    struct hf__map_link *link = hf__map_find(&common->nodes, bytes, length);

    return link == NULL ? NULL : HF__ELEMENT(link, struct entry, link);
}

/* Add the entry to the news if it is granted, else remove it. The mutex is
 * held. */
static void note_grant(struct hf__zk_common *common, struct entry *e)
{
    hf__list_remove(&e->in_news);
    if (e->own.stage == HF__ZK_GRANTED) {
        hf__list_push(&common->news, &e->in_news);
    }
}

static void drop(struct hf__map_link *link)
{
    hf__free(HF__ELEMENT(link, struct entry, link));
}

bool hf__zk_own_find(struct hf__zk_common *common, const struct hf__op *op,
                     struct hf__zk_own *ret_own)
{
    HF_SCOPED_LOCK(&common->mutex);
    const struct entry *e = find(common, &op->token, &op->key);

    if (e != NULL) {
        *ret_own = e->own;
    }
    return e != NULL;
}

int hf__zk_own_add(struct hf__zk_common *common, const struct hf__op *op,
                   const struct hf__zk_own *own)
{
    struct entry *e = hf__alloc(sizeof *e);
    size_t length;

    if (e == NULL) {
        return HF_ENOMEM;
    }
    hf__list_init(&e->in_news);
    e->own = *own;
    e->token = op->token;
    e->key = op->key;
    length = write_key(e->bytes, &op->token, &op->key);
    e->key.bytes = e->bytes + sizeof e->token.bytes;
    HF_SCOPED_LOCK(&common->mutex);
    HF_ASSERT(find(common, &op->token, &op->key) == NULL);
    HF_ASSERT(own->stage != HF__ZK_GRANTED);
    common->drop = drop;
    hf__map_add(&common->nodes, &e->link, e->bytes, length);
    note_grant(common, e);
    return HF_OK;
}

void hf__zk_own_set(struct hf__zk_common *common, const struct hf__op *op,
                    const struct hf__zk_own *own)
{
    HF_SCOPED_LOCK(&common->mutex);
    struct entry *e = find(common, &op->token, &op->key);

    if (e == NULL) {
        return;
    }
    bool was_granted = e->own.stage == HF__ZK_GRANTED;
    bool is_granted = own->stage == HF__ZK_GRANTED;

    if (common->listener != NULL && is_granted && !was_granted) {
        hf__unpark(common->listener);
        common->listener = NULL;
    }
    common->n_granted += own->stage == HF__ZK_GRANTED;
    common->n_granted -= e->own.stage == HF__ZK_GRANTED;
    e->own = *own;
    if (is_granted != was_granted) {
        note_grant(common, e);
    }
}

bool hf__zk_own_tell(struct hf__zk_common *common, struct hf__parker *parker)
{
    HF_SCOPED_LOCK(&common->mutex);
    bool was_told = common->listener == NULL;

    common->listener = parker;
    return was_told;
}

/* The mutex is held. A renewal and a release may be under way together: then
 * the renewal does not know which of them deleted the claim, ours or
 * another's. */
static void note_loss(struct hf__zk_common *common, const struct entry *e,
                      const struct hf__op *op)
{
    if (op->ret_reason == HF_REASON_BROKEN && op->kind != HF__OP_ACQUIRE &&
        (op->kind == HF__OP_RELEASE || !e->own.is_leaving)) {
        common->broken[common->n_broken++ % HF__ZK_BROKEN] = e->token;
    }
}

bool hf__zk_own_was_broken(struct hf__zk_common *common,
                           const struct hf__token *token)
{
    HF_SCOPED_LOCK(&common->mutex);
    bool was = false;

    for (unsigned i = 0; i < HF__ZK_BROKEN && i < common->n_broken; i++) {
        was |= hf__token_equal(&common->broken[i], token);
    }
    return was;
}

void hf__zk_own_forget(struct hf__zk_common *common, const struct hf__op *op)
{
    HF_SCOPED_LOCK(&common->mutex);
    struct entry *e = find(common, &op->token, &op->key);

    if (e != NULL) {
        note_loss(common, e, op);
        common->n_granted -= e->own.stage == HF__ZK_GRANTED;
        hf__list_remove(&e->in_news);
        hf__map_remove(&common->nodes, &e->link);
        hf__free(e);
    }
}

void hf__zk_own_call(struct hf__zk_common *common,
                     const struct hf__token *token, const struct hf__key *key)
{
    HF_SCOPED_LOCK(&common->mutex);
    struct entry *e = find(common, token, key);

    if (e != NULL && e->own.stage == HF__ZK_QUEUED) {
        e->own.is_called = true;
    }
}

struct walk {
    hf__zk_own_fn fn;
    void *arg;
};

static void visit(void *arg, struct hf__map_link *link)
{
    const struct entry *e = HF__ELEMENT(link, struct entry, link);
    const struct walk *walk = arg;

    if (e->own.stage == HF__ZK_GRANTED) {
        walk->fn(walk->arg, &e->token, &e->key, &e->own);
    }
}

void hf__zk_own_each(struct hf__zk_common *common, hf__zk_own_fn fn, void *arg)
{
    struct walk walk = {fn, arg};

    HF_SCOPED_LOCK(&common->mutex);
    hf__map_each(&common->nodes, visit, &walk);
}

void hf__zk_own_take(struct hf__zk_common *common, hf__zk_take_fn fn, void *arg)
{
    HF_SCOPED_LOCK(&common->mutex);

    HF__LIST_EACH (link, &common->news) {
        struct entry *e = HF__ELEMENT(link, struct entry, in_news);

        if (!fn(arg, &e->token, &e->key, &e->own)) {
            return;
        }
        hf__list_remove(&e->in_news);
    }
}

void hf__zk_own_untake(struct hf__zk_common *common,
                       const struct hf__token *token, const struct hf__key *key)
{
    HF_SCOPED_LOCK(&common->mutex);
    struct entry *e = find(common, token, key);

    if (e != NULL) {
        note_grant(common, e);
    }
}

bool hf__zk_own_is_granted(struct hf__zk_common *common,
                           const struct hf__token *token,
                           const struct hf__key *key)
{
    HF_SCOPED_LOCK(&common->mutex);
    const struct entry *e = find(common, token, key);

    return e != NULL && e->own.stage == HF__ZK_GRANTED && !e->own.is_leaving;
}

/* ---- the session is over */

bool hf__zk_is_renewal(const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RAISE;
}

static void count_believed(void *arg, const struct hf__token *token,
                           const struct hf__key *key,
                           const struct hf__zk_own *own)
{
    int *n = arg;

    (void)token;
    (void)key;
    *n += own->is_leaving ? 0 : 1;
}

void hf__zk_leave_session(struct hf__zk *s)
{
    int n = 0;

    hf__zk_own_each(hf__zk_common(&s->ref), count_believed, &n);
    if (n == 0) {
        hf__zk_abandon(&s->ref);
    }
}

/* Mark the entry as leaving, so nobody relies on it from now on. True: it was
 * granted. */
static bool end_grant(struct hf__zk *s, const struct hf__op *op)
{
    struct hf__zk_common *common = hf__zk_common(&s->ref);
    struct hf__zk_own own;

    if (!hf__zk_own_find(common, op, &own)) {
        return false;
    }
    own.is_leaving = true;
    hf__zk_own_set(common, op, &own);
    return own.stage == HF__ZK_GRANTED;
}

void hf__zk_end_grants(struct hf__zk *s, struct hf__op *ops[], int n)
{
    for (int i = 0; i < n; i++) {
        struct hf__op *op = ops[i];

        if (op->kind == HF__OP_RELEASE ||
            (op->kind == HF__OP_ACQUIRE && op->result != HF_OK)) {
            (void)end_grant(s, op); /* nobody was told of the grant, or it was
                                       to be released */
        } else if (hf__zk_is_renewal(op) && op->result != HF_OK &&
                   op->result != HF_LOST && end_grant(s, op)) {
            op->result = HF_LOST;
            op->ret_reason = HF_REASON_SESSION;
        }
    }
    hf__zk_leave_session(s);
}
