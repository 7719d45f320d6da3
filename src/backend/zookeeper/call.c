/* SPDX-License-Identifier: MIT */
/*
 * Calls, their slots, and how they are awaited. They are freed by whoever is
 * last: who dropped them, or the library with its last answer. What the
 * library leaves unanswered when its handle is closed (ZOOKEEPER-2894) is
 * buried with the link. What is sent, and what comes back, is send.c's.
 * Called by the front's thread, and by the library's with answers.
 */
#include "src/backend/zookeeper/call.h"

#include "src/backend/zookeeper/errors.h"
#include "src/backend/zookeeper/parts.h"
#include "src/base/alloc.h"

#include <string.h>

/* Much more than it takes to queue what may be left. */
#define LINGER_MS 20

/* A release has two requests, or four if it searches (simple_leave.c), and its
 * own claim's proof of life one. */
enum { SPARE_SLOTS = 4 };

static struct hf__zk_calls *allocate(int n)
{
    return hf__alloc(sizeof(struct hf__zk_calls) +
                     (size_t)n * sizeof(struct hf__zk_slot));
}

int hf__zk_calls_reserve(struct hf__zk_front *f)
{
    if (f->spare == NULL) {
        f->spare = allocate(SPARE_SLOTS);
    }
    return f->spare == NULL ? (int)HF_ENOMEM : (int)HF_OK;
}

static struct hf__zk_calls *take_spare(struct hf__zk_front *f, int n)
{
    struct hf__zk_calls *spare = n <= SPARE_SLOTS ? f->spare : NULL;

    if (spare != NULL) {
        f->spare = NULL;
        spare->is_spare = true;
    }
    return spare;
}

struct hf__zk_calls *hf__zk_calls_new(struct hf__zk_front *f, int n)
{
    struct hf__zk_calls *calls = allocate(n);

    if (calls == NULL) {
        calls = take_spare(f, n);
    } else {
        (void)hf__zk_calls_reserve(f); /* the one before may be under way */
    }
    if (calls == NULL) {
        return NULL;
    }
    hf__mutex_init(&calls->mutex);
    calls->link = f->link;
    calls->front = f;
    calls->n = n;
    for (int i = 0; i < n; i++) {
        calls->slots[i].calls = calls;
        calls->slots[i].answer.rc = HF__ZK_PENDING;
    }
    HF_SCOPED_LOCK(&f->link->mutex);
    hf__list_push(&f->link->calls, &calls->in_link);
    return calls;
}

static void free_answer(struct hf__zk_answer *answer)
{
    for (int i = 0; i < answer->names.n; i++) {
        hf__free(answer->names.list[i]);
    }
    hf__free(answer->names.list);
    hf__free(answer->text);
}

/* Nobody else has it any more; it is in no list. */
static void clear_calls(struct hf__zk_calls *calls)
{
    for (int i = 0; i < calls->n; i++) {
        free_answer(&calls->slots[i].answer);
    }
    hf__zk_joins_free(calls);
    hf__mutex_fini(&calls->mutex);
}

static void free_calls(struct hf__zk_calls *calls)
{
    clear_calls(calls);
    hf__free(calls);
}

static void unlist(struct hf__zk_calls *calls)
{
    hf__mutex_lock(&calls->link->mutex);
    hf__list_remove(&calls->in_link);
    hf__mutex_unlock(&calls->link->mutex);
}

static void end_calls(struct hf__zk_calls *calls)
{
    unlist(calls);
    free_calls(calls);
}

/* By its front, whose it is again. */
static void put_back(struct hf__zk_front *f, struct hf__zk_calls *calls)
{
    unlist(calls);
    clear_calls(calls);
    memset(calls, 0,
           sizeof *calls + (size_t)SPARE_SLOTS * sizeof calls->slots[0]);
    f->spare = calls;
}

void hf__zk_calls_drop(struct hf__zk_calls *calls)
{
    if (calls == NULL) {
        return;
    }
    hf__mutex_lock(&calls->mutex);
    struct hf__zk_front *f = calls->front;
    calls->front = NULL;
    bool is_last = calls->in_flight == 0;
    hf__mutex_unlock(&calls->mutex);
    if (is_last && calls->is_spare && f->spare == NULL) {
        put_back(f, calls);
    } else if (is_last) {
        end_calls(calls);
    }
}

void hf__zk_calls_bury(struct hf__zk_calls *calls)
{
    HF_ASSERT(calls->front == NULL);
    free_calls(calls);
}

struct hf__zk_slot *hf__zk_slot_sent(struct hf__zk_calls *calls, int i)
{
    struct hf__zk_slot *slot = NULL;

    HF_ASSERT(i >= 0 && i < calls->n);
    slot = &calls->slots[i];
    HF_SCOPED_LOCK(&calls->mutex);
    HF_ASSERT(slot->stage == HF__ZK_UNSENT);
    slot->stage = HF__ZK_SENT;
    slot->answer.was_sent = true;
    slot->sent = hf__now();
    calls->asked = slot->sent;
    calls->in_flight++;
    return slot;
}

/* While the library closes a handle, it answers all that is left on one thread
 * and queues it on another; if the first is the faster one, it ends, and the
 * rest is leaked (ZOOKEEPER-2894). So it is held back for a moment, once. */
static void linger(struct hf__zk_link *link)
{
    if (!atomic_exchange(&link->has_lingered, true)) {
        hf__sleep_until(hf__after_ms(hf__now(), LINGER_MS));
    }
}

/* Did it come from a server that has this session? */
static bool is_servers(const struct hf__zk_answer *answer)
{
    return answer->was_sent && !hf__zk_is_unknown(answer->rc) &&
           answer->rc != ZINVALIDSTATE && answer->rc != ZAUTHFAILED &&
           answer->rc != ZSESSIONMOVED;
}

void hf__zk_slot_answer(struct hf__zk_slot *slot, struct hf__zk_answer *answer)
{
    struct hf__zk_calls *calls = slot->calls;
    atomic_uint *sleeper = NULL;

    if (is_servers(answer)) {
        hf__zk_note_answer(calls->link, slot->sent);
    }

    if (answer->rc == ZCLOSING) {
        linger(calls->link);
    }

    hf__mutex_lock(&calls->mutex);
    HF_ASSERT(slot->stage == HF__ZK_SENT);
    slot->answer = *answer;
    slot->stage = HF__ZK_ANSWERED;
    bool is_last = --calls->in_flight == 0;
    bool is_dropped = calls->front == NULL;
    if (is_last && !is_dropped) {
        sleeper = hf__unpark_begin(&calls->front->parker);
    }
    hf__mutex_unlock(&calls->mutex);
    hf__unpark_end(sleeper); /* who wakes wants the mutex */
    if (is_last && is_dropped) {
        end_calls(calls);
    }
}

static bool is_answered(struct hf__zk_calls *calls, hf__time *ret_asked)
{
    HF_SCOPED_LOCK(&calls->mutex);
    *ret_asked = calls->asked;
    return calls->in_flight == 0;
}

int hf__zk_await(struct hf__zk_calls *calls, hf__time deadline, hf_error *err)
{
    struct hf__zk_front *f = calls->front;

    for (;;) {
        unsigned seen = hf__parker_seen(&f->parker);
        hf__time asked;

        if (is_answered(calls, &asked)) {
            return HF_OK;
        }
        int r = hf__zk_may_wait(f, deadline, err);
        if (r != HF_OK) {
            return r;
        }
        hf__park(&f->parker, seen,
                 hf__earlier(deadline, hf__zk_mind_silence(f, asked)));
    }
}

const struct hf__zk_answer *hf__zk_answer(struct hf__zk_calls *calls, int i)
{
    static const struct hf__zk_answer unsent = {.rc = HF__ZK_PENDING};
    static const struct hf__zk_answer pending = {.rc = HF__ZK_PENDING,
                                                 .was_sent = true};
    HF_ASSERT(i >= 0 && i < calls->n);
    HF_SCOPED_LOCK(&calls->mutex);
    switch (calls->slots[i].stage) {
    case HF__ZK_UNSENT:
        return &unsent;
    case HF__ZK_SENT:
        return &pending;
    case HF__ZK_ANSWERED:
        break;
    }
    return &calls->slots[i].answer;
}
