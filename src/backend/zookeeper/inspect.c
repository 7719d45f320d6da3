/* SPDX-License-Identifier: MIT */
/*
 * Telling who is at a name: INSPECT, and the record of every other operation;
 * and BREAK. The listing says who was let in; the children's data says who they
 * are, and whether one whose turn it is has noticed: until then the name is
 * promised, not held. Who has a slot is said by the slot's own child. Called by
 * the session's thread.
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

/* From one claim up to another, but those that have slots. */
static void add_claims(struct hf__zk_task *t, int from, int to)
{
    for (int i = from; i < to; i++) {
        if (t->queue.claims[i].taken < 0) {
            add_participant(t, i, -1);
        }
    }
}

/* Holders, of slots the lowest first, then those who wait. A lock of the simple
 * recipe's that somebody made beside claims drives nobody out. */
static void add_all(struct hf__zk_task *t)
{
    add_slots(t);
    add_claims(t, 0, t->queue.n_in);
    if (t->queue.has_lock) {
        add_participant(t, -1, -1);
    }
    add_claims(t, t->queue.n_in, t->queue.n);
}

/* Who has the lowest slot, or who was let in first. */
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

/* Does that node say that its claim holds the name? */
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

/* A holder by its record, or one who waits. */
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

/* What is told where nobody is known to hold it. */
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

/* A break tells of the one that is meant. */
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
            continue; /* it has just gone */
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

/* The session remembers what it lost by another's hand; of what it does not
 * know, nothing but that it was another session's, or given back. */
static void settle_reason(struct hf__zk_task *t)
{
    if (t->verdict == HF_LOST && t->op->ret_reason == HF_REASON_NONE) {
        t->op->ret_reason =
            hf__zk_own_was_broken(hf__zk_task_common(t), &t->op->token)
                ? HF_REASON_BROKEN
                : HF_REASON_SESSION;
    }
}

/* Who could not be read is no reason to hide what has been done. */
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

/* A server may be behind the others: a sync before makes it catch up. */
void hf__zk_inspect(struct hf__zk_task *t)
{
    t->verdict = HF_OK;
    hf__zk_add_search(t);
    hf__zk_then(t, take_fresh);
}

/* ---- BREAK
 *
 * The holders are read, and those that are meant taken away, each by the path
 * that only it ever has, or with the marker that only it ever has, so nobody
 * else is hit who came meanwhile. They notice by their next renewal, or because
 * they watch (listen.c). The fence that is told is the zxid of the last of it:
 * whoever enters later has a higher one.
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

/* Of a "lock" nothing was deleted, for it has no marker: it may be another by
 * now, or its marker was taken away by hand, which a second look tells. */
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
        t->verdict = HF_CONFLICT; /* somebody else was first */
        hf__zk_list_and_tell(t);
        return;
    }
    /* Without a folder, nobody has come since. */
    if (hf__zk_rc(t, last) == ZOK &&
        (uint64_t)hf__zk_answered(t, last)->stat.pzxid > raised) {
        raised = (uint64_t)hf__zk_answered(t, last)->stat.pzxid;
    }
    t->op->fence = raised;
    hf__zk_finish(t, HF_OK);
}

/* By the simple recipe. One that somebody made by hand, or whose marker
 * somebody took away by hand, has nothing of its own but its path. */
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

/* A slot and its claim, or a claim. */
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

/* Of several, the record is that of the one which was meant. One that could not
 * be read may be it, unless it is known already which one that is. */
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

/* Behind a sync: who holds it by a server that is behind is no matter. */
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
