/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what zookeeper.h says of one server: it serves, keeps
 * what was written, takes options, and nothing is left when its owner is
 * killed?
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSION_MS = 20000, PATH = 128 };

static struct hf__zookeeper_client *dial(const struct hf__zookeeper *s,
                                         int session_ms)
{
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(s), session_ms);

    EXPECT(c);
    return c;
}

TEST_WITHIN(120, a_server_starts_serves_and_leaves_nothing)
{
    const struct hf__zookeeper_opts fresh = {.is_fresh = true};
    struct hf__zookeeper *s;
    int64_t start;
    int64_t took;
    char folder[256];
    char url[HF__ZOOKEEPER_URL];
    char wanted[HF__ZOOKEEPER_URL];
    pid_t pid;

    start = hf__test_now_ms();
    s = hf__zookeeper_start(&fresh);
    took = hf__test_now_ms() - start;
    pid = hf__zookeeper_pid(s);
    printf("%lld ms\n", (long long)took);
    hf__zookeeper_url(s, "/a/b", url, sizeof url);
    snprintf(wanted, sizeof wanted, "zookeeper://127.0.0.1:%d/a/b",
             hf__zookeeper_port(s));
    EXPECT_TEXT(url, wanted);
    EXPECT_TEXT(hf__zookeeper_value(s, "Mode", "srvr"), "standalone");
    EXPECT_TEXT(hf__zookeeper_value(s, "minSessionTimeout", "conf"), "200");
    EXPECT_HAS(hf__zookeeper_value(s, "dataDir", "conf"),
               hf__zookeeper_folder(s));
    EXPECT_TEXT(hf__zookeeper_value(s, "dataDi", "conf"), "");
    EXPECT_TEXT(hf__zookeeper_list(s, "/"), "zookeeper");
    snprintf(folder, sizeof folder, "%s", hf__zookeeper_folder(s));
    start = hf__test_now_ms();
    hf__zookeeper_free(s);
    printf("ended in %lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT(access(folder, F_OK) < 0);
    EXPECT(kill(pid, 0) < 0);
}

/* What was written outlives the server, and so do sessions and their nodes. */
TEST_WITHIN(120, what_was_killed_or_stopped_starts_again_with_its_data)
{
    static const char *const lines[] = {"minSessionTimeout=700",
                                        "maxClientCnxns=2", NULL};
    const struct hf__zookeeper_opts on_disk = {.on_disk = true};
    struct hf__zookeeper *s = hf__zookeeper_start(&on_disk);
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);
    int port = hf__zookeeper_port(s);
    pid_t pid = hf__zookeeper_pid(s);

    hf__zookeeper_put(s, "/k", "found");
    EXPECT_IS(hf__zookeeper_create(c, "/e", "", HF__ZOOKEEPER_EPHEMERAL, NULL),
              0);
    EXPECT(!hf__zookeeper_has_ended(s));
    hf__zookeeper_kill(s);
    EXPECT(hf__zookeeper_has_ended(s));
    EXPECT(!hf__zookeeper_dial(port, SESSION_MS));
    EXPECT_TEXT(hf__zookeeper_word(s, "ruok"), "");
    hf__zookeeper_restart(s, lines);
    EXPECT_NOT(hf__zookeeper_pid(s), pid);
    EXPECT_IS(hf__zookeeper_port(s), port);
    EXPECT_TEXT(hf__zookeeper_value(s, "minSessionTimeout", "conf"), "700");
    EXPECT_TEXT(hf__zookeeper_value(s, "maxClientCnxns", "conf"), "2");
    EXPECT_IS(hf__zookeeper_ping(c), HF__ZOOKEEPER_LOST);
    EXPECT_IS(hf__zookeeper_count(s, "/e"), 0);
    EXPECT_IS(hf__zookeeper_sessions(s), 1);
    EXPECT(hf__zookeeper_expire(s, hf__zookeeper_session(c)));
    EXPECT_IS(hf__zookeeper_count(s, "/e"), -1);
    hf__zookeeper_stop(s);
    EXPECT(hf__zookeeper_has_ended(s));
    hf__zookeeper_restart(s, NULL);
    EXPECT_TEXT(hf__zookeeper_data(s, "/k"), "found");
    EXPECT_TEXT(hf__zookeeper_value(s, "minSessionTimeout", "conf"), "700");
    hf__zookeeper_drop(c);
    hf__zookeeper_free(s);
}

/* Others want none like this. */
TEST_WITHIN(120, who_takes_what_was_left_finds_nothing_in_it)
{
    static const char *const lines[] = {"maxSessionTimeout=54321", NULL};
    const struct hf__zookeeper_opts opts = {.extra = lines};
    struct hf__zookeeper *s = hf__zookeeper_start(&opts);
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);
    pid_t pid = hf__zookeeper_pid(s);

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

/* ---- the server that the tests of a program share */

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__zookeeper_share);
}

/* Processes that ask first all at once, as those of a crowd do. */
TEST_WITHIN(60, processes_that_begin_together_agree)
{
    pid_t pids[6];
    char path[PATH];

    hf__zookeeper_need();
    for (int i = 0; i < 6; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            snprintf(path, sizeof path, "%s/%d", hf__zookeeper_test_chroot(),
                     i);
            hf__zookeeper_put(hf__zookeeper_shared(), path, "");
            _exit(0);
        }
    }
    for (int i = 0; i < 6; i++) {
        EXPECT_IS(hf__test_exit_code(pids[i]), 0);
    }
    EXPECT_TEXT(
        hf__zookeeper_list(hf__zookeeper_shared(), hf__zookeeper_test_chroot()),
        "0\n1\n2\n3\n4\n5");
}

/* Two of them, so that each sees what the other left. */
static void see_nothing_and_leave_something(void)
{
    const struct hf__zookeeper *s = hf__zookeeper_shared();
    const char *chroot = hf__zookeeper_test_chroot();
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(s), SESSION_MS);
    char path[PATH];

    EXPECT(c);
    EXPECT_TEXT(hf__zookeeper_list(s, chroot), "");
    EXPECT_IS(hf__zookeeper_count(s, "/tests"), 1);
    snprintf(path, sizeof path, "%s/a/b", chroot);
    hf__zookeeper_put(s, path, "");
    hf__zookeeper_set_acl(s, path, "digest:nobody:x:r");
    snprintf(path, sizeof path, "%s/a/e", chroot);
    EXPECT_IS(hf__zookeeper_create(c, path, "", HF__ZOOKEEPER_EPHEMERAL, NULL),
              0);
    EXPECT_IS(hf__zookeeper_count(s, chroot), 1);
    hf__zookeeper_drop(c);
}

TEST_WITHIN(60, a_test_begins_with_nothing)
{
    see_nothing_and_leave_something();
}

TEST_WITHIN(60, the_next_test_does_too)
{
    see_nothing_and_leave_something();
}
