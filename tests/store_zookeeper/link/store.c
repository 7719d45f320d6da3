/* SPDX-License-Identifier: MIT */
/*
 * A session of the store as it opens: what a URL may say, who is let in, and
 * what is found of the server. What locks are made of is not asked here.
 */
#include "src/backend/zookeeper/zookeeper.h"
#include "tests/store_server/door.h"
#include "tests/store_zookeeper/link/side.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "zookeeper://[WHO@]127.0.0.1:PORT/CHROOT…", till the next call. */
static const char *url_of(const char *who, const char *rest)
{
    static char url[1024];

    snprintf(url, sizeof url, "zookeeper://%s%s%s%s", who,
             hosts_of(hf__zookeeper_shared()), hf__zookeeper_test_chroot(),
             rest);
    return url;
}

TEST(a_url_is_judged_before_anybody_is_asked)
{
    expect_refused("zookeeper://h/a?recipe=odd", HF_EINVAL, "recipe");
    expect_refused("zookeeper://h/a?session_timeout=1ms", HF_EINVAL,
                   "session_timeout");
    expect_refused("zookeeper://h/a?tls=require", HF_EINVAL, "tls");
    expect_refused("zookeeper://h/a?ca=/x", HF_EINVAL, "ca");
    expect_refused("zookeeper://h/a//b", HF_EINVAL, "none of a node");
    expect_refused("zookeeper://h/a/../b", HF_EINVAL, "none of a node");
    expect_refused("zookeeper://h/.", HF_EINVAL, "none of a node");
    expect_refused("zookeeper://h/a%01", HF_EINVAL, "control");
    expect_refused("zookeeper:///a", HF_EINVAL, "server");
    expect_refused("zookeeper://ann@h/a", HF_EINVAL, "no password");
    expect_refused("zookeeper://:pw@h/a", HF_EINVAL, "user");
    expect_refused("zookeeper://an%3An:pw@h/a", HF_EINVAL, "colon");
}

TEST(a_url_has_hosts_and_a_chroot)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;
    static struct hf__zk_url place;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf__url_parse("zookeeper://a,b:1,[::1]:2/c/d.e//?"
                            "recipe=simple&session_timeout=4s&tls=off",
                            &url, &err),
              HF_OK);
    EXPECT_IS(hf__zk_url_read(url, &place, &err), HF_OK);
    EXPECT_TEXT(place.hosts, "a:2181,b:1,[::1]:2");
    EXPECT_TEXT(place.chroot, "/c/d.e");
    EXPECT_IS(place.recipe, HF__ZK_SIMPLE);
    EXPECT_IS(place.timeout_ms, 4000);
}

TEST_WITHIN(60, a_lease_is_two_thirds_of_what_the_server_gives)
{
    static const char *const extra[] = {"maxSessionTimeout=1200", NULL};
    struct hf__zookeeper_opts opts = {.extra = extra};
    AUTO_SERVER *server = hf__zookeeper_start(&opts);
    char url[128];
    DOOR(d);

    EXPECT_IS(enter(&d, url_of("", "?session_timeout=1500ms")), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).lease_us, 1000000);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'B');
    EXPECT_IS(hf__conn_server_info(&d.conn).reach, HF_REACH_HOSTS);
    snprintf(url, sizeof url, "zookeeper://%s/", hosts_of(server));
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).lease_us, 800000);
    shut(&d);
}

TEST(a_password_comes_from_wherever_people_put_it)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_of("ann:pw@", "")), HF_OK);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD", "pw", 1), 0);
    EXPECT_IS(enter(&d, url_of("ann@", "")), HF_OK);
}

/* ---- what is found */

struct findings {
    char text[2048];
    int worst;
};

static int find(void *arg, const hf_check_item *item)
{
    struct findings *f = arg;
    size_t length = strlen(f->text);

    snprintf(f->text + length, sizeof f->text - length, "%s=%s;", item->name,
             item->value);
    f->worst = (int)item->verdict > f->worst ? (int)item->verdict : f->worst;
    EXPECT((item->remedy == NULL) == (item->verdict == HF_FINE));
    return 0;
}

static int inspect(struct door *d, struct findings *f)
{
    *f = (struct findings){{0}, 0};
    int r = hf__conn_check(&d->conn, find, f, hf__after_ms(hf__now(), 10000),
                           &d->error);
    printf("# %s\n", f->text);
    return r;
}

TEST(a_server_alone_is_found_as_it_is)
{
    DOOR(d);
    struct findings f;

    EXPECT_IS(enter(&d, url_of("", "?session_timeout=2s")), HF_OK);
    EXPECT_IS(inspect(&d, &f), HF_OK);
    EXPECT_IS(f.worst, HF_WARN);
    EXPECT_HAS(f.text, "version=3.");
    EXPECT_HAS(f.text, "mode=standalone;");
    EXPECT_HAS(f.text, "ensemble=1 member;");
    EXPECT_HAS(f.text, "session_timeout=2000 ms, leases 1333 ms;");
    EXPECT_HAS(f.text, "access=open;");
    EXPECT_HAS(f.text, "containers=yes;");
    EXPECT_IS(enter(&d, url_of("ann:pw@", "/no/such")), HF_OK);
    EXPECT_IS(inspect(&d, &f), HF_OK);
    EXPECT_HAS(f.text, "/no/such, to be made");
    EXPECT_HAS(f.text, "access=nodes are this user's only, but /");
    /* What it tried it took away. */
    EXPECT_TEXT(
        hf__zookeeper_list(hf__zookeeper_shared(), hf__zookeeper_test_chroot()),
        "");
}

TEST(a_chroot_that_is_not_ours_is_unfit)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    DOOR(d);
    struct findings f;

    hf__zookeeper_put(server, under("theirs"), "");
    hf__zookeeper_set_acl(server, under("theirs"), "world:anyone:r");
    EXPECT_IS(enter(&d, url_of("", "/theirs")), HF_OK);
    EXPECT_IS(inspect(&d, &f), HF_OK);
    EXPECT_IS(f.worst, HF_UNFIT);
    EXPECT_HAS(f.text, "/theirs is not ours to write");
}

TEST(members_that_vote_are_counted)
{
    EXPECT_IS(hf__zk_count_members(""), 1);
    EXPECT_IS(hf__zk_count_members("version=0"), 1);
    EXPECT_IS(hf__zk_count_members(
                  "server.1=h:1:2:participant;0.0.0.0:3\n"
                  "server.2=h:1:2:observer;0.0.0.0:3\n"
                  "server.3=h:1:2:participant;0.0.0.0:3\nversion=100000000"),
              2);
}

TEST_WITHIN(120, an_ensemble_is_of_grade_a)
{
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(3, NULL);
    char url[HF__ZOOKEEPER_URL];
    DOOR(d);
    struct findings f;

    hf__zookeeper_ensemble_url(e, "/locks", url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'A');
    EXPECT_IS(inspect(&d, &f), HF_OK);
    EXPECT_HAS(f.text, "ensemble=3 members;");
    shut(&d);
    hf__zookeeper_ensemble_free(e);
}
