/* SPDX-License-Identifier: MIT */
/*
 * A map from tokens to leases. When grants are added and removed is batch.c's
 * to say, when the process parts with them sqlite.c's. Called by every
 * session's thread.
 */
#include "src/backend/sqlite/held.h"

#include "src/base/alloc.h"
#include "src/base/list.h"

#include <string.h>

struct grant {
    struct hf__map_link link;
    struct hf__token token;
    int64_t expires_us;
    bool is_parted; /* its record does not count on this process any more */
    uint16_t key_length;
    char key[];
};

static struct grant *of_link(struct hf__map_link *l)
{
    return HF__ELEMENT(l, struct grant, link);
}

static struct grant *find(struct hf__held *held, const struct hf__token *token)
{
    struct hf__map_link *l = hf__map_find(
        &held->tokens, (const char *)token->bytes, sizeof token->bytes);

    return l != NULL ? of_link(l) : NULL;
}

static void drop(struct hf__held *held, struct grant *grant)
{
    hf__map_remove(&held->tokens, &grant->link);
    hf__free(grant);
}

int hf__held_init(struct hf__held *held)
{
    hf__mutex_init(&held->lock);
    return hf__map_init(&held->tokens);
}

void hf__held_fini(struct hf__held *held)
{
    struct hf__map_link *l;

    if (held->tokens.buckets == NULL) {
        return;
    }
    while ((l = hf__map_any(&held->tokens)) != NULL) {
        drop(held, of_link(l));
    }
    hf__map_fini(&held->tokens);
    hf__mutex_fini(&held->lock);
}

bool hf__held_add(struct hf__held *held, const struct hf__token *token,
                  const struct hf__key *key, int64_t expires_us,
                  bool *ret_is_new)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find(held, token);

    *ret_is_new = grant == NULL;
    if (grant == NULL) {
        grant = hf__alloc(sizeof *grant + key->length);
        if (grant == NULL) {
            return false;
        }
        grant->token = *token;
        grant->key_length = key->length;
        memcpy(grant->key, key->bytes, key->length);
        hf__map_add(&held->tokens, &grant->link,
                    (const char *)grant->token.bytes,
                    sizeof grant->token.bytes);
    }
    grant->expires_us = expires_us;
    return true;
}

void hf__held_extend(struct hf__held *held, const struct hf__token *token,
                     int64_t expires_us)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find(held, token);

    if (grant != NULL) {
        grant->expires_us = expires_us;
    }
}

void hf__held_remove(struct hf__held *held, const struct hf__token *token)
{
    HF_SCOPED_LOCK(&held->lock);
    struct grant *grant = find(held, token);

    if (grant != NULL) {
        drop(held, grant);
    }
}

struct search {
    int64_t now_us;
    bool has_any;
    struct hf__map_link *parted;
};

static void look(void *arg, struct hf__map_link *l)
{
    struct search *search = arg;

    search->has_any |= of_link(l)->expires_us > search->now_us;
    if (of_link(l)->is_parted) {
        search->parted = l;
    }
}

bool hf__held_has_any(struct hf__held *held, int64_t now_us)
{
    HF_SCOPED_LOCK(&held->lock);
    struct search search = {now_us, false, NULL};

    hf__map_each(&held->tokens, look, &search);
    return search.has_any;
}

struct parting {
    hf__held_fn fn;
    void *arg;
    bool is_over;
};

static void part(void *arg, struct hf__map_link *l)
{
    struct parting *parting = arg;
    struct grant *grant = of_link(l);
    struct hf__key key = {grant->key, grant->key_length, 0};

    /* Anew for each: it may be left from a time that was not committed. */
    grant->is_parted =
        !parting->is_over && parting->fn(parting->arg, &grant->token, &key);
    parting->is_over |= !grant->is_parted;
}

void hf__held_part(struct hf__held *held, hf__held_fn fn, void *arg)
{
    HF_SCOPED_LOCK(&held->lock);
    struct parting parting = {fn, arg, false};

    hf__map_each(&held->tokens, part, &parting);
}

void hf__held_forget_parted(struct hf__held *held)
{
    HF_SCOPED_LOCK(&held->lock);
    struct search search = {0, false, NULL};

    hf__map_each(&held->tokens, look, &search);
    while (search.parted != NULL) {
        drop(held, of_link(search.parted));
        search.parted = NULL;
        hf__map_each(&held->tokens, look, &search);
    }
}
