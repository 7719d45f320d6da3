/* SPDX-License-Identifier: MIT */
/*
 * A map of the grants that this process holds, and the locked bytes that tell
 * other processes of them. The stores decide when grants come and go. Called by
 * every session's thread.
 */
#include "src/backend/local/held.h"

#include "src/backend/local/side.h"
#include "src/base/alloc.h"
#include "src/base/list.h"
#include "src/base/ofd.h"

#include <string.h>

struct grant {
    struct hf__map_link link;
    struct hf__token token;
    int64_t expires_us;
    bool is_unbound; /* its record no longer depends on this process */
    uint16_t key_length;
    char key[];
};

static struct grant *of_link(struct hf__map_link *l)
{
    return HF__ELEMENT(l, struct grant, link);
}

static bool has_bytes(const struct hf__held *held)
{
    return held->fd >= 0;
}

/* Find the grant of the name where names have bytes, else that of the token. */
static struct grant *find(struct hf__held *held, const struct hf__key *key,
                          const struct hf__token *token)
{
    struct hf__map_link *l =
        has_bytes(held)
            ? hf__map_find(&held->grants, key->bytes, key->length)
            : hf__map_find(&held->grants, (const char *)token->bytes,
                           sizeof token->bytes);

    return l != NULL ? of_link(l) : NULL;
}

static struct grant *find_own(struct hf__held *held, const struct hf__key *key,
                              const struct hf__token *token)
{
    struct grant *grant = find(held, key, token);

    return grant != NULL && hf__token_equal(&grant->token, token) ? grant
                                                                  : NULL;
}

static off_t byte_of(const char *key, size_t length)
{
    return (off_t)(HF__BYTE_NAMES + (hf__hash(key, length) >> 2));
}

static void drop(struct hf__held *held, struct grant *grant)
{
    if (has_bytes(held)) {
        (void)hf__ofd_lock(held->fd, F_UNLCK,
                           byte_of(grant->key, grant->key_length));
    }
    hf__map_remove(&held->grants, &grant->link);
    hf__free(grant);
}

int hf__held_init(struct hf__held *held, int fd)
{
    held->fd = fd;
    hf__mutex_init(&held->lock);
    return hf__map_init(&held->grants);
}

void hf__held_fini(struct hf__held *held)
{
    struct hf__map_link *l;

    if (held->grants.buckets == NULL) {
        return;
    }
    while ((l = hf__map_any(&held->grants)) != NULL) {
        drop(held, of_link(l));
    }
    hf__map_fini(&held->grants);
    hf__mutex_fini(&held->lock);
}

static int add_new(struct hf__held *held, const struct hf__key *key,
                   const struct hf__token *token, struct grant **ret_grant)
{
    struct grant *grant = hf__alloc(sizeof *grant + key->length);

    if (grant == NULL) {
        return HF_ENOMEM;
    }
    if (has_bytes(held) &&
        hf__ofd_lock(held->fd, F_RDLCK, byte_of(key->bytes, key->length))) {
        hf__free(grant);
        return HF_EUNAVAIL;
    }
    grant->token = *token;
    grant->key_length = key->length;
    memcpy(grant->key, key->bytes, key->length);
    if (has_bytes(held)) {
        hf__map_add(&held->grants, &grant->link, grant->key, key->length);
    } else {
        hf__map_add(&held->grants, &grant->link,
                    (const char *)grant->token.bytes,
                    sizeof grant->token.bytes);
    }
    *ret_grant = grant;
    return HF_OK;
}

int hf__held_add(struct hf__held *held, const struct hf__key *key,
                 const struct hf__token *token, int64_t expires_us,
                 bool *ret_is_new)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find(held, key, token);
    int r = HF_OK;

    *ret_is_new = grant == NULL || !hf__token_equal(&grant->token, token);
    if (grant == NULL) {
        r = add_new(held, key, token, &grant);
    }
    if (r == HF_OK) {
        grant->token = *token;
        grant->expires_us = expires_us;
    }
    return r;
}

bool hf__held_extend(struct hf__held *held, const struct hf__key *key,
                     const struct hf__token *token, int64_t expires_us)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find_own(held, key, token);

    if (grant != NULL) {
        grant->expires_us = expires_us;
    }
    return grant != NULL;
}

void hf__held_remove(struct hf__held *held, const struct hf__key *key,
                     const struct hf__token *token)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find_own(held, key, token);

    if (grant != NULL) {
        drop(held, grant);
    }
}

struct search {
    int64_t now_us;
    bool has_any;
};

static void look(void *arg, struct hf__map_link *l)
{
    struct search *search = arg;

    search->has_any |= of_link(l)->expires_us > search->now_us;
}

bool hf__held_has_any(struct hf__held *held, int64_t now_us)
{
    HF_SCOPED_LOCK(&held->lock);
    struct search search = {now_us, false};

    hf__map_each(&held->grants, look, &search);
    return search.has_any;
}

struct unbinding {
    hf__held_fn fn;
    void *arg;
    bool is_over;
};

static void unbind(void *arg, struct hf__map_link *l)
{
    struct unbinding *unbinding = arg;
    struct grant *grant = of_link(l);
    struct hf__key key = {grant->key, grant->key_length, 0};

    /* Always set: a former value may be left from a commit that failed. */
    grant->is_unbound = !unbinding->is_over &&
                        unbinding->fn(unbinding->arg, &key, &grant->token);
    unbinding->is_over |= !grant->is_unbound;
}

void hf__held_unbind(struct hf__held *held, hf__held_fn fn, void *arg)
{
    HF_SCOPED_LOCK(&held->lock);
    struct unbinding unbinding = {fn, arg, false};

    hf__map_each(&held->grants, unbind, &unbinding);
}

static void forget(void *held, struct hf__map_link *l)
{
    if (of_link(l)->is_unbound) {
        drop(held, of_link(l));
    }
}

void hf__held_forget_parted(struct hf__held *held)
{
    HF_SCOPED_LOCK(&held->lock);

    hf__map_each(&held->grants, forget, held);
}

int64_t hf__held_until(struct hf__held *held, const struct hf__key *key,
                       const struct hf__token *mine)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find(held, key, mine);

    return grant != NULL && !hf__token_equal(&grant->token, mine)
               ? grant->expires_us
               : 0;
}

bool hf__held_elsewhere(const struct hf__held *held, const struct hf__key *key)
{
    return hf__ofd_test(held->fd, F_WRLCK, byte_of(key->bytes, key->length)) !=
           0;
}
