/* SPDX-License-Identifier: MIT */
/*
 * Tells who is at a name: INSPECT, and the record of every other operation; and
 * BREAK. The listing says which claims were let in. The children's data says
 * who they are, and whether a claim that was let in has noticed that: until
 * then the name is promised, not held. Who has a slot is told by the slot's own
 * child. Called by the backend session's thread.
 */
#include "src/backend/zookeeper/steps.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* ---- what is to be read */

static bool is_in(const struct hf__zk_claim *claim)
{
    return claim->entry == HF__ENTRY_OPEN;
}

static bool is_of_slots(const struct hf__zk_claim *claim)
{
    return claim->child.lock_mode.mode == HF__MODE_SLOTS;
}

static void add_participant(struct hf__zk_task *t, int claim, int taken)
{
    t->participants[t->n_participants++] =
        (struct hf__zk_participant){.claim = claim, .taken = taken};
}

static void add_slots(struct hf__zk_task *t)
{
    for (int i = 0; i < t->queue.n_taken; i++) {
        if (t->queue.taken[i].claim >= 0) {
            add_participant(t, t->queue.taken[i].claim, i);
        }
    }
}

/* Add the claims of that range that have no slot. */
static void add_claims(struct hf__zk_task *t, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (t->queue.claims[i].taken < 0) {
            add_participant(t, i, -1);
        }
    }
}

/* Holders, for slots by the slot's number, then waiters. A "lock" that somebody
 * made beside claims, by the simple recipe, does not hide them. */
static void add_all(struct hf__zk_task *t)
{
    add_slots(t);
    add_claims(t, 0, t->queue.n_in);
    if (t->queue.has_lock) {
        add_participant(t, -1, -1);
    }
    add_claims(t, t->queue.n_in, t->queue.n);
}

/* Add the holder of the lowest slot, or the first claim that was let in. */
static void add_first(struct hf__zk_task *t)
{
    for (int i = 0; i < t->queue.n_taken; i++) {
        if (t->queue.taken[i].claim >= 0) {
            add_participant(t, t->queue.taken[i].claim, i);
            return;
        }
    }
    if (t->queue.n_in > 0 && !is_of_slots(&t->queue.claims[0])) {
        add_participant(t, 0, -1);
    }
}

void hf__zk_look_fini(struct hf__zk_task *t)
{
    if (t->participants != &t->one) {
        hf__free(t->participants);
    }
    t->participants = NULL;
    t->n_participants = 0;
}

static const char *name_of(const struct hf__zk_task *t, int k)
{
    const struct hf__zk_participant *participant = &t->participants[k];

    if (participant->taken >= 0) {
        return t->queue.taken[participant->taken].name;
    }
    return participant->claim >= 0 ? t->queue.claims[participant->claim].name
                                   : HF__ZK_LOCK_NAME;
}

static void add_reading(struct hf__zk_task *t)
{
    t->looked = t->n_requests;
    for (int k = 0; k < t->n_participants; k++) {
        hf__zk_add(t, HF__ZK_GET, name_of(t, k));
    }
}

void hf__zk_look_add_one(struct hf__zk_task *t)
{
    hf__zk_look_fini(t);
    t->participants = &t->one;
    if (!t->queue.has_lock || !hf__zk_is_simple(t)) {
        add_first(t);
    }
    if (t->queue.has_lock && t->n_participants == 0) {
        add_participant(t, -1, -1);
    }
    add_reading(t);
}

static bool look_add_all(struct hf__zk_task *t)
{
    if (t->queue.n == 0) {
        hf__zk_look_add_one(t);
        return true;
    }
    hf__zk_look_fini(t);
    t->participants =
        hf__alloc(((size_t)t->queue.n + 1) * sizeof *t->participants);
    if (t->participants == NULL) {
        hf__zk_fail_memory(t, "a look");
        return false;
    }
    add_all(t);
    add_reading(t);
    return true;
}

/* ---- what was read */

/* Does the node's data say that its claim holds the name? */
static bool is_holding(const struct hf__zk_task *t,
                       const struct hf__zk_participant *participant,
                       const struct hf__zk_data *node_data)
{
    const struct hf__zk_claim *claim;

    if (participant->claim < 0 || participant->taken >= 0) {
        return true;
    }
    claim = &t->queue.claims[participant->claim];
    if (!is_in(claim) || is_of_slots(claim)) {
        return false;
    }
    switch (node_data->state) {
    case HF__ZK_ENTERS:
    case HF__ZK_HOLDS:
        return true;
    case HF__ZK_TRIES:
        return node_data->expected == claim->child.sequence;
    case HF__ZK_WAITS:
        break;
    }
    return false;
}

/* Read a holder with its record, or a waiter. */
static void read_participant(const struct hf__zk_task *t,
                             struct hf__zk_participant *participant,
                             const struct hf__zk_answer *a,
                             struct hf__participant_info *to)
{
    struct hf__record *record = &to->record;
    struct hf__zk_data node_data;

    hf__zk_data_read(a->text, (size_t)a->length, &node_data);
    participant->is_holder = is_holding(t, participant, &node_data);
    participant->is_try =
        !participant->is_holder && node_data.state == HF__ZK_TRIES;
    participant->fence = (uint64_t)a->stat.mzxid;
    participant->token = node_data.token;
    *record = (struct hf__record){
        .is_held = participant->is_holder,
        .slot = participant->taken < 0
                    ? -1
                    : t->queue.taken[participant->taken].child.slot,
        .holder_lives = -1,
        .remaining_us = -1,
        .acquired_us = node_data.acquired_us,
        .owner = node_data.owner};
    to->is_waiting = !participant->is_holder;
    if (participant->claim >= 0) {
        record->lock_mode = t->queue.claims[participant->claim].child.lock_mode;
    }
    if (participant->is_holder) {
        record->fence = participant->fence;
        record->token = participant->claim < 0
                            ? node_data.token
                            : t->queue.claims[participant->claim].child.token;
    }
}

/* The record if no holder is known. */
static void describe_free(const struct hf__zk_task *t,
                          struct hf__record *record)
{
    *record = (struct hf__record){.slot = -1,
                                  .holder_lives = -1,
                                  .is_promised = t->queue.n > 0,
                                  .remaining_us = t->queue.n > 0 ? -1 : 0,
                                  .fence = t->changed};
}

static void tell_record(struct hf__zk_task *t, const struct hf__record *record)
{
    t->op->fence = record->fence;
    if (t->op->ret_record != NULL) {
        *t->op->ret_record = *record;
    }
}

static void tell_participants(struct hf__zk_task *t,
                              const struct hf__participant_info *participant)
{
    if (t->op->ret_participants != NULL &&
        hf__participant_list_add(t->op->ret_participants, participant) !=
            HF_OK) {
        t->verdict =
            hf__fail(t->op->err, HF_ENOMEM, "out of memory for a look");
    }
}

/* A break tells of the holder that it is to break. */
static bool is_the_meant(const struct hf__zk_task *t,
                         const struct hf__record *record)
{
    return t->broken != 0 && record->fence == t->broken;
}

bool hf__zk_look_take(struct hf__zk_task *t)
{
    bool is_whole = true;
    bool has_record = false;
    struct hf__record record;

    describe_free(t, &record);
    for (int k = 0; k < t->n_participants; k++) {
        const struct hf__zk_answer *a = hf__zk_answered(t, t->looked + k);
        struct hf__participant_info participant;

        is_whole &= a->rc == ZOK || a->rc == ZNONODE;
        if (a->rc != ZOK) {
            continue; /* it has gone since the listing */
        }
        read_participant(t, &t->participants[k], a, &participant);
        if (!participant.is_waiting &&
            (!has_record || is_the_meant(t, &participant.record))) {
            record = participant.record;
            has_record = true;
        }
        tell_participants(t, &participant);
    }
    tell_record(t, &record);
    return is_whole;
}

static void look_fail(struct hf__zk_task *t)
{
    int k = 0;

    while (hf__zk_rc(t, t->looked + k) == ZOK ||
           hf__zk_rc(t, t->looked + k) == ZNONODE) {
        k++;
    }
    hf__zk_fail_at(t, t->looked + k, name_of(t, k));
}

/* ---- telling, at last */

/* The session remembers grants that others broke. A token that it does not know
 * was another session's, or was released. */
static void settle_reason(struct hf__zk_task *t)
{
    if (t->verdict == HF_LOST && t->op->ret_reason == HF_REASON_NONE) {
        t->op->ret_reason =
            hf__zk_own_was_broken(hf__zk_task_common(t), &t->op->token)
                ? HF_REASON_BROKEN
                : HF_REASON_SESSION;
    }
}

/* An operation that has succeeded does not fail because a participant could not
 * be read. */
static void take_participants(struct hf__zk_task *t)
{
    bool is_whole = hf__zk_look_take(t);

    if (!is_whole && t->op->kind == HF__OP_INSPECT) {
        look_fail(t);
    } else {
        settle_reason(t);
        hf__zk_finish(t, t->verdict);
    }
}

void hf__zk_tell(struct hf__zk_task *t)
{
    if (t->op->ret_participants == NULL) {
        hf__zk_look_add_one(t);
    } else if (!look_add_all(t)) {
        return;
    }
    hf__zk_then(t, take_participants);
}

static void take_listing(struct hf__zk_task *t)
{
    if (hf__zk_see(t, 0)) {
        hf__zk_tell(t);
    }
}

void hf__zk_list_and_tell(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_listing);
}

static void take_fresh(struct hf__zk_task *t)
{
    if (hf__zk_see_search(t)) {
        hf__zk_tell(t);
    }
}

/* A server may be behind the others: the sync makes it catch up. */
void hf__zk_inspect(struct hf__zk_task *t)
{
    t->verdict = HF_OK;
    hf__zk_add_search(t);
    hf__zk_then(t, take_fresh);
}

/* ---- BREAK
 *
 * The holders are read, and those to break are deleted, each by a path that
 * only it ever has, or together with a marker that only it ever has, so a claim
 * that came meanwhile is safe. The holders notice by their next renewal, or
 * because they watch (listen.c). The fence that is told is the zxid of the last
 * deletion: whoever enters later has a higher one.
 */

static bool is_meant(const struct hf__zk_task *t,
                     const struct hf__zk_participant *p)
{
    return p->is_holder && (t->broken == 0 || t->broken == p->fence);
}

static int count_meant(const struct hf__zk_task *t)
{
    int n = 0;

    for (int i = 0; i < t->n_participants; i++) {
        n += is_meant(t, &t->participants[i]) ? 1 : 0;
    }
    return n;
}

static uint64_t highest_meant(const struct hf__zk_task *t)
{
    uint64_t highest = 0;

    for (int i = 0; i < t->n_participants; i++) {
        uint64_t fence = t->participants[i].fence;

        highest = is_meant(t, &t->participants[i]) && fence > highest ? fence
                                                                      : highest;
    }
    return highest;
}

static void list_holders(struct hf__zk_task *t);

/* "lock" was not deleted, for the marker is missing: it may be another lock by
 * now, or somebody has deleted its marker by hand. A second look tells
 * which. */
static bool looks_again(struct hf__zk_task *t)
{
    if (t->lock_at < 0 || hf__zk_answered(t, t->lock_at)->part != 0) {
        return false;
    }
    t->alone = t->lock;
    list_holders(t);
    return true;
}

static void take_cut(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;
    uint64_t raised = highest_meant(t) + 1;
    bool was_any = false;

    if (!hf__zk_are_gone(t, last)) {
        return;
    }
    for (int i = 0; i < last; i++) {
        was_any |= hf__zk_rc(t, i) == ZOK;
    }
    if (!was_any && looks_again(t)) {
        return;
    }
    if (!was_any) {
        t->verdict = HF_CONFLICT; /* somebody else broke or released it first */
        hf__zk_list_and_tell(t);
        return;
    }
    /* If the folder is gone, nobody has come since. */
    if (hf__zk_rc(t, last) == ZOK &&
        (uint64_t)hf__zk_answered(t, last)->stat.pzxid > raised) {
        raised = (uint64_t)hf__zk_answered(t, last)->stat.pzxid;
    }
    t->op->fence = raised;
    hf__zk_finish(t, HF_OK);
}

/* Simple recipe: a lock that somebody made by hand, or whose marker somebody
 * deleted by hand, can only be deleted by its path. */
static void cut_lock(struct hf__zk_task *t, const struct hf__token *token)
{
    if (hf__token_is_zero(token) || hf__token_equal(token, &t->alone)) {
        hf__zk_add(t, HF__ZK_DELETE, HF__ZK_LOCK_NAME);
    } else {
        t->lock = *token;
        hf__zk_marker_write(token, t->marker);
        t->lock_at = hf__zk_add(t, HF__ZK_DELETE_LOCK, NULL);
    }
}

/* Delete the holders: a slot and its claim, or a claim, or a lock. */
static void cut(struct hf__zk_task *t)
{
    t->lock_at = -1;
    for (int i = 0; i < t->n_participants; i++) {
        const struct hf__zk_participant *p = &t->participants[i];

        if (!is_meant(t, p)) {
            continue;
        }
        if (p->taken >= 0) {
            hf__zk_add(t, HF__ZK_DELETE, t->queue.taken[p->taken].name);
        }
        if (p->claim >= 0) {
            hf__zk_add(t, HF__ZK_DELETE, t->queue.claims[p->claim].name);
        } else {
            cut_lock(t, &p->token);
        }
    }
    hf__zk_add(t, HF__ZK_EXISTS, NULL);
    hf__zk_then(t, take_cut);
}

/* Of several holders, the record is that of the one to break. A holder that
 * could not be read may be that one, unless it was found already. */
static void take_holders(struct hf__zk_task *t)
{
    bool is_whole = hf__zk_look_take(t);
    bool is_clear = t->broken != 0 && count_meant(t) > 0;

    if (!is_whole && !is_clear) {
        look_fail(t);
    } else if (count_meant(t) == 0) {
        hf__zk_finish(t, HF_CONFLICT);
    } else {
        cut(t);
    }
}

static void take_holders_listing(struct hf__zk_task *t)
{
    if (hf__zk_see_search(t) && look_add_all(t)) {
        hf__zk_then(t, take_holders);
    }
}

/* List the holders behind a sync, for a server that is behind may show earlier
 * ones. */
static void list_holders(struct hf__zk_task *t)
{
    hf__zk_add_search(t);
    hf__zk_then(t, take_holders_listing);
}

void hf__zk_break(struct hf__zk_task *t)
{
    t->broken = t->op->fence;
    list_holders(t);
}
