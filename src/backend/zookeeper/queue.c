/* SPDX-License-Identifier: MIT */
/*
 * Sorts a listing and applies the rule in one pass: the claims that were let in
 * come first, for none enters past one that may not. If an acquire has two
 * claims, one of them by a session that is about to end, they count as two.
 * Pure but for its memory. Thread: any.
 */
#include "src/backend/zookeeper/queue.h"

#include "src/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A claim that was let in, by its token. */
struct hf__zk_owner {
    struct hf__token token;
    int claim;
};

/* Exhausted claims come last, in any stable order. */
static int compare_children(const struct hf__zk_child *x,
                            const struct hf__zk_child *y)
{
    bool is_exhausted = hf__zk_is_exhausted(x->sequence);

    if (is_exhausted != hf__zk_is_exhausted(y->sequence)) {
        return is_exhausted ? 1 : -1;
    }
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static int by_sequence(const void *a, const void *b)
{
    const struct hf__zk_claim *x = a;
    const struct hf__zk_claim *y = b;
    int order = compare_children(&x->child, &y->child);

    return order != 0 ? order : strcmp(x->name, y->name);
}

static int by_slot(const void *a, const void *b)
{
    const struct hf__zk_slot_node *x = a;
    const struct hf__zk_slot_node *y = b;

    return x->child.slot != y->child.slot
               ? x->child.slot - y->child.slot
               : compare_children(&x->child, &y->child);
}

static int by_token(const void *a, const void *b)
{
    const struct hf__zk_owner *x = a;
    const struct hf__zk_owner *y = b;
    int order = memcmp(&x->token, &y->token, sizeof x->token);

    return order != 0 ? order : x->claim - y->claim;
}

static void collect(struct hf__zk_queue *queue, char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        struct hf__zk_claim claim = {.name = names[i], .taken = -1};

        hf__zk_child_read(names[i], &claim.child);
        switch (claim.child.kind) {
        case HF__ZK_CLAIM:
            queue->claims[queue->n++] = claim;
            break;
        case HF__ZK_SLOT:
            queue->taken[queue->n_taken++] =
                (struct hf__zk_slot_node){claim.child, names[i], -1};
            break;
        case HF__ZK_LOCK:
            queue->has_lock = true;
            break;
        case HF__ZK_MARKER:
            queue->markers[queue->n_markers++] =
                (struct hf__zk_marker){claim.child.token, names[i]};
            break;
        case HF__ZK_FOREIGN:
            queue->n_foreign++;
            break;
        }
    }
}

/* ---- the rule */

static bool is_of_slots(struct hf__lock_mode lock_mode)
{
    return lock_mode.mode == HF__MODE_SLOTS;
}

/* The entry of a claim that comes after the first n. */
static enum hf__entry entry_behind(const struct hf__zk_queue *queue, int n,
                                   struct hf__lock_mode lock_mode)
{
    struct hf__lock_mode first;

    if (n == 0) {
        return HF__ENTRY_OPEN;
    }
    first = queue->claims[0].child.lock_mode;
    if (!hf__lock_modes_compatible(first, lock_mode)) {
        return is_of_slots(first) && is_of_slots(lock_mode) ? HF__ENTRY_MISFIT
                                                            : HF__ENTRY_HELD;
    }
    if (is_of_slots(lock_mode) && queue->n_in >= lock_mode.slots) {
        return HF__ENTRY_HELD;
    }
    return queue->n_in < n ? HF__ENTRY_PROMISED : HF__ENTRY_OPEN;
}

static void let_in(struct hf__zk_queue *queue)
{
    for (int i = 0; i < queue->n; i++) {
        struct hf__zk_claim *claim = &queue->claims[i];

        if (hf__zk_is_exhausted(claim->child.sequence)) {
            claim->entry = HF__ENTRY_HELD;
            continue;
        }
        queue->n_fresh++;
        claim->entry = entry_behind(queue, i, claim->child.lock_mode);
        queue->n_in += claim->entry == HF__ENTRY_OPEN;
    }
}

/* ---- slots */

static void index_owners(struct hf__zk_queue *queue)
{
    for (int i = 0; i < queue->n_in; i++) {
        queue->owners[i] =
            (struct hf__zk_owner){queue->claims[i].child.token, i};
    }
    qsort(queue->owners, (size_t)queue->n_in, sizeof *queue->owners, by_token);
}

/* The first claim with that token that was let in and has no slot, or −1. */
static int find_owner(const struct hf__zk_queue *queue,
                      const struct hf__token *token)
{
    struct hf__zk_owner wanted = {*token, -1};
    int low = 0;
    int high = queue->n_in;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (by_token(&queue->owners[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < queue->n_in; low++) {
        int claim = queue->owners[low].claim;

        if (!hf__token_equal(&queue->owners[low].token, token)) {
            return -1;
        }
        if (queue->claims[claim].taken < 0) {
            return claim;
        }
    }
    return -1;
}

/* Assign each slot to the claim of the first child that took it, if that claim
 * was let in. No claim gets two. */
static void assign_slots(struct hf__zk_queue *queue)
{
    index_owners(queue);
    qsort(queue->taken, (size_t)queue->n_taken, sizeof *queue->taken, by_slot);
    for (int i = 0; i < queue->n_taken; i++) {
        struct hf__zk_slot_node *one = &queue->taken[i];
        bool is_first = i == 0 || one[-1].child.slot != one->child.slot;

        if (is_first && !hf__zk_is_exhausted(one->child.sequence)) {
            one->claim = find_owner(queue, &one->child.token);
        }
        if (one->claim >= 0) {
            queue->claims[one->claim].taken = i;
        }
    }
}

/* ---- */

int hf__zk_queue_read(struct hf__zk_queue *queue, char *const *names, int n,
                      int32_t next)
{
    size_t room = n > 0 ? (size_t)n : 1;

    *queue = (struct hf__zk_queue){.next = next};
    queue->claims = hf__alloc(room * sizeof *queue->claims);
    queue->taken = hf__alloc(room * sizeof *queue->taken);
    queue->markers = hf__alloc(room * sizeof *queue->markers);
    queue->owners = hf__alloc(room * sizeof *queue->owners);
    if (queue->claims == NULL || queue->taken == NULL ||
        queue->markers == NULL || queue->owners == NULL) {
        hf__zk_queue_fini(queue);
        return HF_ENOMEM;
    }
    collect(queue, names, n);
    qsort(queue->claims, (size_t)queue->n, sizeof *queue->claims, by_sequence);
    let_in(queue);
    if (queue->n_taken > 0) {
        assign_slots(queue);
    }
    return HF_OK;
}

void hf__zk_queue_fini(struct hf__zk_queue *queue)
{
    hf__free(queue->claims);
    hf__free(queue->taken);
    hf__free(queue->markers);
    hf__free(queue->owners);
    *queue = (struct hf__zk_queue){0};
}

int hf__zk_queue_find(const struct hf__zk_queue *queue, const char *name)
{
    for (int i = 0; i < queue->n; i++) {
        if (strcmp(queue->claims[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int hf__zk_queue_find_token(const struct hf__zk_queue *queue, int from,
                            const struct hf__token *token)
{
    for (int i = from; i < queue->n; i++) {
        if (hf__token_equal(&queue->claims[i].child.token, token)) {
            return i;
        }
    }
    return -1;
}

int hf__zk_queue_find_slot_node(const struct hf__zk_queue *queue,
                                const char *name)
{
    for (int i = 0; i < queue->n_taken; i++) {
        if (strcmp(queue->taken[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int hf__zk_queue_free_slot(const struct hf__zk_queue *queue, int i)
{
    int slots = queue->claims[i].child.lock_mode.slots;
    int left = 0; /* free slots that claims before it take */
    int at = 0;

    for (int k = 0; k < i && k < queue->n_in; k++) {
        left += queue->claims[k].taken < 0;
    }
    for (int slot = 0; slot < slots; slot++) {
        while (at < queue->n_taken && queue->taken[at].child.slot < slot) {
            at++;
        }
        if (at < queue->n_taken && queue->taken[at].child.slot == slot) {
            continue;
        }
        if (left-- == 0) {
            return slot;
        }
    }
    return -1;
}

int hf__zk_queue_stream(const struct hf__zk_queue *queue, int i)
{
    struct hf__lock_mode lock_mode = queue->claims[i].child.lock_mode;

    for (int k = 0; k < i; k++) {
        struct hf__lock_mode other = queue->claims[k].child.lock_mode;

        if (other.mode != HF__MODE_EXCLUSIVE &&
            !hf__lock_modes_compatible(other, lock_mode)) {
            return k;
        }
    }
    return -1;
}

enum hf__entry hf__zk_queue_would(const struct hf__zk_queue *queue,
                                  struct hf__lock_mode lock_mode)
{
    enum hf__entry entry = entry_behind(queue, queue->n_fresh, lock_mode);
    bool is_exhausted = hf__zk_is_exhausted(queue->next);

    return is_exhausted && queue->n + queue->n_taken > 0 &&
                   entry == HF__ENTRY_OPEN
               ? HF__ENTRY_HELD
               : entry;
}

int hf__zk_queue_slots(const struct hf__zk_queue *queue)
{
    return queue->n_fresh == 0 ? 0 : queue->claims[0].child.lock_mode.slots;
}

struct hf__zk_predecessor
hf__zk_queue_predecessor(const struct hf__zk_queue *queue, int i)
{
    struct hf__lock_mode lock_mode = queue->claims[i].child.lock_mode;

    for (int k = i - 1; k >= 0; k--) {
        if (!hf__lock_modes_compatible(queue->claims[k].child.lock_mode,
                                       lock_mode)) {
            return (struct hf__zk_predecessor){HF__ZK_SEE_NODE, k};
        }
    }
    if (i == 0 || !is_of_slots(lock_mode) || i <= queue->n_in) {
        return (struct hf__zk_predecessor){HF__ZK_SEE_ALL, -1};
    }
    return (struct hf__zk_predecessor){HF__ZK_SEE_DATA, i - 1};
}
