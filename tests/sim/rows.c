/* SPDX-License-Identifier: MIT */
/*
 * What the scripts of src/backend/redis/lua do with the record of a name that
 * is exclusive, without a line, waiters and keeping: a quorum has none of
 * these, and waits by asking. The names of things are the scripts'.
 */
#include "tests/sim/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_US = 500000, BURIED_US = 60000000, DOUBTED_US = 600000000 };

static const char *word(const struct hf__step *s, int i)
{
    return i < s->n ? s->words[i] : "";
}

static int64_t number(const struct hf__step *s, int i)
{
    return strtoll(word(s, i), NULL, 10);
}

static bool is(const struct hf__step *s, int i)
{
    return strcmp(word(s, i), "1") == 0;
}

static bool owns(const struct hf__made_row *r, const char *token)
{
    return r->owner[0] != '\0' && strcmp(r->owner, token) == 0;
}

static void own(char to[HF__TOKEN_TEXT_SIZE], const char *token)
{
    (void)snprintf(to, HF__TOKEN_TEXT_SIZE, "%s", token);
}

bool hf__made_row_is_held(const struct hf__made_row *r, int64_t now)
{
    return r->owner[0] != '\0' && r->expires > now;
}

static uint64_t highest(const struct hf__made_row *r)
{
    return r->top > r->fence ? r->top : r->fence;
}

/* ---- seize.lua, keep.lua */

static uint64_t next_fence(const struct hf__step *s, int64_t proposal)
{
    int64_t after = (int64_t)highest(s->row) + 1;

    after = after < s->now ? s->now : after;
    return (uint64_t)(proposal > after && proposal <= s->now + FAR_US ? proposal
                                                                      : after);
}

static bool is_void(const struct hf__step *s)
{
    for (int i = 0; i < s->row->n_voids; i++) {
        if (strcmp(s->row->voids[i].token, s->token) == 0 &&
            s->row->voids[i].till > s->now) {
            return true;
        }
    }
    return false;
}

static void bury(const struct hf__step *s, int64_t us)
{
    struct hf__made_row *r = s->row;
    int n = 0;

    for (int i = 0; i < r->n_voids; i++) {
        if (r->voids[i].till > s->now &&
            strcmp(r->voids[i].token, s->token) != 0) {
            r->voids[n++] = r->voids[i];
        }
    }
    if (n == HF__VOIDS_MOST) {
        hf__flaw("more is buried than a member has room for");
    }
    own(r->voids[n].token, s->token);
    r->voids[n].till = s->now + us;
    r->n_voids = n + 1;
    r->is_there = true;
    hf__scene.tally->buried++;
}

/* ---- telling */

void hf__made_row_whose(const struct hf__made_row *r, const char *what,
                        char *to, size_t size)
{
    char begin[32];
    const char *at;

    (void)snprintf(begin, sizeof begin, "\"%s\":\"", what);
    at = strstr(r->whose, begin);
    at = at == NULL ? "" : at + strlen(begin);
    (void)snprintf(to, size, "%.*s", (int)strcspn(at, "\""), at);
}

static void tell_name(const struct hf__step *s)
{
    static const char *const facts[] = {"label", "host", "thread", "note"};
    const struct hf__made_row *r = s->row;
    struct hf__reply *t = s->reply;
    char text[256];

    if (!hf__made_row_is_held(r, s->now)) {
        hf__reply_array(t, 3);
        hf__reply_string(t, r->is_there ? "free" : "none");
        hf__reply_number(t, (int64_t)highest(r));
        hf__reply_number(t, 0);
        return;
    }
    hf__reply_array(t, 13);
    hf__reply_string(t, "held");
    hf__reply_number(t, (int64_t)r->fence);
    hf__reply_number(t, r->expires - s->now);
    hf__reply_string(t, "x");
    hf__reply_number(t, 0);
    hf__reply_number(t, -1);
    hf__reply_string(t, r->owner);
    hf__reply_number(t, r->acquired);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        hf__made_row_whose(r, facts[i], text, sizeof text);
        hf__reply_string(t, text);
    }
    hf__reply_number(t, 0);
}

static void give(struct hf__step *s)
{
    s->result = HF_OK;
    hf__reply_number(s->reply, (int64_t)s->row->fence);
}

static void refuse(struct hf__step *s)
{
    s->result = HF_BUSY;
    hf__reply_array(s->reply, 3);
    hf__reply_string(s->reply, "busy");
    hf__reply_number(s->reply, 0);
    tell_name(s);
}

static void lose(struct hf__step *s)
{
    s->result = HF_LOST;
    hf__reply_array(s->reply, 4);
    hf__reply_string(s->reply, "lost");
    hf__reply_string(s->reply, owns(s->row, s->token) ? "expired" : "");
    hf__reply_number(s->reply, (int64_t)s->row->broken);
    tell_name(s);
}

/* ---- acquire.lua */

static void seize(struct hf__step *s)
{
    own(s->row->owner, s->token);
    s->row->expires = s->now + number(s, 1);
    s->row->is_there = true;
    (void)snprintf(s->row->whose, sizeof s->row->whose, "%s", word(s, 2));
}

static void keep_past(struct hf__made_row *r, const struct hf__past *found,
                      const char *token)
{
    bool is_open = found->owner[0] != '\0' && r->n_was > 0 &&
                   r->was[0].gave == found->fence;
    int kept = is_open && r->n_was < HF__PAST_MOST ? r->n_was : 0;

    if (is_open && strcmp(found->owner, token) == 0) {
        r->was[0].gave = r->fence;
        return;
    }
    memmove(r->was + 1, r->was, (size_t)kept * sizeof *r->was);
    r->was[0] = *found;
    r->was[0].gave = r->fence;
    r->n_was = kept + 1;
}

static void acquire(struct hf__step *s)
{
    struct hf__made_row *r = s->row;
    struct hf__past found = {.fence = r->fence};
    int64_t proposal = number(s, 4);

    if (is_void(s)) {
        s->result = HF_EUNAVAIL;
        hf__reply_array(s->reply, 1);
        hf__reply_string(s->reply, "void");
        return;
    }
    if (hf__made_row_is_held(r, s->now)) {
        if (!owns(r, s->token)) {
            refuse(s);
            return;
        }
        seize(s);
        give(s);
        return;
    }
    own(found.owner, r->owner);
    r->fence = next_fence(s, proposal);
    seize(s);
    r->acquired = s->now;
    if (proposal > 0) {
        keep_past(r, &found, s->token);
    }
    r->top = 0;
    give(s);
}

/* ---- renew.lua */

static void renew(struct hf__step *s)
{
    struct hf__made_row *r = s->row;
    uint64_t ours = (uint64_t)number(s, 2);
    bool is_held = hf__made_row_is_held(r, s->now);

    if (is_held && owns(r, s->token)) {
        r->expires = s->now + number(s, 1);
        give(s);
        return;
    }
    if (!is(s, 3) || is_held || is_void(s) ||
        !(r->fence < ours || (r->fence == ours && owns(r, s->token)))) {
        lose(s);
        return;
    }
    if (!owns(r, s->token)) {
        r->acquired = s->now;
        (void)snprintf(r->whose, sizeof r->whose, "{}");
    }
    own(r->owner, s->token);
    r->fence = ours;
    r->expires = s->now + number(s, 1);
    r->is_there = true;
    s->is_mended = true;
    give(s);
}

/* ---- release.lua */

static void undo(struct hf__step *s)
{
    struct hf__made_row *r = s->row;

    if (r->n_was == 0 || r->was[0].gave != r->fence || r->fence == 0) {
        return;
    }
    r->top = highest(r);
    r->fence = r->was[0].fence;
    own(r->owner, r->was[0].owner);
    r->acquired = 0;
    (void)snprintf(r->whose, sizeof r->whose, "{}");
    r->n_was--;
    memmove(r->was, r->was + 1, (size_t)r->n_was * sizeof *r->was);
    s->is_undone = true;
}

static void forget_past(struct hf__made_row *r, const char *token)
{
    for (int i = 0; i < r->n_was; i++) {
        if (strcmp(r->was[i].owner, token) == 0) {
            r->was[i].owner[0] = '\0';
        }
    }
}

static void release(struct hf__step *s)
{
    struct hf__made_row *r = s->row;
    uint64_t given = (uint64_t)number(s, 1);
    bool is_member = is(s, 3);
    bool is_ours = owns(r, s->token);
    bool shows = is_ours && given >= r->fence;

    if (is_ours) {
        r->owner[0] = '\0';
        r->expires = s->now;
        r->fence = is_member && given > r->fence ? given : r->fence;
        if (is(s, 5)) {
            undo(s);
        }
        give(s);
    } else {
        lose(s);
    }
    if (is_member && !shows) {
        bury(s, BURIED_US);
    } else if (is(s, 4)) {
        bury(s, DOUBTED_US);
    }
    if (is_member && !is_ours) {
        forget_past(r, s->token);
    }
}

/* ---- raise.lua, break.lua, inspect.lua */

/* {'ok', fence} */
static void say_ok(struct hf__step *s, int n)
{
    s->result = HF_OK;
    hf__reply_array(s->reply, n);
    hf__reply_string(s->reply, "ok");
}

static void raise_fence(struct hf__step *s)
{
    uint64_t given = (uint64_t)number(s, 1);

    if (!owns(s->row, s->token)) {
        lose(s);
        return;
    }
    s->row->fence = given > s->row->fence ? given : s->row->fence;
    say_ok(s, 2);
    hf__reply_number(s->reply, (int64_t)s->row->fence);
}

static void break_it(struct hf__step *s)
{
    struct hf__made_row *r = s->row;
    struct hf__reply *to = s->reply;
    struct hf__reply told = {0};
    uint64_t meant = (uint64_t)number(s, 1);
    bool is_meant =
        hf__made_row_is_held(r, s->now) && (meant == 0 || meant == r->fence);

    s->reply = &told;
    tell_name(s);
    s->reply = to;
    if (is_meant) {
        r->owner[0] = '\0';
        r->broken = r->fence;
        r->fence = next_fence(s, number(s, 2));
        r->expires = s->now;
        say_ok(s, 3);
        hf__reply_number(to, (int64_t)r->fence);
    } else {
        s->result = HF_CONFLICT;
        hf__reply_array(to, 2);
        hf__reply_string(to, "conflict");
    }
    hf__reply_add(to, told.at, told.length);
    free(told.at);
}

static void inspect(struct hf__step *s)
{
    bool has_holder = is(s, 1) && hf__made_row_is_held(s->row, s->now);

    say_ok(s, has_holder ? 3 : 2);
    tell_name(s);
    if (has_holder) {
        tell_name(s);
    }
}

void hf__made_row_run(struct hf__step *s)
{
    s->token = word(s, 0);
    s->before = *s->row;
    switch ((int)s->script) {
    case HF__SCRIPT_ACQUIRE:
        acquire(s);
        break;
    case HF__SCRIPT_RENEW:
        renew(s);
        break;
    case HF__SCRIPT_RELEASE:
        release(s);
        break;
    case HF__SCRIPT_RAISE:
        raise_fence(s);
        break;
    case HF__SCRIPT_BREAK:
        break_it(s);
        break;
    case HF__SCRIPT_INSPECT:
        inspect(s);
        break;
    default:
        hf__flaw("a quorum asks for script %d", (int)s->script);
    }
    hf__made_applied(s);
}
