/* SPDX-License-Identifier: MIT */
/*
 * The rules of the order of things: fences are a witness of it (M2), a fenced
 * resource sees it (M3), an unfenced one loses no update where nothing
 * unforeseen happens (M4), who is superseded neither renews (M5) nor
 * releases (M6), and a line is served as it came (F1). This file decides
 * from what it is told and what it remembers.
 */
#include "tests/sim/oracles.h"

#include "src/backend/crowd.h"

#include <inttypes.h>
#include <string.h>

/* ---- fences ------------------------------------------------------------- */

static bool is_of_one(const struct hf__oracle *o,
                      const struct hf__grant_fact *a,
                      const struct hf__grant_fact *b)
{
    return hf__plan_name(o->plan, a->client) ==
           hf__plan_name(o->plan, b->client);
}

/* A grant comes after those that were over before it was asked for, at the
 * last. But one that the store had lost and got back from its past is as old
 * as its token, and so may be one beside others whose first answer was lost:
 * they came in between. */
static void check_pair(struct hf__oracle *o, const struct hf__grant_fact *a,
                       const struct hf__grant_fact *b)
{
    bool is_old = hf__oracle_is_excused(o, b->token) ||
                  hf__manners_agree(a->manner, b->manner);
    int64_t asked = is_old ? b->invoked : b->asked;
    bool is_same = a->fence == b->fence;

    if (a->token == b->token || !is_of_one(o, a, b)) {
        return; /* adopted, or another name */
    }
    if (is_same || (a->ok < asked && a->fence >= b->fence)) {
        hf__oracle_convict(o, HF__RULE_FENCE,
                           "client %d holds fence %" PRIu64 " after %" PRIu64,
                           b->client, b->fence, a->fence);
    }
}

void hf__oracle_saw(struct hf__oracle *o, int client, uint64_t fence)
{
    struct hf__memory *c = &o->clients[client];

    c->highest = fence > c->highest ? fence : c->highest;
}

void hf__oracle_granted(struct hf__oracle *o, const struct hf__grant_fact *g)
{
    struct hf__memory *c = &o->clients[g->client];

    HF_ASSERT(o->grant_count < HF__GRANTS_MAX);
    for (int i = 0; o->plan->promises_fence && i < o->grant_count; i++) {
        check_pair(o, &o->grants[i], g);
    }
    /* Whatever the store promises, a client refuses what falls. */
    if (g->fence < c->highest || (g->fence == c->highest && !g->is_adopted)) {
        hf__oracle_convict(o, HF__RULE_FENCE,
                           "client %d believes fence %" PRIu64
                           ", it has seen %" PRIu64,
                           g->client, g->fence, c->highest);
    }
    hf__oracle_saw(o, g->client, g->fence);
    o->grants[o->grant_count++] = *g;
}

static const struct hf__grant_fact *find(const struct hf__oracle *o,
                                         uint64_t token)
{
    for (int i = o->grant_count - 1; i >= 0; i--) {
        if (o->grants[i].token == token) {
            return &o->grants[i];
        }
    }
    return NULL;
}

void hf__oracle_renewed(struct hf__oracle *o, uint64_t token, int64_t sent)
{
    const struct hf__grant_fact *mine = find(o, token);

    if (mine == NULL || !o->plan->promises_fence ||
        hf__oracle_is_excused(o, token)) {
        return;
    }
    for (int i = 0; i < o->grant_count; i++) {
        if (o->grants[i].fence > mine->fence && o->grants[i].ok < sent &&
            is_of_one(o, &o->grants[i], mine) &&
            !hf__manners_agree(o->grants[i].manner, mine->manner)) {
            hf__oracle_convict(o, HF__RULE_RENEWAL,
                               "client %d renews fence %" PRIu64
                               ", which %" PRIu64 " had followed",
                               mine->client, mine->fence, o->grants[i].fence);
        }
    }
}

/* ---- the resource ------------------------------------------------------- */

static void check_fenced(struct hf__oracle *o, const struct hf__write *w)
{
    const struct hf__grant_fact *g = find(o, w->token);
    struct hf__written *last = &o->written[hf__plan_name(o->plan, w->client)];

    if (w->fence < last->fence ||
        (w->fence == last->fence && w->token != last->token)) {
        hf__oracle_convict(o, HF__RULE_RESOURCE,
                           "fence %" PRIu64 " is taken after %" PRIu64,
                           w->fence, last->fence);
    }
    if (g != NULL && w->token != last->token && g->ok < last->invoked) {
        hf__oracle_convict(o, HF__RULE_RESOURCE,
                           "client %d writes after a later holder", w->client);
    }
    last->fence = w->fence;
    last->token = w->token;
    if (g != NULL && g->invoked > last->invoked) {
        last->invoked = g->invoked;
    }
}

void hf__oracle_wrote(struct hf__oracle *o, const struct hf__write *w)
{
    if (w->is_accepted && o->plan->promises_fence) {
        check_fenced(o, w);
    }
    o->lost_updates += w->is_lost;
    if (w->is_lost && o->plan->promises_update) {
        hf__oracle_convict(o, HF__RULE_UPDATE, "client %d overwrites an update",
                           w->client);
    }
}

/* ---- records ------------------------------------------------------------ */

/* A member that was told of its release makes no grant anew for that token,
 * unless it has forgotten. */
static void check_mending(struct hf__oracle *o, const struct hf__message *m)
{
    if (m->op == HF__OP_RELEASE && o->plan->model == HF__MODEL_QUORUM) {
        o->released[o->n_released++ % HF__RELEASED_MAX] = *m;
    }
    for (int i = 0; m->is_mended && i < HF__RELEASED_MAX; i++) {
        const struct hf__message *r = &o->released[i];

        if (r->token == m->token && r->member == m->member &&
            r->incarnation == m->incarnation) {
            hf__oracle_convict(o, HF__RULE_ROW,
                               "token %" PRIu64 " is released, and made anew",
                               m->token);
        }
    }
}

static uint64_t highest(const struct hf__row *row)
{
    return row->top > row->fence ? row->top : row->fence;
}

static void check_record(struct hf__oracle *o, const struct hf__applied *a)
{
    bool has_changed = a->before->token != a->after->token ||
                       a->before->ends != a->after->ends ||
                       a->before->fence != a->after->fence;
    bool is_ours = a->before->token == a->m->token;

    if (has_changed && !is_ours && a->was_running) {
        hf__oracle_convict(o, HF__RULE_ROW,
                           "token %" PRIu64 " changes the row of %" PRIu64,
                           a->m->token, a->before->token);
    }
    check_mending(o, a->m);
    if (has_changed && !is_ours && a->m->op != HF__OP_ACQUIRE &&
        !a->m->is_mended) {
        hf__oracle_convict(o, HF__RULE_ROW,
                           "token %" PRIu64 " changes a row not its own",
                           a->m->token);
    }
    if (highest(a->after) < highest(a->before)) {
        hf__oracle_convict(o, HF__RULE_FENCE,
                           "the stored fence falls from %" PRIu64,
                           highest(a->before));
    }
}

void hf__oracle_applied(struct hf__oracle *o, const struct hf__applied *a)
{
    bool was_ours = a->before->token == a->m->token;

    if (o->plan->model == HF__MODEL_CROWD) {
        hf__oracle_lined_up(o, a);
    } else if (o->plan->model != HF__MODEL_SESSION) {
        check_record(o, a);
        if (o->plan->model == HF__MODEL_QUORUM) {
            hf__oracle_followed(o, a, find(o, a->m->token));
        }
        if (a->m->op == HF__OP_RELEASE && (a->m->result == HF_OK) != was_ours) {
            hf__oracle_convict(o, HF__RULE_RELEASE,
                               "a release by token %" PRIu64
                               " is answered %d, the owner was %" PRIu64,
                               a->m->token, a->m->result, a->before->token);
        }
    } else if (a->m->op == HF__OP_RELEASE && a->m->result == HF_OK &&
               !was_ours) {
        hf__oracle_convict(o, HF__RULE_RELEASE,
                           "token %" PRIu64 " frees what is not its own",
                           a->m->token);
    }
}

void hf__oracle_released_again(struct hf__oracle *o, unsigned duties)
{
    if (duties != 0) {
        hf__oracle_convict(o, HF__RULE_RELEASE,
                           "a second release leaves duties %#x", duties);
    }
}

/* ---- the line ----------------------------------------------------------- */

static int place(const struct hf__oracle *o, uint64_t session)
{
    for (int i = 0; i < o->queue_count; i++) {
        if (o->queue[i] == session) {
            return i;
        }
    }
    return -1;
}

void hf__oracle_came(struct hf__oracle *o, uint64_t session)
{
    if (place(o, session) < 0) {
        HF_ASSERT(o->queue_count < HF__QUEUE_MAX);
        o->queue[o->queue_count++] = session;
    }
}

void hf__oracle_left(struct hf__oracle *o, uint64_t session)
{
    int at = place(o, session);

    if (at >= 0) {
        o->queue_count--;
        memmove(&o->queue[at], &o->queue[at + 1],
                (size_t)(o->queue_count - at) * sizeof o->queue[0]);
    }
}

void hf__oracle_served(struct hf__oracle *o, uint64_t session)
{
    int before = place(o, session);

    if (before > 0) {
        hf__oracle_convict(o, HF__RULE_ORDER,
                           "a session is served before %d that came first",
                           before);
    }
    hf__oracle_left(o, session);
}
