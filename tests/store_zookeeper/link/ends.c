/* SPDX-License-Identifier: MIT */
/*
 * How a link ends: the session of one that owns what may be held is never
 * ended by us, whatever is short or under way at that moment; and nobody waits
 * long for a server that is silent.
 */
#include "src/backend/zookeeper/internal.h"
#include "tests/servers/proxy.h"
#include "tests/store_zookeeper/link/side.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define AUTO_PROXY HF_AUTO(end_proxy) struct hf__proxy

static void end_proxy(struct hf__proxy **p)
{
    hf__proxy_free(*p);
}

static struct hf__proxy *proxy_to_shared(void)
{
    return hf__proxy_start(hf__zookeeper_port(hf__zookeeper_shared()),
                           &hf__framing_zookeeper);
}

static int meet_by(struct side *s, struct hf__proxy *p, int io_timeout_ms)
{
    char hosts[64];
    struct hf__zk_target target = {
        .hosts = hosts, .timeout_ms = LIFE_MS, .io_timeout_ms = io_timeout_ms};

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", hf__proxy_port(p));
    return meet_at(s, &target, 1, 10000);
}

static bool is_there(const char *name)
{
    struct hf__zookeeper_node node;

    return hf__zookeeper_look(hf__zookeeper_shared(), under(name), &node);
}

TEST(a_session_is_kept_when_descriptors_are_short)
{
    MET(s);
    struct rlimit usual;

    own(&s, under("mine"));
    EXPECT_IS(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit few = {3, usual.rlim_max};
    EXPECT_IS(setrlimit(RLIMIT_NOFILE, &few), 0);
    part(&s);
    EXPECT_IS(setrlimit(RLIMIT_NOFILE, &usual), 0);
    hf__test_pause_ms(100);
    EXPECT_SAFE(is_there("mine"));
}

static int connect_too(int flags)
{
    struct sockaddr_in to =
        hf__servers_at(hf__zookeeper_port(hf__zookeeper_shared()));
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT(fd >= 0);
    EXPECT_IS(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    EXPECT_IS(fcntl(fd, F_SETFL, flags), 0);
    return fd;
}

/* Then it is not known which socket is the library's. */
TEST(nor_when_the_application_is_connected_to_the_server_too)
{
    SIDE(s);
    int fd = connect_too(O_NONBLOCK);

    EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
    own(&s, under("mine"));
    part(&s);
    hf__test_pause_ms(100);
    EXPECT_SAFE(is_there("mine"));
    EXPECT_IS(send(fd, "ruok", 4, MSG_NOSIGNAL), 4); /* it is as it was */
    close(fd);
}

/* It waits for what is sent to it, which the library's never does. */
TEST(a_connection_of_the_application_s_stays_inherited)
{
    SIDE(s);
    int fd = connect_too(0);

    EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
    hf__test_pause_ms(50);
    EXPECT_IS(fcntl(fd, F_GETFD), 0);
    close(fd);
}

/* It is closed while it connects again: at any moment of that. */
TEST_WITHIN(60, a_session_is_kept_while_it_connects_again)
{
    AUTO_PROXY *p = proxy_to_shared();

    for (int i = 0; i < 24; i++) {
        SIDE(s);
        char name[16];

        snprintf(name, sizeof name, "mine%d", i);
        EXPECT_IS(meet_by(&s, p, 0), HF_OK);
        own(&s, under(name));
        hf__proxy_cut(p, i % 2 == 0 ? HF__RESET : HF__CLOSE);
        hf__test_pause_ms(i / 2 % 6);
        part(&s);
        hf__test_pause_ms(5);
        EXPECT_SAFE(is_there(name));
    }
}

/* A handshake is under way, and nobody answers it. */
TEST_WITHIN(30, a_session_is_kept_when_a_handshake_hangs)
{
    AUTO_PROXY *p = proxy_to_shared();
    SIDE(s);

    EXPECT_IS(meet_by(&s, p, 0), HF_OK);
    own(&s, under("mine"));
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_cut(p, HF__RESET);
    hf__test_pause_ms(150);
    int64_t from = hf__test_now_ms();
    part(&s);
    EXPECT_SOON(hf__test_now_ms() - from, 1000);
    hf__proxy_heal(p);
    hf__test_pause_ms(100);
    EXPECT_SAFE(is_there("mine"));
}

/* Of it nobody counts on anything: it ends with its time. */
TEST_WITHIN(60, a_silent_server_holds_nobody_who_leaves)
{
    AUTO_PROXY *p = proxy_to_shared();

    for (int i = 0; i < 4; i++) {
        SIDE(s);

        EXPECT_IS(meet_by(&s, p, 400), HF_OK);
        hf__proxy_hold(p, HF__TO_SERVER);
        if (i % 2 == 0) {
            hf__proxy_hold(p, HF__TO_CLIENT);
        }
        int64_t from = hf__test_now_ms();
        part(&s);
        EXPECT_SOON(hf__test_now_ms() - from, 2500);
        hf__proxy_heal(p);
    }
}

static void cut_soon(void *arg)
{
    hf__test_pause_ms(100);
    hf__proxy_cut(arg, HF__RESET);
}

/* It would be asked for two seconds. */
TEST_WITHIN(30, nor_one_whose_connection_is_lost_meanwhile)
{
    AUTO_PROXY *p = proxy_to_shared();
    SIDE(s);

    EXPECT_IS(meet_by(&s, p, 4000), HF_OK);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_hold(p, HF__TO_CLIENT);
    struct hf__test_thread *cutter = hf__test_start(cut_soon, p);
    int64_t from = hf__test_now_ms();
    part(&s);
    EXPECT_SOON(hf__test_now_ms() - from, 1900);
    hf__test_join(cutter);
    hf__proxy_heal(p);
}

/* Who makes the link is late to see that it was let in, and others use it. */
TEST_WITHIN(30, a_handle_that_was_let_in_is_not_given_up)
{
    const struct hf__zk_target target = {.timeout_ms = LIFE_MS};
    AUTO_PROXY *p = proxy_to_shared();
    SIDE(s);

    EXPECT_IS(meet_by(&s, p, 0), HF_OK);
    int64_t session = hf__zk_session_id(&s.ref);
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_cut(p, HF__RESET);
    UNTIL(!hf__zk_is_connected(&s.ref));
    EXPECT_IS(hf__zk_start_elsewhere(s.ref.session, &target, NULL), HF_OK);
    hf__proxy_heal(p);
    EXPECT_IS(hf__zk_ready(&s.ref, hf__after_ms(hf__now(), 5000), &s.error),
              HF_OK);
    EXPECT(hf__zk_session_id(&s.ref) == session);
}

TEST(a_session_that_is_not_needed_is_ended_though_calls_were_interrupted)
{
    MET(s);
    EXPECT_IS(create(&s, under("mine"), ZOO_EPHEMERAL), ZOK);
    EXPECT(is_there("mine"));
    stop(&s);
    part(&s);
    EXPECT(!is_there("mine"));
}

/* The handle lives on, and looks for a server: none lets it in. */
TEST_WITHIN(30, a_link_that_was_cut_keeps_no_session_alive)
{
    MET(s);
    own(&s, under("mine"));
    hf__zk_cut(s.ref.session);
    hf__test_pause_ms(LIFE_MS / 4);
    EXPECT_SAFE(is_there("mine"));
    int64_t from = hf__test_now_ms();
    while (is_there("mine")) {
        EXPECT_SOON(hf__test_now_ms() - from, 5 * LIFE_MS);
        hf__test_pause_ms(20);
    }
}

/* ---- a session that was given up */

/* Its password comes with the answer, after it was taken. */
TEST_WITHIN(60, it_ends_although_a_handshake_was_under_way)
{
    AUTO_SERVER *server = hf__zookeeper_start(NULL);
    AUTO_PROXY *p =
        hf__proxy_start(hf__zookeeper_port(server), &hf__framing_zookeeper);
    SIDE(s);

    EXPECT_IS(meet_by(&s, p, 1000), HF_OK);
    EXPECT_IS(hf__zookeeper_sessions(server), 1);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__HANDSHAKE,
                                               .where = HF__BEFORE,
                                               .action = HF__SILENCE});
    hf__proxy_cut(p, HF__CLOSE);
    EXPECT(hf__proxy_wait_hits(p, 1, 20000));
    hf__zk_move(s.ref.session, HF__ZK_STRAYED);
    hf__zk_abandon(&s.ref);
    hf__proxy_heal(p);
    int64_t start = hf__test_now_ms();
    while (hf__zookeeper_sessions(server) > 0) {
        EXPECT_SOON(hf__test_now_ms() - start, 7 * LIFE_MS);
        hf__test_pause_ms(20);
    }
}
