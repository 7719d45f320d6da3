/* SPDX-License-Identifier: MIT */
/*
 * A server that goes silent, as by a power cut or a firewall: nothing tells a
 * client but the time. Where there are others to go to, or where it would
 * answer who comes again, no lock is lost by it, and nobody is kept out.
 */
#include "tests/store_zookeeper/faults/world.h"

enum { SESSION_MS = 12000, WAYS = 2 };

static hf_client *open_by_both(struct hf__proxy *const ways[WAYS])
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;
    char url[200];
    int r;

    snprintf(url, sizeof url,
             "zookeeper://127.0.0.1:%d,127.0.0.1:%d?session_timeout=%dms",
             hf__proxy_port(ways[0]), hf__proxy_port(ways[1]), SESSION_MS);
    r = hf_open(url, NULL, &client, &err);
    if (r != HF_OK) {
        printf("%s\n", err.text);
    }
    EXPECT_IS(r, HF_OK);
    return client;
}

static void silence(struct hf__proxy *p)
{
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__proxy_accept_silently(p);
}

/* Till so many were let in on that way, for that a lock lives on by the session
 * that came back: it is renewed by it. Neither is ever lost; both may be the
 * same. */
static void stay_till_let_in(struct hf__proxy *way, int handshakes,
                             hf_lock *one, hf_lock *other)
{
    while (hf__proxy_counts(way).handshakes < handshakes) {
        EXPECT_IS(hf_held(one), 1);
        EXPECT_IS(hf_held(other), 1);
        hf__test_pause_ms(5);
    }
    EXPECT_IS(hf_renew(one, NULL), HF_OK);
    EXPECT_IS(hf_renew(other, NULL), HF_OK);
}

TEST_WITHIN(90, a_server_that_goes_silent_costs_no_lock)
{
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *one = start_proxy(s);
    AUTO_PROXY *other = start_proxy(s);
    struct hf__proxy *const ways[WAYS] = {one, other};
    AUTO_CLIENT *alice = open_by_both(ways);
    AUTO_LOCK *job = acquire(alice, "job");
    int at = hf__proxy_counts(one).handshakes > 0 ? 0 : 1;

    silence(ways[at]);
    stay_till_let_in(ways[1 - at], 1, job, job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__proxy_heal(ways[at]);
}

/* As by a firewall that has forgotten the connection. */
TEST_WITHIN(90, a_connection_that_goes_silent_costs_no_lock)
{
    static const struct hf__proxy_rule forget = {
        .what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__SILENCE};
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *way = start_proxy(s);
    AUTO_CLIENT *alice = open_by(way, "session_timeout=12s&io_timeout=1s");
    AUTO_LOCK *job = acquire(alice, "job");
    int before = hf__proxy_counts(way).handshakes;

    hf__proxy_rule(way, &forget);
    stay_till_let_in(way, before + 1, job, job);
    EXPECT_IS(hf__proxy_counts(way).hits, 1);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

/* As a server does that is just starting: it takes the first connections, never
 * answers, and lets in whoever comes after that. */
TEST_WITHIN(90, a_server_that_forgets_connections_costs_no_lock)
{
    static const struct hf__proxy_rule forget = {
        .what = HF__HANDSHAKE, .where = HF__BEFORE, .action = HF__SILENCE};
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *way = start_proxy(s);
    AUTO_CLIENT *alice = open_by(way, "session_timeout=20s");
    AUTO_CLIENT *bob = open_by(way, "session_timeout=20s");
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(bob, "other");
    int before = hf__proxy_counts(way).handshakes;

    hf__proxy_rule(way, &forget);
    hf__proxy_rule(way, &forget);
    hf__proxy_cut(way, HF__CLOSE);
    stay_till_let_in(way, before + 2, job, other);
    EXPECT_IS(hf__proxy_counts(way).hits, 2);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
}

/* Which of them comes first is chance. */
TEST_WITHIN(90, a_silent_member_keeps_nobody_out)
{
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *one = start_proxy(s);
    AUTO_PROXY *other = start_proxy(s);
    struct hf__proxy *const ways[WAYS] = {one, other};
    int64_t longest_ms = 0;

    hf__proxy_accept_silently(one);
    for (int i = 0; i < 6; i++) {
        int64_t start = hf__test_now_ms();

        hf_close(open_by_both(ways));
        longest_ms = since(start) > longest_ms ? since(start) : longest_ms;
    }
    printf("%lld ms at most\n", (long long)longest_ms);
    EXPECT_SOON(longest_ms, patience(6000));
}
