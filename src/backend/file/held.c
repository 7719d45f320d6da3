/* SPDX-License-Identifier: MIT */
/*
 * A map from names to the tokens that hold them, and the bytes that tell
 * other processes. When names come and go is write.c's to say. Called by
 * every session's thread.
 */
#include "src/backend/file/held.h"

#include "src/backend/file/side.h"
#include "src/base/alloc.h"
#include "src/base/list.h"
#include "src/base/ofd.h"

#include <string.h>

struct name {
    struct hf__map_link link;
    struct hf__token token;
    int64_t expires_us;
    char key[];
};

static struct name *of_link(struct hf__map_link *l)
{
    return HF__ELEMENT(l, struct name, link);
}

static struct name *find(struct hf__file_held *held, const struct hf__key *key)
{
    struct hf__map_link *l =
        hf__map_find(&held->names, key->bytes, key->length);

    return l != NULL ? of_link(l) : NULL;
}

static off_t byte_of(const struct hf__key *key)
{
    return (off_t)(HF__BYTE_NAMES + (hf__hash(key->bytes, key->length) >> 2));
}

int hf__file_held_init(struct hf__file_held *held)
{
    hf__mutex_init(&held->lock);
    return hf__map_init(&held->names);
}

void hf__file_held_fini(struct hf__file_held *held)
{
    struct hf__map_link *l;

    if (held->names.buckets == NULL) {
        return;
    }
    while ((l = hf__map_any(&held->names)) != NULL) {
        hf__map_remove(&held->names, l);
        hf__free(of_link(l));
    }
    hf__map_fini(&held->names);
    hf__mutex_fini(&held->lock);
}

static int add_new(struct hf__file_held *held, const struct hf__key *key,
                   struct name **ret_name)
{
    struct name *name = hf__alloc(sizeof *name + key->length);

    if (name == NULL) {
        return HF_ENOMEM;
    }
    if (hf__ofd_lock(held->fd, F_RDLCK, byte_of(key))) {
        hf__free(name);
        return HF_EUNAVAIL;
    }
    memcpy(name->key, key->bytes, key->length);
    hf__map_add(&held->names, &name->link, name->key, key->length);
    *ret_name = name;
    return HF_OK;
}

int hf__file_held_add(struct hf__file_held *held, const struct hf__key *key,
                      const struct hf__token *token, int64_t expires_us,
                      bool *ret_is_new)
{
    HF_SCOPED_LOCK(&held->lock);
    struct name *name = find(held, key);
    int r = name != NULL ? HF_OK : add_new(held, key, &name);

    if (r == HF_OK) {
        *ret_is_new = !hf__token_equal(&name->token, token);
        name->token = *token;
        name->expires_us = expires_us;
    }
    return r;
}

bool hf__file_held_extend(struct hf__file_held *held, const struct hf__key *key,
                          const struct hf__token *token, int64_t expires_us)
{
    HF_SCOPED_LOCK(&held->lock);
    struct name *name = find(held, key);
    bool is_ours = name != NULL && hf__token_equal(&name->token, token);

    if (is_ours) {
        name->expires_us = expires_us;
    }
    return is_ours;
}

static void drop(struct hf__file_held *held, struct name *name,
                 const struct hf__key *key)
{
    (void)hf__ofd_lock(held->fd, F_UNLCK, byte_of(key));
    hf__map_remove(&held->names, &name->link);
    hf__free(name);
}

void hf__file_held_remove(struct hf__file_held *held, const struct hf__key *key,
                          const struct hf__token *token)
{
    HF_SCOPED_LOCK(&held->lock);
    struct name *name = find(held, key);

    if (name != NULL && hf__token_equal(&name->token, token)) {
        drop(held, name, key);
    }
}

struct parting {
    struct hf__file_held *held;
    hf__file_held_fn fn;
    void *arg;
    bool is_over;
};

static void part(void *arg, struct hf__map_link *l)
{
    struct parting *parting = arg;
    struct name *name = of_link(l);
    struct hf__key key = {name->key, (uint16_t)l->length, 0};

    if (!parting->is_over && parting->fn(parting->arg, &key, &name->token)) {
        drop(parting->held, name, &key);
    } else {
        parting->is_over = true;
    }
}

void hf__file_held_part(struct hf__file_held *held, hf__file_held_fn fn,
                        void *arg)
{
    HF_SCOPED_LOCK(&held->lock);
    struct parting parting = {held, fn, arg, false};

    hf__map_each(&held->names, part, &parting);
}

int64_t hf__file_held_until(struct hf__file_held *held,
                            const struct hf__key *key,
                            const struct hf__token *mine)
{
    HF_SCOPED_LOCK(&held->lock);
    struct name *name = find(held, key);

    return name != NULL && !hf__token_equal(&name->token, mine)
               ? name->expires_us
               : 0;
}

bool hf__file_held_elsewhere(const struct hf__file_held *held,
                             const struct hf__key *key)
{
    return hf__ofd_test(held->fd, F_WRLCK, byte_of(key)) != 0;
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

bool hf__file_held_has_any(struct hf__file_held *held, int64_t now_us)
{
    HF_SCOPED_LOCK(&held->lock);
    struct search search = {now_us, false};

    hf__map_each(&held->names, look, &search);
    return search.has_any;
}
