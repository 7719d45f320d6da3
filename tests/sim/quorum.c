/* SPDX-License-Identifier: MIT */
/*
 * The quorum as the core has it, and what happens to its members. What its
 * members granted is followed here, for the oracles: each token's leases and
 * fences, whatever a member has forgotten since; and, of each member, which of
 * the fences that it gave still mean something.
 */
#include "tests/sim/made.h"
#include "tests/sim/oracles.h"

#include "src/backend/registry.h"

#include <stdio.h>
#include <string.h>

enum { GRANTS = 4096 };

/* What members gave a token. */
struct given {
    struct hf__token token;
    int64_t ends[HF__MADE_MOST]; /* of leases, by host 0's clock; 0: none */
    int64_t end;                 /* by a majority */
    uint64_t fences[HF__MADE_MOST];
    unsigned released;  /* by whom */
    unsigned refused;   /* who refused its last renewal there */
    bool is_unanswered; /* a claim of it may be on its way for long */
};

/* What a member gave. */
struct trail {
    uint64_t seen;  /* its fence */
    uint64_t valid; /* the highest of an attempt that has not come to nothing */
    uint64_t before;                 /* the same, before the last one */
    char token[HF__TOKEN_TEXT_SIZE]; /* whose that is; "": nobody's */
};

static struct given given[GRANTS];
static struct trail trails[HF__MADE_MOST][HF__NAMES];

int hf__made_majority(void)
{
    return hf__scene.plan.quorum / 2 + 1;
}

void hf__made_url(char *to, size_t size)
{
    const struct hf__lot *p = &hf__scene.plan;
    int n = snprintf(to, size, "redlock://");

    for (int i = 0; i < p->quorum; i++) {
        n += snprintf(to + n, size - (size_t)n, "%s127.0.0.1:%d",
                      i == 0 ? "" : ",", HF__MADE_PORT + i);
    }
    (void)snprintf(to + n, size - (size_t)n, "/0?longest_lease=%lldms&",
                   (long long)p->longest_ms);
}

/* Where it is, or would be. */
static struct given *find_given(const struct hf__token *token)
{
    unsigned at = 0;

    memcpy(&at, token->bytes, sizeof at);
    for (int i = 0; i < GRANTS; i++) {
        struct given *g = &given[(at + (unsigned)i) % GRANTS];

        if (hf__token_is_zero(&g->token) || hf__token_equal(&g->token, token)) {
            return g;
        }
    }
    hf__flaw("members are asked for more than can be followed");
}

/* ---- the store */

static void note_doubt(const struct hf__op *op)
{
    struct given *g = find_given(&op->token);

    if (op->kind == HF__OP_RELEASE && op->is_unanswered) {
        g->token = op->token;
        g->is_unanswered = true;
    }
}

/* Attempts of others, who may have none, cost nobody what a majority lets him
 * have. */
static void expect_refused(const struct hf__op *op)
{
    int n = __builtin_popcount(find_given(&op->token)->refused);

    if (op->kind == HF__OP_RENEW && op->result == HF_LOST &&
        n < hf__made_majority()) {
        hf__flaw("host %d lost a name of which %d of %d members refuse the "
                 "renewal",
                 hf__virtual_host(), n, hf__scene.plan.quorum);
    }
}

static int made_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err)
{
    int r;

    for (int i = 0; i < n; i++) {
        hf__oracle_sent(ops[i]);
        note_doubt(ops[i]);
    }
    r = hf__redlock_backend.execute(state, ops, n, deadline, err);
    for (int i = 0; i < n; i++) {
        hf__oracle_answered(ops[i]);
        expect_refused(ops[i]);
    }
    return r;
}

const struct hf__backend *hf__made_store(void)
{
    static struct hf__backend made;

    if (made.scheme == NULL) {
        made = hf__redlock_backend;
        made.execute = made_execute;
    }
    return &made;
}

/* ---- what happens to members */

static int any_member(void)
{
    return (int)hf__between(0, hf__scene.plan.quorum - 1);
}

void hf__made_cut(int host, int64_t until)
{
    if (hf__chance(500)) {
        hf__scene.cut_until[host] = until;
        hf__note("host %d is cut off", host);
    } else {
        int member = any_member();

        hf__wires_cut(host, member, until);
        hf__note("host %d is cut off from member %d", host, member);
    }
}

/* One is most dangerous when it is back before what it forgot is over. */
static void restart(int member, bool forgets)
{
    int64_t left = hf__scene.plan.heal_ns - hf__true_now();
    int64_t most = hf__scene.plan.lease_ms * HF__MS_NS;

    most = hf__chance(700) ? most / 20 : most;
    most = most < left ? most : left;
    if (most > 0 && hf__member_restart(member, forgets,
                                       hf__true_now() + hf__between(0, most))) {
        hf__scene.tally->restarts++;
        hf__wires_end(member);
    }
}

/* One, or one after the other. */
void hf__made_restart(bool forgets)
{
    int first = any_member();
    int n = hf__chance(500) ? 1 : (int)hf__between(1, hf__scene.plan.quorum);

    if (hf__chance(100)) {
        hf__member_flush(first);
        return;
    }
    for (int i = 0; i < n; i++) {
        restart((first + i) % hf__scene.plan.quorum, forgets);
        hf__virtual_sleep(
            NULL, hf__true_now() +
                      hf__between(0, hf__scene.plan.lease_ms * HF__MS_NS / 20));
    }
}

void hf__made_forgot(int member)
{
    for (struct given *g = given; g < given + GRANTS; g++) {
        g->released &= ~(1u << member);
    }
}

/* ---- what was granted */

/* Until when a majority lets it have the name. */
static int64_t end_of(const struct given *g)
{
    int majority = hf__made_majority();
    int64_t end = 1; /* of what no majority granted */

    for (int i = 0; i < hf__scene.plan.quorum; i++) {
        int n = 0;

        for (int j = 0; j < hf__scene.plan.quorum; j++) {
            n += g->ends[j] >= g->ends[i];
        }
        if (n >= majority && g->ends[i] > end) {
            end = g->ends[i];
        }
    }
    return end;
}

static void note_given(const struct hf__step *s, const struct hf__token *token)
{
    struct given *g = find_given(token);
    int64_t lease = (s->row->expires - s->now) * 1000;

    g->token = *token;
    g->fences[s->member] = s->row->fence;
    if (s->script == HF__SCRIPT_ACQUIRE || s->script == HF__SCRIPT_RENEW) {
        g->ends[s->member] = hf__virtual_boottime(0) + lease -
                             lease / 1000000 * hf__member_ppm(s->member);
        g->end = end_of(g);
    }
}

int64_t hf__made_end(const struct hf__token *token)
{
    return find_given(token)->end;
}

void hf__made_expect_known(const struct hf__token *token, uint64_t fence)
{
    const struct given *g = find_given(token);
    int n = 0;

    for (int i = 0; i < hf__scene.plan.quorum; i++) {
        n += g->fences[i] >= fence;
    }
    if (n < hf__made_majority()) {
        hf__flaw("host %d has a fence of which %d of %d members know",
                 hf__virtual_host(), n, hf__scene.plan.quorum);
    }
}

/* What is late finds that it was given back: renewals, and what was in doubt.
 * Else one attempt may have the member alone until its lease is over. */
static void expect_ended(const struct hf__step *s,
                         const struct hf__token *token)
{
    struct given *g = find_given(token);
    unsigned own = 1u << s->member;

    if (s->script == HF__SCRIPT_RENEW) {
        g->token = *token;
        g->refused = s->result == HF_OK ? g->refused & ~own : g->refused | own;
    }
    if (s->script == HF__SCRIPT_RELEASE) {
        g->token = *token;
        g->released |= own;
    } else if (s->result == HF_OK && (g->released & own) != 0 &&
               (s->script == HF__SCRIPT_RENEW || g->is_unanswered)) {
        hf__flaw("member %d gives name %d again that was given back", s->member,
                 s->name);
    }
}

/* ---- who holds it may have it anywhere */

/* What no majority granted has come to nothing once it is given back. */
static void follow(struct trail *t, const struct hf__step *s,
                   const struct hf__token *token)
{
    if (s->script == HF__SCRIPT_RELEASE && strcmp(t->token, s->token) == 0 &&
        find_given(token)->end <= 1) {
        t->valid = t->before;
        t->token[0] = '\0';
    } else if (s->row->fence != s->before.fence && !s->is_undone) {
        t->before = t->valid;
        t->token[0] = '\0';
        t->valid = s->row->fence;
        if (s->script == HF__SCRIPT_ACQUIRE) {
            memcpy(t->token, s->row->owner, sizeof t->token);
        }
    }
    t->seen = s->row->fence;
}

/* A member that nobody has, and which gave no fence above the holder's but to
 * those whose attempts came to nothing, is the holder's once more: else others
 * that wait would keep it from there for ever, and the next member that fails
 * would cost it its grant. */
static void expect_mended(const struct hf__step *s,
                          const struct hf__token *token)
{
    struct trail *t = &trails[s->member][s->name];
    uint64_t fence = hf__oracle_fence_held(token);

    if (t->seen != s->before.fence) { /* it has forgotten */
        *t = (struct trail){.valid = s->before.fence};
    }
    if (s->script == HF__SCRIPT_RENEW && s->result == HF_LOST &&
        !hf__made_row_is_held(&s->before, s->now) && t->valid < fence) {
        hf__flaw("a holder's renewal is refused by member %d, which is "
                 "nobody's",
                 s->member);
    }
    follow(t, s, token);
}

/* ---- what a script did */

void hf__made_applied(const struct hf__step *s)
{
    static const char *const names[] = {
        [HF__SCRIPT_ACQUIRE] = "acquire", [HF__SCRIPT_RENEW] = "renew",
        [HF__SCRIPT_RELEASE] = "release", [HF__SCRIPT_RAISE] = "raise",
        [HF__SCRIPT_BREAK] = "break",     [HF__SCRIPT_INSPECT] = "inspect"};
    struct hf__token token;
    bool is_of_token = hf__token_read(s->token, &token);

    hf__note("member %d: %s of host %d, name %d, by %.4s: %s%s%s", s->member,
             names[s->script], s->host, s->name, s->token,
             hf_strstatus(s->result), s->is_mended ? ", made anew" : "",
             s->is_undone ? ", undone" : "");
    hf__scene.tally->mended += s->is_mended;
    hf__scene.tally->undone += s->is_undone;
    hf__scene.tally->raised +=
        s->script == HF__SCRIPT_RAISE && s->result == HF_OK;
    if (s->script == HF__SCRIPT_BREAK && s->result == HF_OK) {
        hf__scene.tally->breaks++;
        hf__oracle_excuse(-1, s->name, s->row->fence);
    }
    if (is_of_token && s->result == HF_OK && s->script != HF__SCRIPT_RELEASE &&
        s->script != HF__SCRIPT_INSPECT) {
        note_given(s, &token);
    }
    if (is_of_token) {
        expect_ended(s, &token);
        expect_mended(s, &token);
    }
}

/* ---- at the end */

static bool may_stay(int host, const struct hf__made_row *row)
{
    char label[8];
    char note[16];

    hf__made_row_whose(row, "label", label, sizeof label);
    hf__made_row_whose(row, "note", note, sizeof note);
    return label[0] == '\0' || (host != 0 && label[0] - '0' != host) ||
           strcmp(note, "detached") == 0 || hf__scene.is_dead[label[0] - '0'];
}

/* On how many members that one's grant runs which its host left there. */
static int count_left(int host, int name, const struct hf__made_row *like)
{
    int n = 0;

    for (int i = 0; i < hf__scene.plan.quorum; i++) {
        const struct hf__made_row *row = hf__member_row(i, name);

        n += hf__made_row_is_held(row, hf__member_now(i)) &&
             strcmp(row->owner, like->owner) == 0 && !may_stay(host, row);
    }
    return n;
}

/* On how many members it may be. At the end an attempt that was in vain is
 * given back by the session that made it; of a grant a member may not have
 * heard that it is over, if another session has released it that was not
 * connected to that one. */
static int most_left(int host, const struct hf__made_row *row)
{
    struct hf__token token;
    bool was_in_vain =
        hf__token_read(row->owner, &token) && find_given(&token)->end == 1;

    return host == 0 && was_in_vain ? 0 : hf__made_majority() - 1;
}

void hf__made_expect_empty(int host)
{
    hf__virtual_sleep(NULL, hf__true_now() + 2 * hf__scene.plan.delay_ns);
    for (int name = 0; name < hf__scene.plan.names; name++) {
        int known = 0;

        for (int i = 0; i < hf__scene.plan.quorum; i++) {
            const struct hf__made_row *row = hf__member_row(i, name);

            known += row->fence != 0;
            if (count_left(host, name, row) > most_left(host, row)) {
                hf__flaw("member %d has a grant of name %d that host %d left",
                         i, name, host);
            }
        }
        if (host == 0 && known < hf__made_majority()) {
            hf__flaw("%d members know of name %d", known, name);
        }
    }
}
