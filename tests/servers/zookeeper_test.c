/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what zookeeper.h says of one server: it serves, keeps
 * what was written, takes options, and nothing is left when its owner is
 * killed?
 */
#include "tests/lib/test.h"
#include "tests/servers/owner.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSION_MS = 20000 };

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

/* A number below zero comes only within a pipeline. To who asks one by one this
 * server gives the last number again and again, and so it fails while the node
 * that has it is there. */
TEST_WITHIN(120, a_sequence_is_worn_out)
{
    static const char *const numbers[] = {"2147483646", "2147483647"};
    struct hf__zookeeper *s = hf__zookeeper_start(NULL);
    struct hf__zookeeper_client *c;
    char path[HF__ZOOKEEPER_DATA];

    hf__zookeeper_put(s, "/a/line", "kept");
    hf__zookeeper_put(s, "/a/line/other", "");
    hf__zookeeper_set_sequence(s, "/a/line", INT32_MAX - 1);
    EXPECT_TEXT(hf__zookeeper_data(s, "/a/line"), "kept");
    EXPECT_IS(hf__zookeeper_count(s, "/a/line"), 1);
    c = dial(s, SESSION_MS);
    for (int i = 0; i < 2; i++) {
        EXPECT_IS(hf__zookeeper_create(c, "/a/line/n-", "",
                                       HF__ZOOKEEPER_EPHEMERAL_SEQUENTIAL,
                                       path),
                  0);
        EXPECT_TEXT(path + strlen("/a/line/n-"), numbers[i]);
    }
    EXPECT_IS(hf__zookeeper_create(c, "/a/line/n-", "",
                                   HF__ZOOKEEPER_EPHEMERAL_SEQUENTIAL, NULL),
              HF__ZOOKEEPER_NODE_EXISTS);
    EXPECT_IS(hf__zookeeper_delete(c, path), 0);
    EXPECT_IS(hf__zookeeper_create(c, "/a/line/n-", "",
                                   HF__ZOOKEEPER_EPHEMERAL_SEQUENTIAL, path),
              0);
    EXPECT_TEXT(path + strlen("/a/line/n-"), numbers[1]);
    hf__zookeeper_hang_up(c);
    hf__zookeeper_free(s);
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

TEST_WITHIN(120, options_of_the_jvm_are_passed_on)
{
    static const char *const java[] = {"-Dhf.test=seen", "-Xmx777m", NULL};
    const struct hf__zookeeper_opts opts = {.java = java, .is_for_speed = true};
    struct hf__zookeeper *s = hf__zookeeper_start(&opts);
    char path[64];
    char line[8192];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/cmdline", hf__zookeeper_pid(s));
    f = fopen(path, "re");
    EXPECT(f);
    n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    EXPECT(memmem(line, n, "-Dhf.test=seen", 15));
    EXPECT(memmem(line, n, "-Xmx1g\0", 7));
    EXPECT(memmem(line, n, "-Xmx777m\0", 9));
    hf__zookeeper_free(s);
}

TEST_WITHIN(120, a_paused_server_answers_when_it_is_resumed)
{
    struct hf__zookeeper *s = hf__zookeeper_start(NULL);
    struct hf__zookeeper_client *c = dial(s, SESSION_MS);

    hf__zookeeper_pause(s);
    EXPECT_TEXT(hf__zookeeper_word(s, "ruok"), "");
    EXPECT(!hf__zookeeper_has_ended(s));
    hf__zookeeper_resume(s);
    EXPECT_TEXT(hf__zookeeper_word(s, "ruok"), "imok");
    EXPECT_IS(hf__zookeeper_ping(c), 0);
    hf__zookeeper_hang_up(c);
    hf__zookeeper_free(s);
}

static struct owned start_owned(void)
{
    struct hf__zookeeper *s = hf__zookeeper_start(NULL);
    struct owned owned = {.server = hf__zookeeper_pid(s)};

    snprintf(owned.folder, sizeof owned.folder, "%s", hf__zookeeper_folder(s));
    return owned;
}

TEST_WITHIN(120, nothing_is_left_of_an_owner_that_is_killed)
{
    hf__zookeeper_need();
    owner_is_killed(start_owned);
}
