/* SPDX-License-Identifier: MIT */
/*
 * Several operations of one kind as one command, and the reply of each in its
 * reply: what a script costs before it does anything, and the names of what it
 * is told, is more than what it does. lua/many.lua reads what is written here.
 * Called by the session's thread.
 */
#include "src/backend/redis/ask.h"

#include <string.h>

bool hf__many_can(const struct hf__op *op)
{
    return op->manner.mode == HF__MODE_EXCLUSIVE &&
           (op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE ||
            op->kind == HF__OP_ACQUIRE);
}

static enum hf__script script_of(enum hf__op_kind kind)
{
    if (kind == HF__OP_ACQUIRE) {
        return HF__SCRIPT_ACQUIRE_MANY;
    }
    return kind == HF__OP_RENEW ? HF__SCRIPT_RENEW_MANY
                                : HF__SCRIPT_RELEASE_MANY;
}

static int add_keys(struct hf__bytes *bytes, struct hf__op *const ops[], int n)
{
    struct hf__script_keys keys;
    struct hf__args number;

    hf__args_clear(&number);
    hf__args_number(&number, (int64_t)n * HF__KEYS);
    hf__bytes_word(bytes, number.at[0], number.length[0]);
    for (int i = 0; i < n; i++) {
        hf__script_keys(&ops[i]->key, &keys);
        for (int k = 0; k < HF__KEYS; k++) {
            hf__bytes_word(bytes, keys.bytes[k], keys.length[k]);
        }
    }
    return n * HF__KEYS;
}

static bool is_same(const struct hf__args *a, const struct hf__args *b, int i)
{
    return i < a->n && i < b->n && a->length[i] == b->length[i] &&
           memcmp(a->at[i], b->at[i], a->length[i]) == 0;
}

/* Which arguments are not those of the one before (what is not said any more
 * is empty), these, and the token, which is the first of each. Gives how many
 * words they are. */
static int add_news(struct hf__bytes *bytes, const struct hf__args *args,
                    const struct hf__args *before)
{
    int most = args->n > before->n ? args->n : before->n;
    char news[1 + HF__ARGS_MAX] = "!";
    size_t n = 1;

    for (int i = 1; i < most; i++) {
        if (!is_same(args, before, i)) {
            news[n++] = (char)('A' + i);
        }
    }
    if (n > 1) {
        hf__bytes_word(bytes, news, n);
    }
    for (size_t i = 1; i < n; i++) {
        int at = news[i] - 'A';
        bool is_said = at < args->n;

        hf__bytes_word(bytes, is_said ? args->at[at] : "",
                       is_said ? args->length[at] : 0);
    }
    hf__bytes_word(bytes, args->at[0], args->length[0]);
    return n > 1 ? (int)n + 1 : 1;
}

void hf__many_add(struct hf__bytes *bytes, struct hf__op *const ops[], int n,
                  const struct hf__ask *ask)
{
    enum hf__script script = script_of(ops[0]->kind);
    const char *word = ask->with_text ? "EVAL" : "EVALSHA";
    const char *what =
        ask->with_text ? hf__script_text(script) : hf__script_hash(script);
    struct hf__ask_words words[2];
    size_t begun = hf__bytes_begin(bytes);
    int added = 3;

    hf__bytes_word(bytes, word, strlen(word));
    hf__bytes_word(bytes, what, strlen(what));
    added += add_keys(bytes, ops, n);
    hf__args_clear(&words[1].args);
    for (int i = 0; i < n; i++) {
        struct hf__ask_words *now = &words[i & 1];

        hf__args_clear(&now->args);
        hf__ask_words(now, ops[i], ask);
        added += add_news(bytes, &now->args, &words[(i & 1) ^ 1].args);
    }
    hf__bytes_end(bytes, begun, added);
}

/* What fails as a whole does so for each; of what is no reply of ours at all
 * nothing is believed. */
const redisReply *hf__many_reply(const redisReply *reply, int i, int n)
{
    static const redisReply nothing = {.type = REDIS_REPLY_NIL};

    if (reply->type == REDIS_REPLY_ERROR) {
        return reply;
    }
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == (size_t)n
               ? reply->element[i]
               : &nothing;
}
