/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy count requests, replies, events and sessions of ZooKeeper as
 * the client does, and find them by what is in them? What it does where it
 * cuts, proxy_redis_cut_test.c sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/scene_zookeeper.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void expect_counts(struct hf__proxy *p, int statements, int replies)
{
    struct hf__proxy_counts c = hf__proxy_counts(p);

    EXPECT_IS(c.statements, statements);
    EXPECT_IS(c.replies, replies);
}

TEST(requests_and_replies_are_counted)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);
    struct hf__zookeeper_node node;
    const char *names;

    EXPECT(c);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 1);
    expect_counts(p, 0, 0);
    EXPECT_IS(hf__zookeeper_auth(c, "bob", "sesame"), 0);
    EXPECT_IS(hf__zookeeper_create(c, scene_path("a"), "data",
                                   HF__ZOOKEEPER_PERSISTENT, NULL),
              0);
    EXPECT_IS(hf__zookeeper_get(c, scene_path("a"), &node), 0);
    EXPECT_IS(hf__zookeeper_get(c, scene_path("none"), &node),
              HF__ZOOKEEPER_NO_NODE);
    expect_counts(p, 4, 4);
    EXPECT_IS(hf__zookeeper_ping(c), 0);
    EXPECT_IS(hf__zookeeper_ping(c), 0);
    expect_counts(p, 4, 4);
    EXPECT_IS(hf__zookeeper_children(c, "/", &names), 0);
    EXPECT_IS(hf__zookeeper_delete(c, scene_path("a")), 0);
    expect_counts(p, 6, 6);
    EXPECT_IS(hf__proxy_counts(p).pushes, 0);
    hf__zookeeper_hang_up(c);
    expect_counts(p, 7, 7);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 1);
    hf__proxy_free(p);
}

TEST(an_event_is_a_push)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);

    EXPECT(c);
    hf__zookeeper_put(hf__zookeeper_shared(), scene_path("a"), "");
    EXPECT_IS(hf__zookeeper_watch(c, scene_path("a")), 0);
    EXPECT_IS(hf__proxy_counts(p).pushes, 0);
    hf__zookeeper_put(hf__zookeeper_shared(), scene_path("a"), "other");
    EXPECT_IS(hf__zookeeper_sync(c, scene_path("a")), 0);
    EXPECT_IS(hf__proxy_counts(p).pushes, 1);
    expect_counts(p, 2, 2);
    hf__zookeeper_hang_up(c);
    hf__proxy_free(p);
}

/* Longer than any buffer. */
TEST(long_requests_and_replies_are_counted)
{
    static char data[1000000];
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);
    struct hf__zookeeper_node node;

    EXPECT(c);
    memset(data, 'x', sizeof data - 1);
    EXPECT_IS(hf__zookeeper_create(c, scene_path("a"), data,
                                   HF__ZOOKEEPER_PERSISTENT, NULL),
              0);
    EXPECT_IS(hf__zookeeper_get(c, scene_path("a"), &node), 0);
    EXPECT_IS(node.length, sizeof data - 1);
    expect_counts(p, 2, 2);
    hf__zookeeper_hang_up(c);
    hf__proxy_free(p);
}

TEST(each_request_of_a_pipeline_is_counted)
{
    struct hf__proxy *p = scene_proxy();
    zhandle_t *z = scene_open(p, 20000);
    struct scene_answers answers = {0};
    char name[16];

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "%d", i);
        scene_create(z, name, &answers);
    }
    EXPECT(scene_wait_answers(&answers, 300));
    EXPECT_IS(answers.n_good, 300);
    EXPECT_IS(scene_nodes(), 300);
    expect_counts(p, 300, 300);
    EXPECT_IS(zookeeper_close(z), ZOK);
    EXPECT_IS(hf__proxy_counts(p).statements, 301);
    hf__proxy_free(p);
}

/* The library's pings come by themselves, three in the time of a session. */
TEST(pings_pass_uncounted)
{
    struct hf__proxy *p = scene_proxy();
    zhandle_t *z = scene_open(p, 1200);

    hf__test_pause_ms(1600);
    EXPECT_IS(zoo_state(z), ZOO_CONNECTED_STATE);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 1);
    expect_counts(p, 0, 0);
    EXPECT_IS(zookeeper_close(z), ZOK);
    hf__proxy_free(p);
}

/* A word is no message, and its answer none. */
TEST(four_letter_words_pass_as_they_are)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c;
    char text[64] = "";
    int fd = hf__wire_reach(hf__proxy_port(p), 10000);

    EXPECT_MORE(fd, -1);
    EXPECT_IS(send(fd, "ruok", 4, 0), 4);
    EXPECT_IS(recv(fd, text, sizeof text - 1, MSG_WAITALL), 4);
    EXPECT_TEXT(text, "imok");
    close(fd);
    c = scene_dial(p);
    EXPECT(c);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 1);
    expect_counts(p, 0, 0);
    hf__zookeeper_hang_up(c);
    hf__proxy_free(p);
}

static int create(struct hf__zookeeper_client *c, const char *name)
{
    return hf__zookeeper_create(c, scene_path(name), "",
                                HF__ZOOKEEPER_PERSISTENT, NULL);
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
