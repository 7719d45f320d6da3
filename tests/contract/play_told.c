/* SPDX-License-Identifier: MIT */
/*
 * What a store said, and what was expected, as text: so that a difference can
 * be read, with all that was asked before.
 */
#include "tests/contract/play.h"

#include <string.h>

enum { TOLD_SIZE = 1024, BEHIND_MS = 1000 };

static const char *name_of(const struct play *play, const struct hf__token *t)
{
    for (int i = 0; i < PARTIES_N; i++) {
        if (hf__token_equal(&claim_of(play->parties[i], play->name)->token,
                            t)) {
            return play->parties[i]->owner.label;
        }
    }
    return hf__token_is_zero(t) ? "nobody" : "who was";
}

static const char *word_for(enum hf__op_kind kind)
{
    static const char *const words[] = {
        [HF__OP_RENEW] = "renews",        [HF__OP_RELEASE] = "releases",
        [HF__OP_HANDOVER] = "hands over", [HF__OP_RAISE] = "raises",
        [HF__OP_ACQUIRE] = "acquires",    [HF__OP_INSPECT] = "inspects",
        [HF__OP_BREAK] = "breaks"};

    return words[kind];
}

/* Who can't hand over asked for no record. */
static bool tells_record(const struct hf__op *op)
{
    return (op->result == HF_BUSY && op->kind == HF__OP_ACQUIRE) ||
           op->result == HF_LOST || op->result == HF_CONFLICT ||
           op->kind == HF__OP_INSPECT || op->kind == HF__OP_BREAK;
}

static bool tells_slot(const struct hf__op *op)
{
    return op->result == HF_OK &&
           (op->kind == HF__OP_ACQUIRE ||
            (op->kind == HF__OP_RENEW && op->lock_mode.mode == HF__MODE_SLOTS));
}

static size_t say_record(const struct play *play, const struct hf__record *r,
                         char *to, size_t size)
{
    return (size_t)snprintf(
        to, size, "; %s%s%s%s of %s, called %s, manner %d of %d, slot %d, %llu",
        r->is_held ? "held" : "", r->is_kept ? "kept" : "",
        r->is_promised ? "promised" : "",
        r->is_held || r->is_kept || r->is_promised ? "" : "free",
        name_of(play, &r->token), r->is_held ? r->owner.label : "",
        (int)r->lock_mode.mode, r->lock_mode.slots, r->slot,
        (unsigned long long)r->fence);
}

/*
 * The result, and what belongs to it. Where what an attempt left is taken back
 * after its answer, the servers that answer next may be those which have not
 * heard of it all: they agree on the result, and no more is compared.
 */
static void say(const struct play *play, const struct request *rq, char *to,
                size_t size)
{
    const struct hf__op *op = &rq->op;
    size_t n = (size_t)snprintf(to, size, "result %d", op->result);

    if (settles_late()) {
        return;
    }
    if (op->kind == HF__OP_ACQUIRE) {
        n += (size_t)snprintf(to + n, size - n, "%s%s",
                              op->is_queued ? ", in line" : "",
                              op->took_over ? ", taken over" : "");
    }
    if (tells_slot(op)) {
        n += (size_t)snprintf(to + n, size - n, ", slot %d", op->slot);
    }
    if (op->result == HF_LOST) {
        n += (size_t)snprintf(to + n, size - n, ", reason %d, fence %llu",
                              (int)op->ret_reason,
                              (unsigned long long)op->fence);
    }
    if (tells_record(op)) {
        (void)say_record(play, &rq->record, to + n, size - n);
    }
}

static void note(struct play *play, const struct turn *t, const char *told)
{
    int n = snprintf(
        play->story + play->length, sizeof play->story - play->length,
        "# %s %s (manner %d, queueing %d, fence %llu): %s\n", t->p->owner.label,
        word_for(t->found.op.kind), (int)t->found.op.lock_mode.mode,
        (int)t->found.op.queueing, (unsigned long long)t->fence, told);

    if (n > 0 && (size_t)n < sizeof play->story - play->length) {
        play->length += (size_t)n;
    }
}

/* How long it is held or kept still: those who ask choose it, unless it is the
 * session's. */
static void compare_times(const struct turn *t)
{
    int64_t found_us = t->found.record.remaining_us;
    int64_t expected_us = t->model.record.remaining_us;

    if (tells_record(&t->found.op) && expected_us >= 0 &&
        !has(HF_CAP_SESSION) && !settles_late()) {
        EXPECT_LESS(found_us, expected_us + BEHIND_MS * INT64_C(1000));
        EXPECT_MORE(found_us, expected_us - BEHIND_MS * INT64_C(1000));
    }
}

void compare(struct play *play, const struct turn *t)
{
    char told[TOLD_SIZE];
    char expected[TOLD_SIZE];

    say(play, &t->found, told, sizeof told);
    say(play, &t->model, expected, sizeof expected);
    note(play, t, told);
    if (strcmp(told, expected) != 0) {
        printf("# seed %llu, scene %d:\n%s# %s\n",
               (unsigned long long)hf__test_seed(), play->scene, play->story,
               t->found.error.text);
        fflush(stdout);
    }
    EXPECT_TEXT(told, expected);
    compare_times(t);
}
