/* SPDX-License-Identifier: MIT */
/*
 * What a link knows of when its leader has heard of it: at first by being
 * made, then by what was answered, and anew by each connection.
 */
#include "src/backend/zookeeper/internal.h"
#include "src/backend/zookeeper/zookeeper.h"
#include "tests/servers/proxy.h"
#include "tests/store_zookeeper/link/side.h"

#include <stdio.h>

enum { TIMEOUT_MS = 6000, LEASE_US = TIMEOUT_MS * 1000 / 3 * 2 };

static void meet_as(struct side *a, uint64_t client,
                    const struct hf__zookeeper *s)
{
    const struct hf__zk_target target = {.hosts = hosts_of(s),
                                         .timeout_ms = TIMEOUT_MS};

    EXPECT_IS(meet_at(a, &target, client, 10000), HF_OK);
    EXPECT_IS(hf__zk_timeout_ms(&a->ref), TIMEOUT_MS);
}

static void exchange(struct side *a)
{
    CALLS(calls) = calls_of(a, 1);

    hf__zk_exists(calls, 0, "/", NULL);
    await(calls);
}

static int64_t ms_until_proof(struct side *a, hf__time from)
{
    return hf__ms_until(hf__zk_provable_from(&a->ref, from, LEASE_US), from);
}

TEST_WITHIN(60, an_answer_is_evidence_a_quarter_of_the_time_later)
{
    AUTO_SERVER *s = hf__zookeeper_start(NULL);
    SIDE(a);
    hf__time made;
    hf__time later;

    meet_as(&a, 1, s);
    made = hf__now();
    EXPECT_IS(ms_until_proof(&a, made), 0);
    later = hf__after_ms(made, TIMEOUT_MS / 3 - 500);
    EXPECT_IS(ms_until_proof(&a, later), 0);
    later = hf__after_ms(made, TIMEOUT_MS / 3);
    EXPECT(hf__is_never(hf__zk_provable_from(&a.ref, later, LEASE_US)));
    hf__test_pause_ms(TIMEOUT_MS / 3);
    later = hf__now();
    exchange(&a);
    EXPECT_LESS(TIMEOUT_MS / 4 - 1, ms_until_proof(&a, later));
    later = hf__after_ms(hf__now(), TIMEOUT_MS / 4);
    EXPECT_IS(ms_until_proof(&a, later), 0);
}

static void await_connection(struct side *a, unsigned before)
{
    UNTIL_WITHIN(30000, hf__zk_connection(&a->ref) != before);
    EXPECT_IS(hf__zk_ready(&a->ref, hf__after_ms(hf__now(), 10000), NULL),
              HF_OK);
}

/* The session is the same, and the socket of each connection is found. */
TEST_WITHIN(60, another_connection_is_evidence_at_once)
{
    AUTO_SERVER *s = hf__zookeeper_start(NULL);
    SIDE(b);
    SIDE(a);
    int64_t session;

    meet_as(&b, 2, s);
    meet_as(&a, 1, s);
    session = hf__zk_session_id(&a.ref);
    for (int i = 0; i < 3; i++) {
        unsigned connection = hf__zk_connection(&a.ref);
        unsigned others = hf__zk_connection(&b.ref);

        exchange(&a);
        EXPECT(hf__zk_reconnect(&a.ref, connection));
        await_connection(&a, connection);
        EXPECT_IS(ms_until_proof(&a, hf__now()), 0);
        EXPECT_IS(hf__zk_connection(&b.ref), others);
        /* It is over, and the one after it is not cut for it. */
        EXPECT(hf__zk_reconnect(&a.ref, connection));
        EXPECT_IS(look(&a, "/"), ZOK);
    }
    EXPECT_IS(hf__zk_session_id(&a.ref), session);
}

static void be_silent_since(struct hf__zk_session *link, hf__time then,
                            hf__time cut)
{
    HF_SCOPED_LOCK(&link->mutex);

    link->evidence.connected_at = then;
    link->evidence.cut_at = cut;
    atomic_store(&link->heard_ns, then.ns);
}

/* All servers may be slow: then cutting is no help. */
TEST_WITHIN(60, a_silent_connection_is_cut_once_in_a_third_of_the_time)
{
    AUTO_SERVER *s = hf__zookeeper_start(NULL);
    SIDE(a);

    meet_as(&a, 1, s);
    unsigned connection = hf__zk_connection(&a.ref);
    atomic_store(&a.ref.session->n_addresses, 2);
    hf__time then = hf__after_ms(hf__now(), -(TIMEOUT_MS / 7));
    be_silent_since(a.ref.session, then, then);
    hf__time due = hf__zk_mind_silence(&a.ref, then);
    EXPECT_IS(hf__between_ns(then, due), TIMEOUT_MS / 3 * HF__MS);
    EXPECT_IS(look(&a, "/"), ZOK);
    EXPECT_IS(hf__zk_connection(&a.ref), connection);
    then = hf__after_ms(hf__now(), -(TIMEOUT_MS / 3));
    be_silent_since(a.ref.session, then, then);
    (void)hf__zk_mind_silence(&a.ref, then);
    await_connection(&a, connection);
}

/* And there is nowhere else to go. */
TEST_WITHIN(60, a_lone_server_is_waited_for_as_long_as_who_asks_it_waits)
{
    AUTO_SERVER *s = hf__zookeeper_start(NULL);
    SIDE(a);

    for (int io_ms = 1000; io_ms <= TIMEOUT_MS / 4; io_ms += 500) {
        int limit_ms = io_ms > TIMEOUT_MS / 5 ? io_ms : TIMEOUT_MS / 5;
        const struct hf__zk_target target = {.hosts = hosts_of(s),
                                             .timeout_ms = TIMEOUT_MS,
                                             .io_timeout_ms = io_ms};

        EXPECT_IS(meet_at(&a, &target, 1, 10000), HF_OK);
        unsigned connection = hf__zk_connection(&a.ref);
        hf__time then = hf__after_ms(hf__now(), -(TIMEOUT_MS / 7));
        be_silent_since(a.ref.session, then, (hf__time){0});
        hf__time due = hf__zk_mind_silence(&a.ref, then);
        EXPECT_IS(hf__between_ns(then, due), limit_ms * HF__MS);
        EXPECT_IS(look(&a, "/"), ZOK);
        EXPECT_IS(hf__zk_connection(&a.ref), connection);
        then = hf__after_ms(hf__now(), -limit_ms);
        be_silent_since(a.ref.session, then, (hf__time){0});
        (void)hf__zk_mind_silence(&a.ref, then);
        await_connection(&a, connection);
    }
}

static void heal_soon(void *arg)
{
    hf__test_pause_ms(200);
    hf__proxy_heal(arg);
}

static void exchange_by(struct hf__zk_ref *f)
{
    CALLS(calls) = hf__zk_calls_new(f, 1);

    EXPECT(calls != NULL);
    hf__zk_exists(calls, 0, "/", NULL);
    await(calls);
}

static void lose_connection(struct hf__zk_ref *f, struct hf__proxy *p)
{
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_cut(p, HF__RESET);
    UNTIL(!hf__zk_is_connected(f));
}

/* A lease was given, and then the connection lost: the next one proves it. */
static void prove_while_away(struct hf__zk *zk, struct hf__proxy *p,
                             bool is_healed, int expected)
{
    hf_error err = HF_ERROR_INIT;
    struct hf__op op = {.kind = HF__OP_ACQUIRE, .err = &err};
    struct hf__op *ops[] = {&op};
    struct hf__test_thread *healer = NULL;

    exchange_by(&zk->ref);
    lose_connection(&zk->ref, p);
    op.sent = hf__now();
    op.result = HF_OK;
    if (is_healed) {
        healer = hf__test_start(heal_soon, p);
    }
    EXPECT_IS(hf__zk_prove(zk, ops, 1,
                           hf__after_ms(hf__now(), is_healed ? 4000 : 300),
                           &err),
              HF_OK);
    EXPECT_IS(op.result, expected);
    if (is_healed) {
        hf__test_join(healer);
    }
}

struct behind {
    struct hf__proxy *proxy;
    struct hf__zk zk;
};

static void open_behind(struct behind *b, const struct hf__zookeeper *s)
{
    hf_error err = HF_ERROR_INIT;
    char hosts[64];
    const struct hf__zk_target target = {
        .hosts = hosts, .timeout_ms = TIMEOUT_MS, .io_timeout_ms = 1000};

    b->proxy = hf__proxy_start(hf__zookeeper_port(s), &hf__framing_zookeeper);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", hf__proxy_port(b->proxy));
    b->zk.head.client = 1;
    b->zk.head.generation = 1;
    EXPECT_IS(hf__zk_ref_open(&b->zk.ref, &b->zk.head, &target,
                              hf__after_ms(hf__now(), 10000), &err),
              HF_OK);
    b->zk.head.server_info.lease_us = LEASE_US;
}

static void close_behind(struct behind *b)
{
    hf__zk_ref_close(&b->zk.ref);
    hf__proxy_free(b->proxy);
}

TEST_WITHIN(60, a_lease_is_proven_by_the_connection_that_is_coming)
{
    AUTO_SERVER *s = hf__zookeeper_start(NULL);
    static struct behind b;

    open_behind(&b, s);
    prove_while_away(&b.zk, b.proxy, true, HF_OK);
    prove_while_away(&b.zk, b.proxy, false, HF_EUNKNOWN);
    hf__proxy_heal(b.proxy);
    close_behind(&b);
}

/* As if all that was exchanged on this connection was that, so long ago; gives
 * how much earlier than its write a lease counts. */
static int64_t lateness(struct hf__zk *zk, int64_t sent_ms, int64_t answered_ms)
{
    struct hf__zk_session *link = zk->ref.session;
    hf_error err = HF_ERROR_INIT;
    hf__time write = hf__now();
    struct hf__op op = {.kind = HF__OP_RENEW, .sent = write, .err = &err};
    struct hf__op *ops[] = {&op};

    hf__mutex_lock(&link->mutex);
    link->evidence.direct = hf__after_ms(write, -TIMEOUT_MS);
    link->evidence.newest = link->evidence.direct;
    link->evidence.n = 1;
    link->evidence.exchanges[0] =
        (struct hf__zk_exchange){.sent = hf__after_ms(write, -sent_ms),
                                 .answered = hf__after_ms(write, -answered_ms)};
    hf__mutex_unlock(&link->mutex);
    EXPECT_IS(hf__zk_prove(zk, ops, 1, hf__after_ms(hf__now(), 10000), &err),
              HF_OK);
    EXPECT_IS(op.result, HF_OK);
    return hf__between_ns(op.sent, write) / HF__MS;
}

TEST_WITHIN(60, on_a_slow_network_a_lease_counts_from_earlier)
{
    enum { THIRD = TIMEOUT_MS / 3, QUARTER = TIMEOUT_MS / 4 };
    AUTO_SERVER *s = hf__zookeeper_start(NULL);
    static struct behind b;
    unsigned connection;

    open_behind(&b, s);
    connection = hf__zk_connection(&b.zk.ref);
    EXPECT_SAFE_IS(lateness(&b.zk, THIRD, QUARTER), 0);
    EXPECT_SAFE_IS(lateness(&b.zk, THIRD + 500, QUARTER), 500);
    EXPECT_IS(hf__zk_connection(&b.zk.ref), connection);
    /* It was not told on yet; or is too old to be of use. */
    EXPECT_SAFE_IS(lateness(&b.zk, THIRD + 500, QUARTER - 10), 0);
    EXPECT_NOT(hf__zk_connection(&b.zk.ref), connection);
    connection = hf__zk_connection(&b.zk.ref);
    EXPECT_SAFE_IS(lateness(&b.zk, THIRD + 1010, QUARTER), 0);
    EXPECT_NOT(hf__zk_connection(&b.zk.ref), connection);
    close_behind(&b);
}
