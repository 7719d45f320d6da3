/* SPDX-License-Identifier: MIT */
/*
 * An intrusive doubly linked list: the links are members of the elements, so
 * that queueing never allocates. A link that is in no list points to itself.
 * The caller provides the locking.
 */
#ifndef HF_BASE_LIST_H
#define HF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hf__link {
    struct hf__link *prev;
    struct hf__link *next;
};

/* The element of `type` whose member `member` is at `link`. */
#define HF__ELEMENT(link, type, member)                                        \
    ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void hf__list_init(struct hf__link *l)
{
    l->prev = l;
    l->next = l;
}

static inline bool hf__list_is_empty(const struct hf__link *l)
{
    return l->next == l;
}

/* Append link to the list whose head is l. */
static inline void hf__list_push(struct hf__link *l, struct hf__link *link)
{
    link->prev = l->prev;
    link->next = l;
    l->prev->next = link;
    l->prev = link;
}

/* Take link out of whatever list it is in; harmless if it is in none. */
static inline void hf__list_remove(struct hf__link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    hf__list_init(link);
}

/* The first link, removed; NULL if the list is empty. */
static inline struct hf__link *hf__list_pop(struct hf__link *l)
{
    struct hf__link *first = l->next;

    if (first == l) {
        return NULL;
    }
    hf__list_remove(first);
    return first;
}

/* For each link of l; the loop may remove the current one. */
#define HF__LIST_EACH(it, l)                                                   \
    for (struct hf__link *it = (l)->next, *it##_next = it->next; it != (l);    \
         it = it##_next, it##_next = it->next)

#endif
