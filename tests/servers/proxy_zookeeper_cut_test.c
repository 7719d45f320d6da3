/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy cut a connection to ZooKeeper exactly where a rule says: what
 * the server has done and what the client was told must fit, for each place,
 * also in a pipeline?
 */
#include "tests/lib/test.h"
#include "tests/servers/scene_cuts.h"
#include "tests/servers/scene_zookeeper.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_wire.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { HIT_MS = 10000 };

static int create(struct hf__zookeeper_client *c, const char *name)
{
    return hf__zookeeper_create(c, scene_path(name), "",
                                HF__ZOOKEEPER_PERSISTENT, NULL);
}

static void forget_nodes(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};

    for (int i = 0; i < 5; i++) {
        hf__zookeeper_remove(hf__zookeeper_shared(), scene_path(names[i]));
    }
}

/* ---- places */

/* A rule for the second of three requests: how many nodes there are after it,
 * and which request shows the client that it was cut off. */
void scene_cut_second(enum hf__proxy_what what, enum hf__proxy_where where,
                      enum hf__proxy_action action, int nodes, int shown_by)
{
    static const char *const names[] = {"a", "b", "c"};
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);
    const struct hf__proxy_rule rule = {
        .what = what, .where = where, .action = action, .n = 2, .bytes = 9};

    EXPECT(c);
    EXPECT(shown_by >= 1 && shown_by <= (int)(sizeof names / sizeof *names));
    hf__proxy_rule(p, &rule);
    for (int i = 1; i < shown_by; i++) {
        EXPECT_IS(create(c, names[i - 1]), 0);
    }
    EXPECT_IS(create(c, names[shown_by - 1]), HF__ZOOKEEPER_LOST);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    EXPECT_IS(hf__proxy_counts(p).open, 0);
    EXPECT(scene_wait_nodes(nodes));
    hf__zookeeper_drop(c);
    /* Once only. */
    c = scene_dial(p);
    EXPECT(c);
    EXPECT_IS(create(c, "d"), 0);
    EXPECT_IS(create(c, "e"), 0);
    hf__zookeeper_hang_up(c);
    hf__proxy_free(p);
    forget_nodes();
}

TEST(cut_at_the_handshake_there_is_no_session)
{
    static const enum hf__proxy_where places[] = {HF__BEFORE, HF__INSIDE};
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c;

    for (int i = 0; i < 2; i++) {
        hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__HANDSHAKE,
                                                   .where = places[i],
                                                   .bytes = 20});
        EXPECT(!scene_dial(p));
        EXPECT_IS(hf__proxy_counts(p).hits, i + 1);
        EXPECT_IS(hf__proxy_counts(p).handshakes, 0);
    }
    hf__proxy_rule(
        p, &(struct hf__proxy_rule){.what = HF__HANDSHAKE, .where = HF__AFTER});
    c = scene_dial(p);
    EXPECT(c);
    EXPECT_IS(create(c, "a"), HF__ZOOKEEPER_LOST);
    EXPECT_IS(scene_nodes(), 0);
    hf__zookeeper_drop(c);
    hf__proxy_free(p);
}

/* ---- which request */

TEST(a_rule_finds_a_request_by_its_type_and_path)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);
    struct hf__proxy_rule rule = {.what = HF__REPLY};

    EXPECT(c);
    snprintf(rule.text, sizeof rule.text, "delete %s", scene_path("b"));
    hf__proxy_rule(p, &rule);
    EXPECT_IS(create(c, "a"), 0);
    EXPECT_IS(create(c, "b"), 0);
    EXPECT_IS(hf__zookeeper_delete(c, scene_path("a")), 0);
    EXPECT_IS(hf__proxy_counts(p).hits, 0);
    EXPECT_IS(hf__zookeeper_delete(c, scene_path("b")), HF__ZOOKEEPER_LOST);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    EXPECT_IS(scene_nodes(), 0);
    hf__zookeeper_drop(c);
    c = scene_dial(p);
    EXPECT(c);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                               .text = "closeSession "});
    EXPECT_IS(create(c, "a"), 0);
    EXPECT_IS(hf__zookeeper_ping(c), 0);
    hf__zookeeper_hang_up(c);
    EXPECT_IS(hf__proxy_counts(p).hits, 2);
    hf__proxy_free(p);
}

TEST(an_event_is_cut_by_its_path)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);

    EXPECT(c);
    EXPECT_IS(create(c, "first"), 0);
    EXPECT_IS(create(c, "second"), 0);
    EXPECT_IS(hf__zookeeper_watch(c, scene_path("first")), 0);
    EXPECT_IS(hf__zookeeper_watch(c, scene_path("second")), 0);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__PUSH,
                                               .where = HF__INSIDE,
                                               .bytes = 10,
                                               .text = "/second"});
    hf__zookeeper_put(hf__zookeeper_shared(), scene_path("first"), "x");
    EXPECT_IS(hf__zookeeper_sync(c, "/"), 0);
    EXPECT_IS(hf__proxy_counts(p).pushes, 1);
    hf__zookeeper_put(hf__zookeeper_shared(), scene_path("second"), "x");
    EXPECT_IS(hf__zookeeper_sync(c, "/"), HF__ZOOKEEPER_LOST);
    EXPECT_IS(hf__proxy_counts(p).pushes, 1);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    hf__zookeeper_drop(c);
    hf__proxy_free(p);
}

/* ---- in a pipeline */

/* Sends five requests at once. */
static void send_five(struct hf__zookeeper_client *c)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    char bytes[4096];
    size_t n = 0;

    for (int i = 0; i < 5; i++) {
        hf__wire_ask(c, HF__WIRE_CREATE);
        hf__jute_put_text(&c->message, scene_path(names[i]));
        hf__jute_put_text(&c->message, "");
        hf__jute_put_int(&c->message, 1);
        hf__jute_put_int(&c->message, 31);
        hf__jute_put_text(&c->message, "world");
        hf__jute_put_text(&c->message, "anyone");
        hf__jute_put_int(&c->message, 0);
        hf__wire_finish(c);
        memcpy(bytes + n, c->message.bytes, c->message.length);
        n += c->message.length;
    }
    EXPECT_IS(send(c->fd, bytes, n, MSG_NOSIGNAL), n);
}

/* Cut at the third: how many are done, and how many replies the client gets. */
void scene_cut_pipeline(enum hf__proxy_what what, enum hf__proxy_where where,
                        int done, int told)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);
    int replies = 0;

    EXPECT(c);
    hf__proxy_rule(p, &(struct hf__proxy_rule){
                          .what = what, .where = where, .n = 3, .bytes = 9});
    send_five(c);
    while (hf__wire_receive(c)) {
        replies++;
    }
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    EXPECT_LESS(replies, told + 1);
    if (what == HF__REPLY) {
        EXPECT_IS(replies, told);
    }
    EXPECT(scene_wait_nodes(done));
    hf__zookeeper_drop(c);
    hf__proxy_free(p);
    forget_nodes();
}

/* ---- silence */

struct attempt {
    struct hf__zookeeper_client *c;
    int r;
};

static void try_create(void *arg)
{
    struct attempt *attempt = arg;

    attempt->r = create(attempt->c, "a");
}

/* Silent at that place, then healed: the request goes on as if nothing were. */
void scene_silence(enum hf__proxy_what what, enum hf__proxy_where where,
                   int meanwhile)
{
    struct hf__proxy *p = scene_proxy();
    struct attempt attempt = {scene_dial(p), 99};
    struct hf__test_thread *thread;

    EXPECT(attempt.c);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = what,
                                               .where = where,
                                               .action = HF__SILENCE,
                                               .bytes = 9});
    thread = hf__test_start(try_create, &attempt);
    EXPECT(hf__proxy_wait_hits(p, 1, HIT_MS));
    EXPECT(scene_wait_nodes(meanwhile));
    hf__test_pause_ms(100);
    EXPECT_IS(scene_nodes(), meanwhile);
    EXPECT_IS(hf__proxy_counts(p).open, 1);
    EXPECT_IS(hf__proxy_counts(p).replies, 0);
    hf__proxy_heal(p);
    hf__test_join(thread);
    EXPECT_IS(attempt.r, 0);
    EXPECT_IS(scene_nodes(), 1);
    EXPECT_IS(create(attempt.c, "b"), 0);
    hf__zookeeper_hang_up(attempt.c);
    hf__proxy_free(p);
    forget_nodes();
}

/* The server gives the session up while its client hears nothing, and says so
 * when it is healed. */
TEST_WITHIN(60, a_session_ends_behind_a_black_hole)
{
    struct hf__proxy *p = scene_proxy();
    zhandle_t *z = scene_open(p, 1000);
    struct scene_answers answers = {0};
    int64_t until;

    EXPECT_IS(zoo_acreate(z, scene_path("e"), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                          ZOO_EPHEMERAL, scene_count, &answers),
              ZOK);
    EXPECT(scene_wait_answers(&answers, 1));
    EXPECT_IS(scene_nodes(), 1);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__proxy_accept_silently(p);
    EXPECT(scene_wait_nodes(0));
    EXPECT_NOT(zoo_state(z), ZOO_EXPIRED_SESSION_STATE);
    hf__proxy_heal(p);
    until = hf__test_now_ms() + hf__servers_patience(20000);
    while (zoo_state(z) != ZOO_EXPIRED_SESSION_STATE &&
           hf__test_now_ms() < until) {
        hf__test_pause_ms(5);
    }
    EXPECT_IS(zoo_state(z), ZOO_EXPIRED_SESSION_STATE);
    zookeeper_close(z);
    hf__proxy_free(p);
}
