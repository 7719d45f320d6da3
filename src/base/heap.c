/* SPDX-License-Identifier: MIT */
/*
 * The pairing heap: a tree in which no timer is due before its parent. Removing
 * merges a list of any length in two passes, without recursion, so that ten
 * thousand timers need no deep stack. What a timer is for is unknown here. The
 * caller provides the locking.
 */
#include "src/base/heap.h"

#include "src/base/base.h"

/* Both are roots, or NULL. The later one becomes the first child of the
 * other. */
static struct hf__timer *merge(struct hf__timer *a, struct hf__timer *b)
{
    if (a == NULL || b == NULL) {
        return a == NULL ? b : a;
    }
    if (hf__before(b->due, a->due)) {
        struct hf__timer *earlier = b;
        b = a;
        a = earlier;
    }
    b->next = a->child;
    b->back = a;
    if (a->child != NULL) {
        a->child->back = b;
    }
    a->child = b;
    return a;
}

static void make_root(struct hf__timer *t)
{
    t->next = NULL;
    t->back = NULL;
}

/* Merges a list of siblings into one root: first neighbours in pairs from the
 * left, then the pairs from the right. */
static struct hf__timer *merge_list(struct hf__timer *first)
{
    struct hf__timer *pairs = NULL; /* linked by next, last pair first */
    struct hf__timer *root = NULL;

    while (first != NULL) {
        struct hf__timer *a = first;
        struct hf__timer *b = a->next;

        first = b != NULL ? b->next : NULL;
        make_root(a);
        if (b != NULL) {
            make_root(b);
        }
        a = merge(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs != NULL) {
        struct hf__timer *pair = pairs;

        pairs = pair->next;
        make_root(pair);
        root = merge(root, pair);
    }
    return root;
}

/* Take t, which is not the root, out of its parent's list. */
static void cut(struct hf__timer *t)
{
    if (t->back->child == t) {
        t->back->child = t->next;
    } else {
        t->back->next = t->next;
    }
    if (t->next != NULL) {
        t->next->back = t->back;
    }
}

void hf__heap_remove(struct hf__heap *h, struct hf__timer *t)
{
    if (!t->is_set) {
        return;
    }
    if (h->root == t) {
        h->root = merge_list(t->child);
    } else {
        HF_ASSERT(t->back != NULL); /* else t is in another heap */
        cut(t);
        h->root = merge(h->root, merge_list(t->child));
    }
    make_root(t);
    t->child = NULL;
    t->is_set = false;
}

void hf__heap_set(struct hf__heap *h, struct hf__timer *t, hf__time due)
{
    hf__heap_remove(h, t);
    t->due = due;
    t->child = NULL;
    make_root(t);
    t->is_set = true;
    h->root = merge(h->root, t);
}

struct hf__timer *hf__heap_first(const struct hf__heap *h)
{
    return h->root;
}
