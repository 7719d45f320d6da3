/* SPDX-License-Identifier: MIT */
/*
 * Reads the scripts' replies as results. A reply that makes no sense comes from
 * a record that something else wrote: HF_EPROTO, and nothing in it is used.
 * Called by the session's thread.
 */
#include "src/backend/redis/ask.h"

#include "src/base/error.h"
#include "src/base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements */

static const redisReply *element(const redisReply *reply, size_t i)
{
    static const redisReply nothing = {.type = REDIS_REPLY_NIL};

    return reply->type == REDIS_REPLY_ARRAY && i < reply->elements
               ? reply->element[i]
               : &nothing;
}

static bool is_word(const redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_STRING &&
           (size_t)reply->len == strlen(word) &&
           memcmp(reply->str, word, (size_t)reply->len) == 0;
}

/* A number that the script computed is an integer; one that it read from a
 * field is a string. 0 if it is not a number. */
static int64_t number_in(const redisReply *reply)
{
    char *end = NULL;
    long long number;

    if (reply->type == REDIS_REPLY_INTEGER) {
        return reply->integer;
    }
    if (reply->type != REDIS_REPLY_STRING) {
        return 0;
    }
    errno = 0;
    number = strtoll(reply->str, &end, 10);
    return errno == 0 && *end == '\0' ? number : 0;
}

/* A damaged fence becomes HF__FENCE_END, which the wrappers refuse. */
static uint64_t fence_in(const redisReply *reply)
{
    int64_t fence = number_in(reply);

    return fence < 0 || (uint64_t)fence >= HF__FENCE_END ? HF__FENCE_END
                                                         : (uint64_t)fence;
}

/* ACQUIRE returns a negative fence if it took over a grant that was not given
 * back. */
static void read_granted(const redisReply *reply, const struct hf__op *op,
                         struct hf__answer *a)
{
    int64_t fence = number_in(reply);

    a->took_over = op->kind == HF__OP_ACQUIRE && fence < 0 &&
                   fence > -(int64_t)HF__FENCE_END;
    a->fence = a->took_over ? (uint64_t)-fence : fence_in(reply);
}

int64_t hf__answer_time(const redisReply *reply)
{
    int64_t seconds = 0;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
        return 0;
    }
    seconds = number_in(reply->element[0]);
    if (seconds < 0 || seconds > HF__TIME_END / 1000000) {
        return 0;
    }
    return seconds * 1000000 + hf__time_bounded(number_in(reply->element[1]));
}

static void read_text(const redisReply *reply, char *to, size_t size)
{
    size_t length = 0;

    if (reply->type == REDIS_REPLY_STRING &&
        hf__utf8_is_valid(reply->str, (size_t)reply->len) &&
        strlen(reply->str) == (size_t)reply->len) {
        length = (size_t)reply->len < size ? (size_t)reply->len
                                           : hf__utf8_cut(reply->str, size - 1);
        memcpy(to, reply->str, length);
    }
    to[length] = '\0';
}

static bool read_token(const redisReply *reply, struct hf__token *token)
{
    return reply->type == REDIS_REPLY_STRING &&
           (size_t)reply->len == HF__TOKEN_DIGITS &&
           hf__token_read(reply->str, token);
}

/* ---- records */

/* The order of the elements by which compatibility.lua describes a name or a
 * grant. */
enum part {
    STATE,
    FENCE,
    LEFT,
    MODE,
    SLOTS,
    SLOT,
    TOKEN,
    ACQUIRED,
    LABEL,
    HOST,
    THREAD,
    NOTE,
    PID
};

static bool read_lock_mode(const redisReply *told, struct hf__record *record)
{
    const redisReply *mode = element(told, MODE);
    int64_t slots = number_in(element(told, SLOTS));
    int64_t slot = number_in(element(told, SLOT));

    record->slot = -1;
    if (is_word(mode, "x") || is_word(mode, "s")) {
        record->lock_mode.mode =
            is_word(mode, "s") ? HF__MODE_SHARED : HF__MODE_EXCLUSIVE;
        return slots == 0;
    }
    if (!is_word(mode, "n") || slots < 1 || slots > HF_SLOTS_MAX ||
        slot >= slots) {
        return false;
    }
    record->lock_mode = (struct hf__lock_mode){HF__MODE_SLOTS, (int)slots};
    record->slot = slot < 0 ? -1 : (int)slot;
    return true;
}

static void read_owner(const redisReply *told, struct hf__owner *owner)
{
    read_text(element(told, LABEL), owner->label, sizeof owner->label);
    read_text(element(told, HOST), owner->host, sizeof owner->host);
    read_text(element(told, THREAD), owner->thread, sizeof owner->thread);
    read_text(element(told, NOTE), owner->note, sizeof owner->note);
    owner->pid = number_in(element(told, PID));
}

/* A grant or a waiter. */
static bool read_participant(const redisReply *told,
                             struct hf__participant_info *participant)
{
    struct hf__record *record = &participant->record;

    *record = (struct hf__record){.holder_lives = -1};
    participant->is_waiting = is_word(element(told, STATE), "waiting");
    record->is_held = is_word(element(told, STATE), "held");
    if (participant->is_waiting == record->is_held ||
        !read_lock_mode(told, record)) {
        return false;
    }
    record->fence = fence_in(element(told, FENCE));
    record->remaining_us = number_in(element(told, LEFT));
    record->acquired_us = number_in(element(told, ACQUIRED));
    read_owner(told, &record->owner);
    return participant->is_waiting ||
           read_token(element(told, TOKEN), &record->token);
}

static bool read_record(const redisReply *told, struct hf__record *record)
{
    const redisReply *state = element(told, STATE);
    struct hf__participant_info participant;

    if (is_word(state, "held")) {
        if (!read_participant(told, &participant)) {
            return false;
        }
        *record = participant.record;
        return true;
    }
    *record = (struct hf__record){.holder_lives = -1, .slot = -1};
    record->is_kept = is_word(state, "kept");
    record->is_promised = is_word(state, "promised");
    record->fence = fence_in(element(told, FENCE));
    record->remaining_us = number_in(element(told, LEFT));
    return record->is_kept || record->is_promised || is_word(state, "free") ||
           is_word(state, "none");
}

/* ---- replies */

static bool read_lost(const redisReply *reply, const struct hf__op *op,
                      struct hf__answer *a)
{
    const redisReply *why = element(reply, 1);

    if (!read_record(element(reply, 3), &a->record)) {
        return false;
    }
    a->result = HF_LOST;
    a->fence = a->record.fence;
    if (is_word(why, "broken")) {
        a->reason = HF_REASON_BROKEN;
    } else if (is_word(why, "expired")) {
        a->reason = HF_REASON_EXPIRED;
    } else {
        a->reason =
            hf__reason_for(op->fence, a->fence, fence_in(element(reply, 2)));
    }
    return true;
}

static bool read_participants(const redisReply *reply, const struct hf__op *op,
                              struct hf__answer *a)
{
    for (size_t i = 2; i < reply->elements; i++) {
        struct hf__participant_info participant;

        if (!read_participant(element(reply, i), &participant)) {
            return false;
        }
        if (op->ret_participants != NULL &&
            hf__participant_list_add(op->ret_participants, &participant) !=
                HF_OK) {
            a->result =
                hf__fail(&a->err, HF_ENOMEM, "out of memory for a look");
            return true;
        }
    }
    return true;
}

static bool read_ok(const redisReply *reply, const struct hf__op *op,
                    struct hf__answer *a)
{
    const redisReply *place = element(reply, 2);
    int64_t slot = number_in(place);

    a->result = HF_OK;
    switch (op->kind) {
    case HF__OP_INSPECT:
        if (!read_record(element(reply, 1), &a->record)) {
            return false;
        }
        a->fence = a->record.fence;
        return read_participants(reply, op, a);
    case HF__OP_BREAK:
        a->fence = fence_in(element(reply, 1));
        return read_record(element(reply, 2), &a->record);
    case HF__OP_ACQUIRE:
    case HF__OP_RENEW:
        read_granted(element(reply, 1), op, a);
        a->slot = (int)slot;
        return place->type != REDIS_REPLY_NIL && slot >= -1 &&
               slot < HF_SLOTS_MAX;
    case HF__OP_RELEASE:
    case HF__OP_HANDOVER:
    case HF__OP_RAISE:
        break;
    }
    a->fence = fence_in(element(reply, 1));
    return true;
}

/* A script returns only a fence if nobody else is at the name: success. */
static bool read_fence(const redisReply *reply, const struct hf__op *op,
                       struct hf__answer *a)
{
    a->result = HF_OK;
    read_granted(reply, op, a);
    return op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW ||
           op->kind == HF__OP_RELEASE || op->kind == HF__OP_HANDOVER;
}

static bool read_busy(const redisReply *reply, struct hf__answer *a)
{
    a->result = HF_BUSY;
    a->is_queued = number_in(element(reply, 1)) == 1;
    if (!read_record(element(reply, 2), &a->record)) {
        return false;
    }
    a->fence = a->record.fence;
    return true;
}

static bool read_misfit(const redisReply *reply, const struct hf__op *op,
                        struct hf__answer *a)
{
    struct hf__op told = *op;
    int64_t slots = number_in(element(reply, 1));

    told.err = &a->err;
    a->result = hf__tell_misfit(&told, (int)slots);
    return op->lock_mode.mode == HF__MODE_SLOTS && slots >= 1 &&
           slots <= HF_SLOTS_MAX;
}

static bool read_conflict(const redisReply *reply, struct hf__answer *a)
{
    a->result = HF_CONFLICT;
    if (!read_record(element(reply, 1), &a->record)) {
        return false;
    }
    a->fence = a->record.fence;
    return true;
}

static bool read_reply(const redisReply *reply, const struct hf__op *op,
                       struct hf__answer *a)
{
    const redisReply *word = element(reply, 0);
    bool may_wait = op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_HANDOVER;

    if (reply->type == REDIS_REPLY_INTEGER) {
        return read_fence(reply, op, a);
    }
    if (is_word(word, "ok")) {
        return read_ok(reply, op, a);
    }
    if (op->kind == HF__OP_BREAK) {
        return is_word(word, "conflict") && read_conflict(reply, a);
    }
    if (may_wait && is_word(word, "busy")) {
        return read_busy(reply, a);
    }
    if (op->kind == HF__OP_ACQUIRE && is_word(word, "misfit")) {
        return read_misfit(reply, op, a);
    }
    if (op->kind == HF__OP_ACQUIRE && is_word(word, "void")) {
        a->result =
            hf__fail(&a->err, HF_EUNAVAIL, "this claim was given back already");
        return true;
    }
    return op->kind != HF__OP_ACQUIRE && op->kind != HF__OP_INSPECT &&
           is_word(word, "lost") && read_lost(reply, op, a);
}

static bool begins_with(const char *words, const char *word)
{
    return strncmp(words, word, strlen(word)) == 0;
}

static void read_error(const redisReply *reply, const struct hf__op *op,
                       struct hf__answer *a)
{
    const char *words = hf__redis_words(reply);

    a->has_no_script = begins_with(words, "NOSCRIPT");
    a->is_elsewhere =
        begins_with(words, "READONLY") || begins_with(words, "MASTERDOWN");
    a->result = hf__redis_error(reply, &op->key, &a->err);
    if (a->result == HF_EINVAL) {
        a->result = HF_EPROTO; /* the operation is not at fault */
    }
}

static int fail_senseless(const struct hf__key *key, hf_error *err)
{
    return hf__fail(err, HF_EPROTO,
                    "\"%.*s\": what the store keeps of it makes no "
                    "sense; it was written by something else",
                    (int)(key->length - key->name_at),
                    key->bytes + key->name_at);
}

void hf__answer_read(const redisReply *reply, const struct hf__op *op,
                     struct hf__answer *a)
{
    *a = (struct hf__answer){
        .slot = -1,
        .record = {.holder_lives = -1, .remaining_us = -1, .slot = -1},
        .err = HF_ERROR_INIT,
    };
    if (reply->type == REDIS_REPLY_ERROR) {
        read_error(reply, op, a);
    } else if (!read_reply(reply, op, a)) {
        a->result = fail_senseless(&op->key, &a->err);
    }
}

static bool read_cell(const redisReply *reply, struct hf__cell_op *op)
{
    const redisReply *value = element(reply, 3);
    struct hf__cell_state *now = &op->state;
    bool is_get = op->what == HF__CELL_GET;
    bool is_ok = is_word(element(reply, 0), "ok");

    op->result = is_ok ? HF_OK : HF_CONFLICT;
    now->version = fence_in(element(reply, 1));
    now->has_value = value->type != REDIS_REPLY_NIL;
    now->length = value->type == REDIS_REPLY_STRING ? (size_t)value->len
                                                    : (size_t)number_in(value);
    if (element(reply, 1)->type != REDIS_REPLY_INTEGER ||
        now->length > HF__CELL_MAX || now->version == HF__FENCE_END ||
        (!is_ok && (is_get || !is_word(element(reply, 0), "conflict")))) {
        return false;
    }
    if (is_get && now->has_value) {
        if (value->type != REDIS_REPLY_STRING) {
            return false;
        }
        memcpy(op->value, value->str, now->length);
    }
    return now->version == 0 ? !now->has_value && (is_get || !is_ok)
                             : read_token(element(reply, 2), &now->writer);
}

void hf__answer_cell(const redisReply *reply, struct hf__cell_op *op,
                     struct hf__answer *a)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        hf__answer_read(reply, &(struct hf__op){.key = op->key}, a);
        op->result = a->result;
        if (!a->has_no_script) {
            hf__error_copy(op->err, &a->err);
        }
    } else if (!read_cell(reply, op)) {
        op->result = fail_senseless(&op->key, op->err);
    }
}

void hf__answer_give(const struct hf__answer *a, struct hf__op *op)
{
    op->result = a->result;
    op->is_queued = a->is_queued;
    op->slot = a->slot;
    op->took_over = a->took_over && a->result == HF_OK;
    if (a->result < 0) {
        if (a->err.status != 0) {
            hf__error_copy(op->err, &a->err);
        }
        return;
    }
    op->fence = a->fence;
    op->ret_reason = a->reason;
    if (op->ret_record != NULL) {
        *op->ret_record = a->record;
    }
}
