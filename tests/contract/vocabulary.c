/* SPDX-License-Identifier: MIT */
/*
 * What the words of the contract suite do: one party, one session, and the
 * operations as the core would send them, through the checked wrappers.
 * Waiting, listing and cleaning are in vocabulary_wait.c. Thread: each party is
 * used by one thread at a time.
 */
#include "tests/contract/vocabulary.h"

#include "src/base/rand.h"
#include "tests/contract/mutants.h"
#include "tests/contract/urls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "test:"

enum { AGAIN_MAX = 2000 };

/* ---- the store */

/* Which store, as the build names it. */
static const char *store(void)
{
    EXPECT(hf__test_args[0] != NULL); /* usage: store STORE ALL SCHEMES */
    return hf__test_args[0];
}

const char *scheme(void)
{
    static _Thread_local char text[80];

    hf__store_scheme(store(), text, sizeof text);
    return text;
}

const struct hf__backend *backend(void)
{
    const struct hf__backend *found = find_mutant(scheme());

    if (found == NULL) {
        found = hf__backend_find(scheme());
    }
    EXPECT(found != NULL);
    return found;
}

bool has(unsigned caps)
{
    struct hf__url kind = hf__store_kind(store(), scheme());

    return (hf__caps_of(backend(), &kind) & caps) == caps;
}

const char *store_url(void)
{
    static _Thread_local char url[1200];

    EXPECT_IS(hf__store_url(store(), url, sizeof url), 0);
    return url;
}

int64_t slowly(int64_t ms)
{
    return getenv("HOLDFAST_TEST_SLOW") != NULL ? 5 * ms : ms;
}

static hf__time soon(void)
{
    return hf__after_ms(hf__now(), slowly(10000));
}

/* ---- sessions */

int join_url(struct party *p, const char *label, const char *text)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;

    p->error.size = sizeof p->error;
    snprintf(p->owner.label, sizeof p->owner.label, "%s", label);
    snprintf(p->owner.host, sizeof p->owner.host, "host of %s", label);
    snprintf(p->owner.thread, sizeof p->owner.thread, "main");
    p->owner.pid = getpid();
    EXPECT_IS(hf__url_parse(text, &url, &p->error), HF_OK);
    return hf__conn_open(&p->conn, backend(), url, "", soon(), &p->error);
}

void join(struct party *p, const char *label)
{
    int r = join_url(p, label, store_url());

    EXPECT_TEXT(r == HF_OK ? "" : p->error.text, "");
    EXPECT_IS(r, HF_OK);
}

void rejoin(struct party *p)
{
    char label[sizeof p->owner.label];

    memcpy(label, p->owner.label, sizeof label);
    leave(p);
    join(p, label);
}

void fall_silent(struct party *p)
{
    if (has(HF_CAP_SESSION)) {
        rejoin(p);
    }
}

int64_t lease_given(const struct party *p, int64_t lease_ms)
{
    int64_t lease_us = hf__conn_server_info(&p->conn).lease_us;

    return lease_us == 0 ? lease_ms : lease_us / 1000;
}

int64_t slowly_to_the_end(const struct party *p, int64_t ms)
{
    return slowly(ms) + 2 * lease_given(p, 0);
}

void leave(struct party *p)
{
    hf__conn_close(&p->conn);
}

/* ---- operations */

struct claim *claim_of(struct party *p, const char *name)
{
    for (int i = 0; i < p->n_claims; i++) {
        if (strcmp(p->claims[i].name, name) == 0) {
            return &p->claims[i];
        }
    }
    EXPECT_LESS(p->n_claims, CLAIMS_MAX);
    struct claim *c = &p->claims[p->n_claims++];
    snprintf(c->name, sizeof c->name, "%s", name);
    hf__random(c->token.bytes, sizeof c->token.bytes);
    return c;
}

uint64_t fence_of(struct party *p, const char *name)
{
    return claim_of(p, name)->fence;
}

void begin_anew(struct party *p, const char *name)
{
    struct claim *c = claim_of(p, name);

    hf__random(c->token.bytes, sizeof c->token.bytes);
    c->is_over = false;
}

struct hf__key make_key(char *buf, const char *name)
{
    size_t length = strlen(PREFIX) + strlen(name);

    EXPECT(length <= HF__KEY_MAX);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): counted bytes */
    memcpy(buf, PREFIX, strlen(PREFIX));
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): counted bytes */
    memcpy(buf + strlen(PREFIX), name, strlen(name));
    return (struct hf__key){buf, (uint16_t)length, sizeof PREFIX - 1};
}

void ask(struct party *p, struct request *rq, enum hf__op_kind kind,
         const char *name)
{
    struct claim *c = claim_of(p, name);

    if (kind == HF__OP_ACQUIRE && c->is_over) {
        begin_anew(p, name);
    }
    *rq = (struct request){.error = HF_ERROR_INIT};
    rq->op = (struct hf__op){
        .kind = kind,
        .key = make_key(rq->key, name),
        .token = c->token,
        .lease_us = LEASE_MS * INT64_C(1000),
        .owner = &p->owner,
        .ret_record = &rq->record,
        .err = &rq->error,
    };
}

static int compare_ops(const void *a, const void *b)
{
    const struct hf__op *const *x = a;
    const struct hf__op *const *y = b;

    return hf__key_compare(&(*x)->key, &(*y)->key);
}

/* The requests that have no answer yet; all of them at the first time. */
static int collect(struct request *rq, int n, bool is_first,
                   struct hf__op **ops)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        if (is_first || rq[i].op.result == HF__AGAIN) {
            ops[count++] = &rq[i].op;
        }
    }
    /* cppcheck-suppress uninitvar; the loop has filled the first `count` */
    qsort(ops, (size_t)count, sizeof *ops, compare_ops);
    return count;
}

/* What the party knows of its claim once the answer is there. */
static void learn(struct party *p, const struct request *rq)
{
    size_t length = rq->op.key.length - rq->op.key.name_at;
    char name[HF_NAME_MAX + 1];

    memcpy(name, rq->op.key.bytes + rq->op.key.name_at, length);
    name[length] = '\0';
    struct claim *c = claim_of(p, name);
    if (rq->op.kind == HF__OP_ACQUIRE && rq->op.result == HF_BUSY) {
        c->token = rq->op.token;
    }
    if (rq->op.result == HF_OK &&
        (rq->op.kind == HF__OP_ACQUIRE || rq->op.kind == HF__OP_RAISE)) {
        c->fence = rq->op.fence;
    }
    if (rq->op.result == HF_OK &&
        (rq->op.kind == HF__OP_RELEASE || rq->op.kind == HF__OP_HANDOVER)) {
        c->is_over = true;
    }
}

int send_batch(struct party *p, struct request *rq, int n)
{
    struct hf__op *ops[CLAIMS_MAX];
    int count = 0;

    EXPECT(n <= CLAIMS_MAX);
    for (int i = 0; (count = collect(rq, n, i == 0, ops)) > 0; i++) {
        EXPECT_LESS(i, AGAIN_MAX);
        if (i > 0) {
            hf__test_pause_ms(1);
        }
        int r = hf__conn_execute(&p->conn, ops, count, soon(), &p->error);
        if (r < 0) {
            return r;
        }
    }
    for (int i = 0; i < n; i++) {
        learn(p, &rq[i]);
    }
    return HF_OK;
}

int send_one_request(struct party *p, struct request *rq)
{
    int r = send_batch(p, rq, 1);

    p->fence = rq->op.fence;
    p->record = rq->record;
    p->reason = rq->op.ret_reason;
    p->slot = rq->op.slot;
    p->is_queued = rq->op.is_queued;
    p->took_over = rq->op.took_over;
    if (rq->op.kind == HF__OP_ACQUIRE) {
        p->lock_mode = rq->op.lock_mode;
    }
    if (rq->op.result < 0 && rq->error.status != 0) {
        p->error = rq->error;
    }
    return rq->op.result == HF_OK ? r : rq->op.result;
}

int acquire_for(struct party *p, const char *name, int64_t lease_ms)
{
    struct request rq;

    ask(p, &rq, HF__OP_ACQUIRE, name);
    rq.op.lease_us = lease_ms * 1000;
    return send_one_request(p, &rq);
}

int acquire_and_keep(struct party *p, const char *name, int64_t lease_ms,
                     int64_t keep_ms)
{
    struct request rq;

    ask(p, &rq, HF__OP_ACQUIRE, name);
    rq.op.lease_us = lease_ms * 1000;
    rq.op.keep_us = keep_ms * 1000;
    return send_one_request(p, &rq);
}

int acquire(struct party *p, const char *name)
{
    return acquire_for(p, name, LEASE_MS);
}

int renew_for(struct party *p, const char *name, int64_t lease_ms)
{
    struct request rq;

    ask(p, &rq, HF__OP_RENEW, name);
    rq.op.lease_us = lease_ms * 1000;
    return send_one_request(p, &rq);
}

int renew(struct party *p, const char *name)
{
    return renew_for(p, name, LEASE_MS);
}

int release(struct party *p, const char *name)
{
    struct request rq;

    ask(p, &rq, HF__OP_RELEASE, name);
    return send_one_request(p, &rq);
}

int release_and_reopen(struct party *p, const char *name)
{
    struct request rq;

    ask(p, &rq, HF__OP_RELEASE, name);
    rq.op.reopens = true;
    return send_one_request(p, &rq);
}

int hand_over(struct party *p, const char *name, struct party *taker)
{
    struct request rq;

    begin_anew(taker, name);
    ask(p, &rq, HF__OP_HANDOVER, name);
    rq.op.next_token = claim_of(taker, name)->token;
    rq.op.owner = &taker->owner;
    int r = send_one_request(p, &rq);
    if (r == HF_OK) {
        claim_of(taker, name)->fence = p->fence;
    }
    return r;
}

int raise_to(struct party *p, const char *name, uint64_t fence)
{
    struct request rq;

    ask(p, &rq, HF__OP_RAISE, name);
    rq.op.fence = fence;
    return send_one_request(p, &rq);
}

int inspect(struct party *p, const char *name)
{
    struct request rq;

    ask(p, &rq, HF__OP_INSPECT, name);
    return send_one_request(p, &rq);
}

int break_it(struct party *p, const char *name, uint64_t fence)
{
    struct request rq;

    ask(p, &rq, HF__OP_BREAK, name);
    rq.op.fence = fence;
    return send_one_request(p, &rq);
}

void give_back_and_leave(struct party *p)
{
    static _Thread_local struct request rq[CLAIMS_MAX];
    int n = 0;

    leave(p);
    if (p->n_claims == 0) {
        return;
    }
    join(p, "tidy");
    for (int i = 0; i < p->n_claims; i++) {
        if (!p->claims[i].is_over) {
            ask(p, &rq[n++], HF__OP_RELEASE, p->claims[i].name);
        }
    }
    EXPECT_IS(send_batch(p, rq, n), HF_OK);
    leave(p);
}

void expect_last_fence(struct party *p, const char *name)
{
    EXPECT(p->record.fence == fence_of(p, name) ||
           (has(HF_CAP_SESSION) && p->record.fence > fence_of(p, name)));
}
