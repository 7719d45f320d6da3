/* SPDX-License-Identifier: MIT */
/*
 * Does the small client do what zookeeper_client.h says: the administrator sees
 * and damages all, nodes are of all kinds, and sessions end at will? All on the
 * server that the tests share.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <stdio.h>

enum { SESSION_MS = 20000, PATH = 128 };

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__zookeeper_share);
}

/* A path of the test; valid until the call after the next. */
static const char *at(const char *name)
{
    static char paths[2][PATH];
    static int turn;

    turn = !turn;
    snprintf(paths[turn], PATH, "%s/%s", hf__zookeeper_test_chroot(), name);
    return paths[turn];
}

static struct hf__zookeeper_client *dial(const struct hf__zookeeper *s,
                                         int session_ms)
{
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(s), session_ms);

    EXPECT(c);
    return c;
}

TEST_WITHIN(60, nodes_are_seen_and_damaged)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    struct hf__zookeeper_node node;
    int64_t first;

    EXPECT(!hf__zookeeper_look(s, at("a"), &node));
    EXPECT_IS(hf__zookeeper_count(s, at("a")), -1);
    EXPECT_TEXT(hf__zookeeper_data(s, at("a")), "");
    EXPECT_TEXT(hf__zookeeper_list(s, at("a")), "");
    hf__zookeeper_put(s, at("a/b/c"), "one");
    EXPECT_TEXT(hf__zookeeper_data(s, at("a/b/c")), "one");
    EXPECT_TEXT(hf__zookeeper_data(s, at("a/b")), "");
    EXPECT(hf__zookeeper_look(s, at("a/b/c"), &node));
    EXPECT_MORE(node.czxid, 0);
    EXPECT_IS(node.mzxid, node.czxid);
    EXPECT_IS(node.version, 0);
    EXPECT_IS(node.owner, 0);
    EXPECT_IS(node.length, 3);
    EXPECT_IS(node.children, 0);
    first = node.czxid;
    hf__zookeeper_put(s, at("a/b/c"), "other");
    EXPECT(hf__zookeeper_look(s, at("a/b/c"), &node));
    EXPECT_TEXT(node.data, "other");
    EXPECT_IS(node.czxid, first);
    EXPECT_MORE(node.mzxid, first);
    EXPECT_IS(node.version, 1);
    hf__zookeeper_put(s, at("a/b/B"), "");
    hf__zookeeper_put(s, at("a/b/x/y"), "");
    EXPECT_TEXT(hf__zookeeper_list(s, at("a/b")), "B\nc\nx");
    EXPECT_IS(hf__zookeeper_count(s, at("a/b")), 3);
    EXPECT(hf__zookeeper_remove(s, at("a")));
    EXPECT(!hf__zookeeper_remove(s, at("a")));
    EXPECT_TEXT(hf__zookeeper_list(s, hf__zookeeper_test_chroot()), "");
}

TEST_WITHIN(60, a_client_has_nodes_of_all_kinds)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);
    struct hf__zookeeper_client *other = dial(s, SESSION_MS);
    struct hf__zookeeper_node node;
    const char *names;
    char path[HF__ZOOKEEPER_DATA];

    EXPECT_NOT(hf__zookeeper_session(c), hf__zookeeper_session(other));
    EXPECT_IS(hf__zookeeper_session_ms(c), SESSION_MS);
    EXPECT_IS(
        hf__zookeeper_create(c, at("c"), "", HF__ZOOKEEPER_CONTAINER, path), 0);
    EXPECT_TEXT(path, at("c"));
    EXPECT_IS(hf__zookeeper_create(c, at("c/e"), "mine",
                                   HF__ZOOKEEPER_EPHEMERAL, NULL),
              0);
    EXPECT_IS(hf__zookeeper_create(other, at("c/e"), "",
                                   HF__ZOOKEEPER_EPHEMERAL, NULL),
              HF__ZOOKEEPER_NODE_EXISTS);
    EXPECT_IS(hf__zookeeper_create(other, at("c/s-"), "",
                                   HF__ZOOKEEPER_EPHEMERAL_SEQUENTIAL, path),
              0);
    EXPECT_TEXT(path, at("c/s-0000000001"));
    EXPECT_IS(hf__zookeeper_create(c, at("none/e"), "",
                                   HF__ZOOKEEPER_PERSISTENT, path),
              HF__ZOOKEEPER_NO_NODE);
    EXPECT_IS(hf__zookeeper_get(other, at("c/e"), &node), 0);
    EXPECT_IS(node.owner, hf__zookeeper_session(c));
    EXPECT_TEXT(node.data, "mine");
    EXPECT_IS(hf__zookeeper_children(c, at("c"), &names), 0);
    EXPECT_TEXT(names, "e\ns-0000000001");
    EXPECT_IS(hf__zookeeper_watch(c, at("c/s-0000000001")), 0);
    EXPECT_IS(hf__zookeeper_delete(other, at("c")), HF__ZOOKEEPER_NOT_EMPTY);
    EXPECT_IS(hf__zookeeper_sessions(s), 2);
    hf__zookeeper_hang_up(other);
    EXPECT_IS(hf__zookeeper_ping(c), 0); /* after the event */
    EXPECT_IS(hf__zookeeper_sync(c, at("c")), 0);
    EXPECT_TEXT(hf__zookeeper_list(s, at("c")), "e");
    EXPECT_IS(hf__zookeeper_sessions(s), 1);
    hf__zookeeper_hang_up(c);
    EXPECT_IS(hf__zookeeper_sessions(s), 0);
}

/* Whoever left nothing but an empty container leaves nothing. */
TEST_WITHIN(60, empty_containers_go)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);
    int64_t until = hf__test_now_ms() + hf__servers_patience(20000);

    EXPECT_IS(
        hf__zookeeper_create(c, at("c"), "", HF__ZOOKEEPER_CONTAINER, NULL), 0);
    EXPECT_IS(
        hf__zookeeper_create(c, at("c/e"), "", HF__ZOOKEEPER_EPHEMERAL, NULL),
        0);
    hf__zookeeper_hang_up(c);
    while (hf__zookeeper_count(s, at("c")) >= 0 && hf__test_now_ms() < until) {
        hf__test_pause_ms(20);
    }
    EXPECT_IS(hf__zookeeper_count(s, at("c")), -1);
}

TEST_WITHIN(60, acls_keep_out_all_but_the_administrator)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);
    struct hf__zookeeper_node node;

    hf__zookeeper_put(s, at("a"), "secret");
    EXPECT_TEXT(hf__zookeeper_acl(s, at("a")), "world:anyone:rwcda");
    /* bob:sesame */
    hf__zookeeper_set_acl(s, at("a"),
                          "digest:bob:AJXT1pH3tPfVrhX7hB5yjpRNkg8=:r");
    EXPECT_TEXT(hf__zookeeper_acl(s, at("a")),
                "digest:bob:AJXT1pH3tPfVrhX7hB5yjpRNkg8=:r");
    EXPECT_IS(hf__zookeeper_get(c, at("a"), &node), HF__ZOOKEEPER_NO_AUTH);
    EXPECT_IS(hf__zookeeper_auth(c, "bob", "nonsense"), 0);
    EXPECT_IS(hf__zookeeper_get(c, at("a"), &node), HF__ZOOKEEPER_NO_AUTH);
    EXPECT_IS(hf__zookeeper_auth(c, "bob", "sesame"), 0);
    EXPECT_IS(hf__zookeeper_get(c, at("a"), &node), 0);
    EXPECT_IS(hf__zookeeper_set(c, at("a"), ""), HF__ZOOKEEPER_NO_AUTH);
    EXPECT_TEXT(hf__zookeeper_data(s, at("a")), "secret");
    hf__zookeeper_put(s, at("a"), "known");
    EXPECT_TEXT(hf__zookeeper_data(s, at("a")), "known");
    hf__zookeeper_hang_up(c);
}

TEST_WITHIN(60, a_session_is_ended_at_will)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);
    int64_t session = hf__zookeeper_session(c);

    EXPECT_IS(
        hf__zookeeper_create(c, at("e"), "", HF__ZOOKEEPER_EPHEMERAL, NULL), 0);
    EXPECT(!hf__zookeeper_expire(s, session + 1));
    EXPECT_IS(hf__zookeeper_count(s, at("e")), 0);
    EXPECT_IS(hf__zookeeper_ping(c), 0);
    EXPECT(hf__zookeeper_expire(s, session));
    EXPECT_IS(hf__zookeeper_count(s, at("e")), -1);
    EXPECT_IS(hf__zookeeper_sessions(s), 0);
    EXPECT_IS(hf__zookeeper_ping(c), HF__ZOOKEEPER_LOST);
    EXPECT(!hf__zookeeper_expire(s, session));
    hf__zookeeper_drop(c);
}

/* On a busy machine it may be over before it is used. */
static struct hf__zookeeper_client *dial_shortly(const struct hf__zookeeper *s)
{
    int64_t until = hf__test_now_ms() + hf__servers_patience(20000);

    for (;;) {
        struct hf__zookeeper_client *c = dial(s, 1);

        EXPECT_IS(hf__zookeeper_session_ms(c), 200);
        if (hf__zookeeper_create(c, at("e"), "", HF__ZOOKEEPER_EPHEMERAL,
                                 NULL) == 0) {
            return c;
        }
        hf__zookeeper_drop(c);
        EXPECT(hf__test_now_ms() < until);
    }
}

TEST_WITHIN(60, a_session_may_be_short)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    struct hf__zookeeper_client *c = dial_shortly(s);
    int64_t start = hf__test_now_ms();
    int64_t until = start + hf__servers_patience(20000);

    hf__zookeeper_drop(c);
    while (hf__zookeeper_count(s, at("e")) >= 0 && hf__test_now_ms() < until) {
        hf__test_pause_ms(5);
    }
    printf("%lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_IS(hf__zookeeper_count(s, at("e")), -1);
    EXPECT_SOON(hf__test_now_ms() - start, hf__servers_patience(3000));
}
