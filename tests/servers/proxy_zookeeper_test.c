/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy count requests, replies, events and sessions of ZooKeeper as
 * the client does, and find them by what is in them? What it does where it
 * cuts, proxy_redis_test.c sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <stdio.h>

enum { SESSION_MS = 20000, PATH = 48 };

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__zookeeper_share);
}

static struct hf__proxy *scene_proxy(void)
{
    return hf__proxy_start(hf__zookeeper_port(hf__zookeeper_shared()),
                           &hf__framing_zookeeper);
}

static struct hf__zookeeper_client *scene_dial(const struct hf__proxy *p)
{
    return hf__zookeeper_dial(hf__proxy_port(p), SESSION_MS);
}

static const char *scene_path(const char *name)
{
    static char path[PATH];

    snprintf(path, sizeof path, "%s/%s", hf__zookeeper_test_chroot(), name);
    return path;
}

static int scene_nodes(void)
{
    return hf__zookeeper_count(hf__zookeeper_shared(),
                               hf__zookeeper_test_chroot());
}

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

static int create(struct hf__zookeeper_client *c, const char *name)
{
    return hf__zookeeper_create(c, scene_path(name), "",
                                HF__ZOOKEEPER_PERSISTENT, NULL);
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

TEST(an_event_is_a_push_and_is_cut_by_its_path)
{
    struct hf__proxy *p = scene_proxy();
    struct hf__zookeeper_client *c = scene_dial(p);

    EXPECT(c);
    EXPECT_IS(create(c, "first"), 0);
    EXPECT_IS(create(c, "second"), 0);
    EXPECT_IS(hf__zookeeper_watch(c, scene_path("first")), 0);
    EXPECT_IS(hf__zookeeper_watch(c, scene_path("second")), 0);
    EXPECT_IS(hf__proxy_counts(p).pushes, 0);
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
