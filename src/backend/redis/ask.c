/* SPDX-License-Identifier: MIT */
/*
 * Operations as commands: the numbers of the scripts, the names of their keys,
 * their arguments; then several operations of one kind as one command, because
 * calling a script and passing its keys costs a server more than the operation
 * itself. The scripts are in lua/ (many.lua reads the commands of several
 * operations), answer.c reads the replies. No grant here depends on a session,
 * so is_detached is not sent. Called by the session's thread.
 */
#include "src/backend/redis/ask.h"

#include <src/backend/redis/lua/texts.h>

#include <stdio.h>
#include <string.h>

/* ---- scripts and keys */

#define SCRIPT(name)                                                           \
    [HF__SCRIPT_##name] = {HF__LUA_##name, HF__LUA_##name##_SHA1}

static const struct {
    const char *text;
    const char *hash;
} scripts[HF__SCRIPTS] = {
    SCRIPT(ACQUIRE),     SCRIPT(RENEW),        SCRIPT(RELEASE),
    SCRIPT(HANDOVER),    SCRIPT(RAISE),        SCRIPT(BREAK),
    SCRIPT(INSPECT),     SCRIPT(COLLECT),      SCRIPT(SUBSCRIBE),
    SCRIPT(UNSUBSCRIBE), SCRIPT(CELL),         SCRIPT(ACQUIRE_MANY),
    SCRIPT(RENEW_MANY),  SCRIPT(RELEASE_MANY),
};

const char *hf__script_text(enum hf__script script)
{
    return scripts[script].text;
}

const char *hf__script_hash(enum hf__script script)
{
    return scripts[script].hash;
}

/* Because of the braces, the nodes of a cluster, and proxies to them, keep all
 * keys of a name together. */
static size_t write_name(char *to, const struct hf__key *key,
                         const char *ending)
{
    size_t prefix = key->name_at;
    size_t name = key->length - prefix;
    size_t end = strlen(ending);

    memcpy(to, key->bytes, prefix);
    to[prefix] = '{';
    memcpy(to + prefix + 1, key->bytes + prefix, name);
    to[prefix + 1 + name] = '}';
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no text */
    memcpy(to + prefix + name + 2, ending, end);
    return prefix + name + 2 + end;
}

void hf__script_keys(const struct hf__key *key, struct hf__script_keys *keys)
{
    static const char *const endings[HF__KEYS] = {"", ":w", ":q", ":b"};

    for (int i = 0; i < HF__KEYS; i++) {
        keys->length[i] = write_name(keys->bytes[i], key, endings[i]);
    }
}

void hf__script_begin(struct hf__args *args, enum hf__script script,
                      bool with_text, const struct hf__key *key,
                      struct hf__script_keys *keys)
{
    hf__script_keys(key, keys);
    hf__args_begin(args, with_text ? "EVAL" : "EVALSHA");
    hf__args_word(args, with_text ? hf__script_text(script)
                                  : hf__script_hash(script));
    hf__args_word(args, "4");
    for (int i = 0; i < HF__KEYS; i++) {
        hf__args_bytes(args, keys->bytes[i], keys->length[i]);
    }
}

/* ---- one operation */

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

/* ---- the owner, as JSON */

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

/* The arguments of an operation behind its script and keys, and the texts that
 * `args` points to. */
struct hf__ask_words {
    struct hf__args args;
    char mark[HF__MARK_SIZE];
    /* JSON: each byte may take six, "\u0001". */
    char owner[6 * sizeof(struct hf__owner) + 80];
};

/* Drop the last arguments as far as they have the script's defaults: each one
 * costs the server a part of the whole operation. */
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
    hf__args_word(args, word_of(op->lock_mode.mode));
    hf__args_number(args, op->lock_mode.slots);
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

/* Only the scripts of a quorum's member use the fence; for others, 0 lets
 * add_news() skip it. */
static void add_fence(struct hf__args *args, const struct hf__op *op,
                      const struct hf__ask *ask)
{
    hf__args_number(args, ask->recreates ? (int64_t)op->fence : 0);
}

/* The arguments are documented at the head of each script. */
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
        add_bool(args, op->is_unanswered || ask->leaves_tombstone);
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
        add_bool(args, op->ret_participants != NULL);
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

static void write_all(struct hf__ask_words *words, const struct hf__op *op,
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
    write_all(&words, op, ask);
    hf__bytes_add(bytes, &words.args);
}

/* ---- several operations */

bool hf__many_can(const struct hf__op *op)
{
    return op->lock_mode.mode == HF__MODE_EXCLUSIVE &&
           (op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE ||
            op->kind == HF__OP_ACQUIRE);
}

static enum hf__script script_of_many(enum hf__op_kind kind)
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

/* Add the letters of the arguments that differ from the operation before (an
 * argument no longer given is sent empty), their values, and the token, which
 * is always sent. Returns the number of words added. */
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
    enum hf__script script = script_of_many(ops[0]->kind);
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
        write_all(now, ops[i], ask);
        added += add_news(bytes, &now->args, &words[(i & 1) ^ 1].args);
    }
    hf__bytes_end(bytes, begun, added);
}

/* An error of the whole command is each operation's. A reply that is not an
 * array of n is read as nil, which no script returns. */
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
