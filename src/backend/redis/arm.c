/* SPDX-License-Identifier: MIT */
/*
 * What is said to the server while waiting. Looking and listening are one
 * transaction: whoever changes a name does so before, and the
 * look sees it, or afterwards, and the message comes. A connection that listens
 * can say nothing else, so each transaction begins with the end of listening;
 * who is not reached in between finds out by looking. Called by the session's
 * thread.
 */
#include "src/backend/redis/armed.h"

#include <stdio.h>

/* Who is due within it looks along with who is due now. */
#define TOGETHER_MS 250

struct hf__key hf__arm_key(const struct hf__arm *a)
{
    struct hf__key key = a->watch.key;

    key.bytes = a->key;
    return key;
}

bool hf__arm_has_ticket(const struct hf__arm *a)
{
    return !hf__token_is_zero(&a->watch.ticket);
}

bool hf__arm_is_asking(const struct hf__armed *p)
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

/* ---- asking */

struct hf__arm_kind hf__arm_kind(const struct hf__arm *a)
{
    struct hf__arm_kind kind = {"x"};

    switch (a->watch.manner.mode) {
    case HF__MODE_EXCLUSIVE:
        break;
    case HF__MODE_SHARED:
        kind.text[0] = 's';
        break;
    case HF__MODE_SLOTS:
        (void)snprintf(kind.text, sizeof kind.text, "%d",
                       a->watch.manner.slots);
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

static void add_one(struct hf__redis *s, struct hf__arm *a)
{
    struct hf__armed *p = s->armed;
    enum hf__script script = a->is_leaving ? HF__SCRIPT_DISARM : HF__SCRIPT_ARM;
    struct hf__key key = hf__arm_key(a);
    struct hf__arm_kind kind = hf__arm_kind(a);
    struct hf__script_keys keys;
    struct hf__args args;
    char mark[HF__MARK_SIZE];

    hf__mark_write(s->client, mark);
    hf__script_begin(&args, script, p->with_text[a->is_leaving], &key, &keys);
    p->with_text[a->is_leaving] = false; /* from then on it is known */
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
    a->is_entered |=
        !a->is_leaving && !hf__arm_has_ticket(a) && !p->has_no_channel;
}

static void add_all(struct hf__redis *s, hf__time until)
{
    for (int i = 0; i < s->armed->n; i++) {
        struct hf__arm *a = &s->armed->list[i];

        if (a->is_leaving || (a->is_wanted && !a->has_fired && !a->is_failing &&
                              !hf__before(until, a->due))) {
            add_one(s, a);
        }
    }
}

static void stop_listening(struct hf__redis *s)
{
    if (s->armed->is_subscribed) {
        hf__bytes_words(&s->peer.resp.out,
                        HF__WORDS("UNSUBSCRIBE", s->armed->channel));
        s->armed->acks++;
        s->armed->is_subscribed = false;
    }
}

int hf__arm_dead(struct hf__redis *s, int status, const char *why)
{
    hf__peer_fail(&s->peer, status, why);
    return s->peer.status;
}

static int send_all(struct hf__redis *s)
{
    if (hf__resp_queue(&s->peer.resp) != HF_OK) {
        return hf__arm_dead(s, HF_ENOMEM, "out of memory");
    }
    s->armed->is_discarded = false;
    s->armed->is_apart = false;
    s->armed->asked_at = hf__now();
    return hf__resp_flush(&s->peer.resp) == HF_OK
               ? HF_OK
               : hf__arm_dead(s, HF_EUNAVAIL, "the connection was lost");
}

/* What comes to this session comes by one prefix, that of its client. */
static void name_channel(struct hf__redis *s)
{
    const struct hf__arm *a = &s->armed->list[0];
    char mark[HF__MARK_SIZE];

    hf__mark_write(s->client, mark);
    (void)snprintf(s->armed->channel, sizeof s->armed->channel, "%.*s;wake:%s",
                   a->watch.key.name_at - 1, a->key, mark);
}

int hf__arm_ask(struct hf__redis *s)
{
    struct hf__armed *p = s->armed;
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

int hf__arm_part(struct hf__redis *s)
{
    stop_listening(s);
    for (int i = 0; i < s->armed->n; i++) {
        if (s->armed->list[i].is_leaving) {
            add_one(s, &s->armed->list[i]);
        }
    }
    return send_all(s);
}
