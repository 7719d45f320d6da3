/* SPDX-License-Identifier: MIT */
/*
 * What this client has on the server, as far as it knows: each user lock with
 * its line, found by its claim and by its name. Of one name there may be two
 * for a while, one that the server was asked for without an answer yet and one
 * that it gave to another line: the later is found. Called by the fronts'
 * threads, with the link's mutex held.
 */
#include "src/backend/mysql_session/link.h"

#include "src/base/alloc.h"

#include <string.h>

/* Of what is still to be told: where nobody listens it has an end. */
#define LOST_MIN 64U
#define LOST_MAX 65536U

struct hf__ul_lock *hf__ul_lock_new(struct hf__ul_link *link,
                                    struct hf__ul_line *line, const char *key,
                                    uint16_t length)
{
    struct hf__ul_lock *lock = hf__alloc(sizeof *lock);
    struct hf__ul_lock *other = hf__ul_lock_named(link, key, length);

    if (lock == NULL) {
        return NULL;
    }
    lock->line = line;
    lock->length = length;
    memcpy(lock->key, key, length);
    if (other != NULL) {
        hf__map_remove(&link->keys, &other->by_key);
        other->by_key.key = NULL;
    }
    hf__map_add(&link->keys, &lock->by_key, lock->key, length);
    hf__list_push(&line->locks, &lock->in_line);
    line->n_locks++;
    return lock;
}

void hf__ul_lock_claim(struct hf__ul_link *link, struct hf__ul_lock *lock,
                       const struct hf__token *token)
{
    if (lock->by_token.key != NULL) { /* of a claim that was given up */
        hf__map_remove(&link->tokens, &lock->by_token);
    }
    lock->token = *token;
    hf__map_add(&link->tokens, &lock->by_token, (const char *)lock->token.bytes,
                sizeof lock->token.bytes);
}

void hf__ul_lock_free(struct hf__ul_link *link, struct hf__ul_lock *lock)
{
    if (lock->by_token.key != NULL) {
        hf__map_remove(&link->tokens, &lock->by_token);
    }
    if (lock->by_key.key != NULL) {
        hf__map_remove(&link->keys, &lock->by_key);
    }
    hf__list_remove(&lock->in_line);
    lock->line->n_locks--;
    hf__free(lock);
}

struct hf__ul_lock *hf__ul_lock_of(struct hf__ul_link *link,
                                   const struct hf__token *token)
{
    struct hf__map_link *found = hf__map_find(
        &link->tokens, (const char *)token->bytes, sizeof token->bytes);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__ul_lock, by_token);
}

struct hf__ul_lock *hf__ul_lock_named(struct hf__ul_link *link, const char *key,
                                      uint16_t length)
{
    struct hf__map_link *found = hf__map_find(&link->keys, key, length);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__ul_lock, by_key);
}

void hf__ul_lock_lose(struct hf__ul_link *link, const struct hf__ul_lock *lock)
{
    if (link->n_lost == link->lost_room && link->lost_room < LOST_MAX) {
        unsigned room = link->lost_room == 0 ? LOST_MIN : 2 * link->lost_room;
        struct hf__token *lost =
            hf__resize(link->lost, room * sizeof *link->lost);

        if (lost != NULL) {
            link->lost = lost;
            link->lost_room = room;
        }
    }
    if (link->n_lost < link->lost_room) { /* or its renewal finds it */
        link->lost[link->n_lost++] = lock->token;
        link->is_news = true;
    }
}
