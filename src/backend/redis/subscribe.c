/* SPDX-License-Identifier: MIT */
/*
 * The commands of wait(). Looking at the names and listening for messages begin
 * in one transaction: if another client changes a name before it, the look sees
 * the change, and if after it, a message comes. A listening connection cannot
 * send other commands, so each transaction is preceded by the end of listening;
 * a change in between is found by the look.
 *
 * And the server's replies: the result of a look, which sets when to look
 * again, and messages, which fire watches at once. One look or message is for
 * all watches of a name with the same lock mode and no ticket. A watch that the
 * server refuses fires after a moment, so that its claim finds out why when it
 * asks. Called by the session's thread.
 */
#include "src/backend/redis/subscriptions.h"

#include "src/base/rand.h"

#include <stdio.h>
#include <string.h>

/* Watches due within that time look together with those due now. */
#define TOGETHER_MS 250

struct hf__key hf__subscription_key(const struct hf__subscription *a)
{
    struct hf__key key = a->watch.key;

    key.bytes = a->key;
    return key;
}

static bool has_ticket(const struct hf__subscription *a)
{
    return !hf__token_is_zero(&a->watch.ticket);
}

bool hf__subscribe_is_asking(const struct hf__subscriptions *p)
{
    if (p->acks > 0 || p->owes_batch) {
        return true;
    }
    for (int i = 0; i < p->n; i++) {
        if (p->list[i].is_asked) {
            return true;
        }
    }
    return false;
}

/* ---- commands */

/* The lock mode that it waits for: "x", "s", or the number of slots. */
struct kind {
    char text[12];
};
static struct kind kind_of(const struct hf__subscription *a)
{
    struct kind kind = {"x"};

    switch (a->watch.lock_mode.mode) {
    case HF__MODE_EXCLUSIVE:
        break;
    case HF__MODE_SHARED:
        kind.text[0] = 's';
        break;
    case HF__MODE_SLOTS:
        (void)snprintf(kind.text, sizeof kind.text, "%d",
                       a->watch.lock_mode.slots);
        break;
    }
    return kind;
}

static void add_token(struct hf__args *args, const struct hf__token *token)
{
    if (hf__token_is_zero(token)) {
        hf__args_word(args, "");
    } else {
        hf__args_token(args, token);
    }
}

static void add_one(struct hf__redis *s, struct hf__subscription *a)
{
    struct hf__subscriptions *p = s->subscriptions;
    enum hf__script script =
        a->is_leaving ? HF__SCRIPT_UNSUBSCRIBE : HF__SCRIPT_SUBSCRIBE;
    struct hf__key key = hf__subscription_key(a);
    struct kind kind = kind_of(a);
    struct hf__script_keys keys;
    struct hf__args args;
    char mark[HF__MARK_SIZE];

    hf__mark_write(s->client, mark);
    hf__script_begin(&args, script, p->with_text[a->is_leaving], &key, &keys);
    p->with_text[a->is_leaving] = false; /* the server knows it from then on */
    add_token(&args, &a->watch.ticket);
    hf__args_word(&args, mark);
    hf__args_word(&args, kind.text);
    if (a->is_leaving) {
        hf__args_number(&args, a->was_woken);
    } else {
        hf__args_number(&args, !p->has_no_channel);
    }
    hf__bytes_add(&s->peer.resp.out, &args);
    a->is_asked = true;
    a->is_entered |= !a->is_leaving && !has_ticket(a) && !p->has_no_channel;
}

static void add_all(struct hf__redis *s, hf__time until)
{
    for (int i = 0; i < s->subscriptions->n; i++) {
        struct hf__subscription *a = &s->subscriptions->list[i];

        if (a->is_leaving || (a->is_wanted && !a->has_fired && !a->is_failing &&
                              !hf__before(until, a->due))) {
            add_one(s, a);
        }
    }
}

static void stop_listening(struct hf__redis *s)
{
    if (s->subscriptions->is_subscribed) {
        hf__bytes_words(&s->peer.resp.out,
                        HF__WORDS("UNSUBSCRIBE", s->subscriptions->channel));
        s->subscriptions->acks++;
        s->subscriptions->is_subscribed = false;
    }
}

/* Make the session dead; returns its status. */
static int dead(struct hf__redis *s, int status, const char *why)
{
    hf__peer_fail(&s->peer, status, why);
    return s->peer.status;
}

static int send_all(struct hf__redis *s)
{
    if (hf__resp_queue(&s->peer.resp) != HF_OK) {
        return dead(s, HF_ENOMEM, "out of memory");
    }
    s->subscriptions->is_discarded = false;
    s->subscriptions->is_apart = false;
    s->subscriptions->asked_at = hf__now();
    return hf__resp_flush(&s->peer.resp) == HF_OK
               ? HF_OK
               : dead(s, HF_EUNAVAIL, "the connection was lost");
}

/* All messages for this session come on one channel, named after its client. */
static void name_channel(struct hf__redis *s)
{
    const struct hf__subscription *a = &s->subscriptions->list[0];
    char mark[HF__MARK_SIZE];

    hf__mark_write(s->client, mark);
    (void)snprintf(s->subscriptions->channel, sizeof s->subscriptions->channel,
                   "%.*s;wake:%s", a->watch.key.name_at - 1, a->key, mark);
}

int hf__subscribe_ask(struct hf__redis *s)
{
    struct hf__subscriptions *p = s->subscriptions;
    struct hf__bytes *out = &s->peer.resp.out;
    hf__time now = hf__now();
    int before;

    stop_listening(s);
    if (p->has_no_channel) {
        add_all(s, now);
        return send_all(s);
    }
    name_channel(s);
    hf__bytes_words(out, HF__WORDS("MULTI"));
    before = out->commands;
    add_all(s, hf__after_ms(now, TOGETHER_MS));
    hf__bytes_words(out, HF__WORDS("SUBSCRIBE", p->channel));
    p->acks += 1 + out->commands - before;
    hf__bytes_words(out, HF__WORDS("EXEC"));
    p->owes_batch = true;
    p->is_subscribed = true;
    return send_all(s);
}

int hf__subscribe_part(struct hf__redis *s)
{
    stop_listening(s);
    for (int i = 0; i < s->subscriptions->n; i++) {
        if (s->subscriptions->list[i].is_leaving) {
            add_one(s, &s->subscriptions->list[i]);
        }
    }
    return send_all(s);
}

/* A sleeping waiter looks again after about a second, in case no message came;
 * at random times, so that not all look at once. */
#define LOOK_LOW_MS  800
#define LOOK_HIGH_MS 1200
/* A waiter with a ticket must be seen more often: twice in each
 * HF__TICKET_PATIENCE_MS. */
#define TICKET_MS (HF__TICKET_PATIENCE_MS / 2)
/* Without messages a waiter polls. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150
/* The pause if the server is loading or busy. */
#define AGAIN_MS 100
/* Added to the time until something ends, so that it has surely ended. */
#define SLACK_US 1000

/* ---- messages */

static void fire(struct hf__subscription *a)
{
    a->has_fired = true;
    a->is_entered = false;
}

/* Fire all watches of the name with that lock mode and without a ticket: for
 * the server they are one waiter. */
static void fire_alike(struct hf__subscriptions *p, const struct hf__key *key,
                       const char *kind, bool is_woken)
{
    for (int i = 0; i < p->n; i++) {
        struct hf__subscription *a = &p->list[i];
        struct hf__key own = hf__subscription_key(a);

        if (!has_ticket(a) && hf__key_compare(&own, key) == 0 &&
            strcmp(kind_of(a).text, kind) == 0) {
            fire(a);
            a->was_woken |= is_woken;
        }
    }
}

static void fire_ticket(struct hf__subscriptions *p, const char *digits)
{
    for (int i = 0; i < p->n; i++) {
        struct hf__args args;

        hf__args_begin(&args, "");
        hf__args_token(&args, &p->list[i].watch.ticket);
        if (memcmp(digits, args.at[1], args.length[1]) == 0) {
            fire(&p->list[i]);
        }
    }
}

/* Handle a message: "x holdfast:job", "t0123… holdfast:job". Others are
 * ignored. */
static void hear(struct hf__subscriptions *p, const redisReply *text)
{
    const char *space = text->type == REDIS_REPLY_STRING
                            ? memchr(text->str, ' ', (size_t)text->len)
                            : NULL;
    struct hf__key key = {.bytes = space == NULL ? NULL : space + 1};
    struct kind kind = {""};
    size_t length;

    if (space == NULL) {
        return;
    }
    length = (size_t)(space - text->str);
    key.length = (uint16_t)((size_t)text->len - length - 1);
    if (text->str[0] == 't' && length == 33) {
        fire_ticket(p, text->str + 1);
    } else if (length < sizeof kind.text) {
        memcpy(kind.text, text->str, length);
        fire_alike(p, &key, kind.text, true);
    }
}

/* ---- replies */

static bool is_error(const redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_ERROR &&
           strncmp(reply->str, word, strlen(word)) == 0;
}

/* Handle the result of a look. "wait": for at most n µs, or −1; "look": now,
 * and n tells if the name is offered to us. */
static void take_look(struct hf__subscriptions *p, struct hf__subscription *a,
                      const redisReply *reply)
{
    const redisReply *word = reply->element[0];
    int64_t n = reply->element[1]->integer;
    hf__time now = hf__now();
    int64_t look_ms = has_ticket(a)
                          ? TICKET_MS
                          : hf__random_between(LOOK_LOW_MS, LOOK_HIGH_MS);

    if (strcmp(word->str, "look") == 0) {
        struct hf__key key = hf__subscription_key(a);

        fire(a);
        if (!has_ticket(a)) {
            fire_alike(p, &key, kind_of(a).text, n != 0);
        }
        return;
    }
    if (p->has_no_channel) {
        look_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);
    }
    a->due = hf__after_ms(now, look_ms);
    if (n >= 0 && n < look_ms * 1000 - SLACK_US) {
        a->due = hf__after_ns(now, (n + SLACK_US) * 1000);
    }
}

static bool is_look(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[1]->type == REDIS_REPLY_INTEGER;
}

/* Other watches of this session on the name were not woken in its place: they
 * look again at once. */
static void look_again(struct hf__subscriptions *p, const struct hf__key *key)
{
    for (int i = 0; i < p->n; i++) {
        struct hf__key own = hf__subscription_key(&p->list[i]);

        if (p->list[i].is_wanted && hf__key_compare(&own, key) == 0) {
            p->list[i].due = (hf__time){0};
        }
    }
}

static void take_one(struct hf__subscriptions *p, struct hf__subscription *a,
                     const redisReply *reply)
{
    struct hf__key key = hf__subscription_key(a);

    a->is_asked = false;
    if (is_error(reply, "NOSCRIPT")) {
        p->with_text[a->is_leaving] = true; /* it is due as before */
        return;
    }
    if (a->is_leaving) {
        if (a->was_woken) {
            look_again(p, &key);
        }
        a->is_entered = false; /* if it was refused, messages are ignored */
        a->was_woken = false;
        return;
    }
    if (is_look(reply)) {
        take_look(p, a, reply);
        return;
    }
    a->is_failing = reply->type != REDIS_REPLY_ERROR ||
                    hf__redis_error(reply, &key, NULL) != HF__AGAIN;
    a->due =
        hf__after_ms(hf__now(), hf__random_between(POLL_LOW_MS, POLL_HIGH_MS));
}

static struct hf__subscription *next_asked(struct hf__subscriptions *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->list[i].is_asked) {
            return &p->list[i];
        }
    }
    return NULL;
}

/* The server did not run the transaction. */
static int take_discarded(struct hf__redis *s, const redisReply *reply)
{
    struct hf__subscriptions *p = s->subscriptions;
    int r = p->is_discarded ? p->refusal
                            : hf__redis_error(reply, NULL, &s->peer.err);

    p->is_discarded = false;
    p->is_subscribed = p->is_apart;
    for (int i = 0; i < p->n; i++) {
        struct hf__subscription *a = &p->list[i];

        if (a->is_asked && r == HF__AGAIN) {
            a->due = hf__after_ms(hf__now(), AGAIN_MS);
        }
        a->is_asked = false;
    }
    if (r == HF__AGAIN) {
        return HF_OK;
    }
    if (r == HF_EAUTH && !p->has_no_channel) {
        p->has_no_channel = true; /* other refusals will show */
        return HF_OK;
    }
    return dead(s, r, "it refuses to be waited on");
}

static int take_batch(struct hf__redis *s, const redisReply *reply)
{
    struct hf__subscriptions *p = s->subscriptions;
    struct hf__subscription *a;

    p->owes_batch = false;
    if (reply->type == REDIS_REPLY_ERROR) {
        return take_discarded(s, reply);
    }
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY &&
                       i < reply->elements && (a = next_asked(p)) != NULL;
         i++) {
        take_one(p, a, reply->element[i]);
    }
    return next_asked(p) == NULL
               ? HF_OK
               : dead(s, HF_EPROTO,
                      "it sent fewer replies than it got commands");
}

/* Is it a message about a channel: "message", "subscribe" …? */
static bool is_news(const redisReply *reply, const char *what)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(reply->element[0]->str, what) == 0;
}

/* Handle a reply that only acknowledges: "+OK", "+QUEUED", the end of
 * listening. */
static void take_ack(struct hf__redis *s, const redisReply *reply)
{
    struct hf__subscriptions *p = s->subscriptions;

    p->acks--;
    p->is_apart |= is_news(reply, "subscribe");
    if (reply->type == REDIS_REPLY_ERROR && !p->is_discarded) {
        p->is_discarded = true;
        p->refusal = hf__redis_error(reply, NULL, &s->peer.err);
    }
}

int hf__subscribe_take(struct hf__redis *s, const redisReply *reply)
{
    struct hf__subscriptions *p = s->subscriptions;
    struct hf__subscription *a;

    if (is_news(reply, "message")) {
        s->peer.resp.owed++; /* a message answers no command */
        hear(p, reply->element[2]);
        return HF_OK;
    }
    if (p->acks > 0) {
        take_ack(s, reply);
        return HF_OK;
    }
    if (p->owes_batch) {
        return take_batch(s, reply);
    }
    a = next_asked(p);
    if (a == NULL) {
        return dead(s, HF_EPROTO, "it sent more replies than it got commands");
    }
    take_one(p, a, reply);
    return HF_OK;
}
