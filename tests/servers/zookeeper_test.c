/* SPDX-License-Identifier: MIT */
/*
 * A ZooKeeper that one test has after the other; the rest of the fixture its
 * users see.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

/* Others want none like this. */
TEST_WITHIN(120, who_takes_what_was_left_finds_nothing_in_it)
{
    static const char *const lines[] = {"maxSessionTimeout=54321", NULL};
    const struct hf__zookeeper_opts opts = {.extra = lines};
    struct hf__zookeeper *s = hf__zookeeper_start(&opts);
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(s), 20000);
    pid_t pid = hf__zookeeper_pid(s);

    EXPECT(c);
    hf__zookeeper_put(s, "/a/b", "");
    EXPECT_IS(
        hf__zookeeper_create(c, "/a/e", "", HF__ZOOKEEPER_EPHEMERAL, NULL), 0);
    hf__zookeeper_set_acl(s, "/a", "digest:nobody:x:r");
    hf__zookeeper_set_acl(s, "/", "world:anyone:r");
    hf__zookeeper_drop(c);
    hf__zookeeper_pause(s);
    hf__zookeeper_free(s);
    s = hf__zookeeper_start(&opts);
    EXPECT_IS(hf__zookeeper_pid(s) == pid, hf__warden_has_run());
    EXPECT_IS(hf__zookeeper_sessions(s), 0);
    EXPECT_TEXT(hf__zookeeper_list(s, "/"), "zookeeper");
    EXPECT_TEXT(hf__zookeeper_acl(s, "/"), "world:anyone:rwcda");
    EXPECT_TEXT(hf__zookeeper_value(s, "maxSessionTimeout", "conf"), "54321");
    hf__zookeeper_kill(s);
    hf__zookeeper_free(s);
}
