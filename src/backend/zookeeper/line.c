/* SPDX-License-Identifier: MIT */
/*
 * A listing in its order, and the rule applied in one pass: who was let in are
 * the first of all, for nobody enters past one who may not. A claim that stands
 * there twice, by a session that is about to end, is two. Pure but for its
 * memory. Thread: any.
 */
#include "src/backend/zookeeper/line.h"

#include "src/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A claim that was let in. */
struct hf__zk_owner {
    struct hf__token token;
    int claim;
};

/* What is exhausted comes last, in any order that is one. */
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
    const struct hf__zk_taken *x = a;
    const struct hf__zk_taken *y = b;

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

static void collect(struct hf__zk_line *line, char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        struct hf__zk_claim claim = {.name = names[i], .taken = -1};

        hf__zk_child_read(names[i], &claim.child);
        switch (claim.child.kind) {
        case HF__ZK_CLAIM:
            line->claims[line->n++] = claim;
            break;
        case HF__ZK_SLOT:
            line->taken[line->n_taken++] =
                (struct hf__zk_taken){claim.child, names[i], -1};
            break;
        case HF__ZK_LOCK:
            line->has_lock = true;
            break;
        case HF__ZK_MARKER:
            line->markers[line->n_markers++] =
                (struct hf__zk_marker){claim.child.token, names[i]};
            break;
        case HF__ZK_FOREIGN:
            line->n_foreign++;
            break;
        }
    }
}

/* ---- the rule */

static bool is_of_slots(struct hf__lock_mode lock_mode)
{
    return lock_mode.mode == HF__MODE_SLOTS;
}

/* Of a claim behind the first n. */
static enum hf__entry entry_behind(const struct hf__zk_line *line, int n,
                                   struct hf__lock_mode lock_mode)
{
    struct hf__lock_mode first;

    if (n == 0) {
        return HF__ENTRY_OPEN;
    }
    first = line->claims[0].child.lock_mode;
    if (!hf__lock_modes_compatible(first, lock_mode)) {
        return is_of_slots(first) && is_of_slots(lock_mode) ? HF__ENTRY_MISFIT
                                                            : HF__ENTRY_HELD;
    }
    if (is_of_slots(lock_mode) && line->n_in >= lock_mode.slots) {
        return HF__ENTRY_HELD;
    }
    return line->n_in < n ? HF__ENTRY_PROMISED : HF__ENTRY_OPEN;
}

static void let_in(struct hf__zk_line *line)
{
    for (int i = 0; i < line->n; i++) {
        struct hf__zk_claim *claim = &line->claims[i];

        if (hf__zk_is_exhausted(claim->child.sequence)) {
            claim->entry = HF__ENTRY_HELD;
            continue;
        }
        line->n_fresh++;
        claim->entry = entry_behind(line, i, claim->child.lock_mode);
        line->n_in += claim->entry == HF__ENTRY_OPEN;
    }
}

/* ---- slots */

static void index_owners(struct hf__zk_line *line)
{
    for (int i = 0; i < line->n_in; i++) {
        line->owners[i] = (struct hf__zk_owner){line->claims[i].child.token, i};
    }
    qsort(line->owners, (size_t)line->n_in, sizeof *line->owners, by_token);
}

/* The first with that token that was let in and has no slot, or −1. */
static int find_owner(const struct hf__zk_line *line,
                      const struct hf__token *token)
{
    struct hf__zk_owner wanted = {*token, -1};
    int low = 0;
    int high = line->n_in;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (by_token(&line->owners[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < line->n_in; low++) {
        int claim = line->owners[low].claim;

        if (!hf__token_equal(&line->owners[low].token, token)) {
            return -1;
        }
        if (line->claims[claim].taken < 0) {
            return claim;
        }
    }
    return -1;
}

/* Whose each slot is: that of the first who took it, if it was let in. Nobody
 * has two. */
static void assign_slots(struct hf__zk_line *line)
{
    index_owners(line);
    qsort(line->taken, (size_t)line->n_taken, sizeof *line->taken, by_slot);
    for (int i = 0; i < line->n_taken; i++) {
        struct hf__zk_taken *one = &line->taken[i];
        bool is_first = i == 0 || one[-1].child.slot != one->child.slot;

        if (is_first && !hf__zk_is_exhausted(one->child.sequence)) {
            one->claim = find_owner(line, &one->child.token);
        }
        if (one->claim >= 0) {
            line->claims[one->claim].taken = i;
        }
    }
}

/* ---- */

int hf__zk_line_read(struct hf__zk_line *line, char *const *names, int n,
                     int32_t next)
{
    size_t room = n > 0 ? (size_t)n : 1;

    *line = (struct hf__zk_line){.next = next};
    line->claims = hf__alloc(room * sizeof *line->claims);
    line->taken = hf__alloc(room * sizeof *line->taken);
    line->markers = hf__alloc(room * sizeof *line->markers);
    line->owners = hf__alloc(room * sizeof *line->owners);
    if (line->claims == NULL || line->taken == NULL || line->markers == NULL ||
        line->owners == NULL) {
        hf__zk_line_fini(line);
        return HF_ENOMEM;
    }
    collect(line, names, n);
    qsort(line->claims, (size_t)line->n, sizeof *line->claims, by_sequence);
    let_in(line);
    if (line->n_taken > 0) {
        assign_slots(line);
    }
    return HF_OK;
}

void hf__zk_line_fini(struct hf__zk_line *line)
{
    hf__free(line->claims);
    hf__free(line->taken);
    hf__free(line->markers);
    hf__free(line->owners);
    *line = (struct hf__zk_line){0};
}

int hf__zk_line_find(const struct hf__zk_line *line, const char *name)
{
    for (int i = 0; i < line->n; i++) {
        if (strcmp(line->claims[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int hf__zk_line_find_token(const struct hf__zk_line *line, int from,
                           const struct hf__token *token)
{
    for (int i = from; i < line->n; i++) {
        if (hf__token_equal(&line->claims[i].child.token, token)) {
            return i;
        }
    }
    return -1;
}

int hf__zk_line_find_taken(const struct hf__zk_line *line, const char *name)
{
    for (int i = 0; i < line->n_taken; i++) {
        if (strcmp(line->taken[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

int hf__zk_line_free_slot(const struct hf__zk_line *line, int i)
{
    int slots = line->claims[i].child.lock_mode.slots;
    int left = 0; /* to those before it */
    int at = 0;

    for (int k = 0; k < i && k < line->n_in; k++) {
        left += line->claims[k].taken < 0;
    }
    for (int slot = 0; slot < slots; slot++) {
        while (at < line->n_taken && line->taken[at].child.slot < slot) {
            at++;
        }
        if (at < line->n_taken && line->taken[at].child.slot == slot) {
            continue;
        }
        if (left-- == 0) {
            return slot;
        }
    }
    return -1;
}

int hf__zk_line_stream(const struct hf__zk_line *line, int i)
{
    struct hf__lock_mode lock_mode = line->claims[i].child.lock_mode;

    for (int k = 0; k < i; k++) {
        struct hf__lock_mode other = line->claims[k].child.lock_mode;

        if (other.mode != HF__MODE_EXCLUSIVE &&
            !hf__lock_modes_compatible(other, lock_mode)) {
            return k;
        }
    }
    return -1;
}

enum hf__entry hf__zk_line_would(const struct hf__zk_line *line,
                                 struct hf__lock_mode lock_mode)
{
    enum hf__entry entry = entry_behind(line, line->n_fresh, lock_mode);
    bool is_exhausted = hf__zk_is_exhausted(line->next);

    return is_exhausted && line->n + line->n_taken > 0 &&
                   entry == HF__ENTRY_OPEN
               ? HF__ENTRY_HELD
               : entry;
}

int hf__zk_line_slots(const struct hf__zk_line *line)
{
    return line->n_fresh == 0 ? 0 : line->claims[0].child.lock_mode.slots;
}

struct hf__zk_ahead hf__zk_line_ahead(const struct hf__zk_line *line, int i)
{
    struct hf__lock_mode lock_mode = line->claims[i].child.lock_mode;

    for (int k = i - 1; k >= 0; k--) {
        if (!hf__lock_modes_compatible(line->claims[k].child.lock_mode,
                                       lock_mode)) {
            return (struct hf__zk_ahead){HF__ZK_SEE_NODE, k};
        }
    }
    if (i == 0 || !is_of_slots(lock_mode) || i <= line->n_in) {
        return (struct hf__zk_ahead){HF__ZK_SEE_ALL, -1};
    }
    return (struct hf__zk_ahead){HF__ZK_SEE_DATA, i - 1};
}
