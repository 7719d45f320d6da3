/* SPDX-License-Identifier: MIT */
/*
 * Operations as commands. What their scripts do is in lua/, what comes back is
 * answer.c's. No grant here lives by a session, so that one is detached need
 * not be said. Called by the session's thread.
 */
#include "src/backend/redis/ask.h"

#include <stdio.h>
#include <string.h>

static enum hf__script script_of(enum hf__op_kind kind)
{
    switch (kind) {
    case HF__OP_RENEW:
        return HF__SCRIPT_RENEW;
    case HF__OP_RELEASE:
        return HF__SCRIPT_RELEASE;
    case HF__OP_HANDOVER:
        return HF__SCRIPT_HANDOVER;
    case HF__OP_RAISE:
        return HF__SCRIPT_RAISE;
    case HF__OP_ACQUIRE:
        return HF__SCRIPT_ACQUIRE;
    case HF__OP_BREAK:
        return HF__SCRIPT_BREAK;
    case HF__OP_INSPECT:
        break;
    }
    return HF__SCRIPT_INSPECT;
}

static const char *word_of(enum hf__mode mode)
{
    switch (mode) {
    case HF__MODE_SHARED:
        return "s";
    case HF__MODE_SLOTS:
        return "n";
    case HF__MODE_EXCLUSIVE:
        break;
    }
    return "x";
}

static const char *queueing_of(enum hf__queueing queueing)
{
    switch (queueing) {
    case HF__QUEUE_BEHIND_SHARED:
        return "behind";
    case HF__QUEUE_ALWAYS:
        return "always";
    case HF__QUEUE_NEVER:
        break;
    }
    return "never";
}

/* ---- whose it is, as JSON */

static char *put(char *to, const char *text)
{
    size_t length = strlen(text);

    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more is put after */
    memcpy(to, text, length);
    return to + length;
}

static char *put_string(char *to, const char *name, const char *text)
{
    to = put(put(put(to, "\""), name), "\":\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            *to++ = '\\';
            *to++ = *c;
        } else if ((unsigned char)*c < 0x20) {
            to += snprintf(to, 7, "\\u%04x", (unsigned)*c);
        } else {
            *to++ = *c;
        }
    }
    return put(to, "\",");
}

static void write_owner(char *to, const struct hf__owner *owner)
{
    struct hf__args number;

    to = put(to, "{");
    to = put_string(to, "label", owner->label);
    to = put_string(to, "host", owner->host);
    to = put_string(to, "thread", owner->thread);
    to = put_string(to, "note", owner->note);
    hf__args_clear(&number);
    hf__args_number(&number, owner->pid);
    to = put(to, "\"pid\":");
    memcpy(to, number.at[0], number.length[0]);
    to = put(to + number.length[0], "}");
    *to = '\0';
}

/* ---- arguments */

/* The last of them, as far as they are what a script takes them for anyway:
 * each word costs a server some of what the whole operation does. */
static void drop_defaults(struct hf__args *args, const char *const defaults[],
                          int n)
{
    while (n > 0 && args->length[args->n - 1] == strlen(defaults[n - 1]) &&
           memcmp(args->at[args->n - 1], defaults[n - 1],
                  args->length[args->n - 1]) == 0) {
        args->n--;
        n--;
    }
}

static void add_acquire(struct hf__ask_words *words, const struct hf__op *op,
                        const struct hf__ask *ask)
{
    static const char *const defaults[] = {"0", "0", "x", "0", "never"};
    struct hf__args *args = &words->args;

    write_owner(words->owner, op->owner);
    hf__args_token(args, &op->token);
    hf__args_number(args, op->lease_us);
    hf__args_word(args, words->owner);
    hf__args_word(args, words->mark);
    hf__args_number(args, (int64_t)ask->proposal);
    hf__args_number(args, op->keep_us);
    hf__args_word(args, word_of(op->manner.mode));
    hf__args_number(args, op->manner.slots);
    hf__args_word(args, queueing_of(op->queueing));
    drop_defaults(args, defaults, 5);
}

static void add_handover(struct hf__ask_words *words, const struct hf__op *op)
{
    struct hf__args *args = &words->args;

    write_owner(words->owner, op->owner);
    hf__args_token(args, &op->token);
    hf__args_number(args, op->lease_us);
    hf__args_number(args, op->keep_us);
    hf__args_token(args, &op->next_token);
    hf__args_word(args, words->owner);
}

static void add_bool(struct hf__args *args, bool is)
{
    hf__args_word(args, is ? "1" : "0");
}

/* Only a member's scripts look at it; said to others it would be what tells
 * one operation from the next. */
static void add_fence(struct hf__args *args, const struct hf__op *op,
                      const struct hf__ask *ask)
{
    hf__args_number(args, ask->recreates ? (int64_t)op->fence : 0);
}

/* As each script's head says. */
static void add_words(struct hf__ask_words *words, const struct hf__op *op,
                      const struct hf__ask *ask)
{
    static const char *const zeros[] = {"0", "0", "0"};
    struct hf__args *args = &words->args;

    switch (op->kind) {
    case HF__OP_ACQUIRE:
        add_acquire(words, op, ask);
        break;
    case HF__OP_HANDOVER:
        add_handover(words, op);
        break;
    case HF__OP_RENEW:
        hf__args_token(args, &op->token);
        hf__args_number(args, op->lease_us);
        add_fence(args, op, ask);
        add_bool(args, ask->recreates);
        drop_defaults(args, zeros, 2);
        break;
    case HF__OP_RELEASE:
        hf__args_token(args, &op->token);
        add_fence(args, op, ask);
        add_bool(args, op->reopens);
        add_bool(args, ask->recreates);
        add_bool(args, op->is_doubtful || ask->buries);
        add_bool(args, ask->undoes);
        drop_defaults(args, zeros, 3);
        break;
    case HF__OP_RAISE:
        hf__args_token(args, &op->token);
        hf__args_number(args, (int64_t)op->fence);
        break;
    case HF__OP_BREAK:
        hf__args_word(args, "");
        hf__args_number(args, (int64_t)op->fence);
        hf__args_number(args, (int64_t)ask->proposal);
        break;
    case HF__OP_INSPECT:
        hf__args_word(args, "");
        add_bool(args, op->ret_crowd != NULL);
        break;
    }
}

void hf__mark_write(uint64_t client, char mark[HF__MARK_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = HF__MARK_SIZE - 2; i >= 0; i--) {
        mark[i] = digits[client & 15];
        client >>= 4;
    }
    mark[HF__MARK_SIZE - 1] = '\0';
}

void hf__ask_words(struct hf__ask_words *words, const struct hf__op *op,
                   const struct hf__ask *ask)
{
    words->mark[0] = '\0';
    if (ask->client != 0) {
        hf__mark_write(ask->client, words->mark);
    }
    add_words(words, op, ask);
}

void hf__ask_add(struct hf__bytes *bytes, const struct hf__op *op,
                 const struct hf__ask *ask)
{
    struct hf__ask_words words;
    struct hf__script_keys keys;

    hf__script_begin(&words.args, script_of(op->kind), ask->with_text, &op->key,
                     &keys);
    hf__ask_words(&words, op, ask);
    hf__bytes_add(bytes, &words.args);
}
