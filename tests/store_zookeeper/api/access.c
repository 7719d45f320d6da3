/* SPDX-License-Identifier: MIT */
/*
 * Who may do what: users and their nodes, other people's trees, servers that
 * want to know who comes, that only read, or that tell nothing of themselves.
 */
#include "tests/store_zookeeper/api/guest.h"

#include <string.h>

static hf_client *open_as(const char *who, const char *chroot)
{
    char rest[512];

    snprintf(rest, sizeof rest, "%s%s?prefix=test", hf__zookeeper_test_chroot(),
             chroot);
    return open_at(hf__zookeeper_port(hf__zookeeper_shared()), who, rest);
}

static void expect_no_auth(hf_client *client, const char *path)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, &err), HF_EAUTH);
    printf("# %s\n", err.text);
    EXPECT_HAS(err.text, path);
    EXPECT_HAS(err.text, "ACL");
    opts.shared = 1;
    opts.wait_ms = 1000;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_EAUTH);
}

/* ---- users */

static void expect_anns(const char *path)
{
    EXPECT_HAS(hf__zookeeper_acl(hf__zookeeper_shared(), path), "digest:ann:");
    EXPECT_HAS(hf__zookeeper_acl(hf__zookeeper_shared(), path), ":rwcda");
    EXPECT(strstr(hf__zookeeper_acl(hf__zookeeper_shared(), path), "world") ==
           NULL);
}

TEST(what_a_user_makes_is_that_user_s)
{
    static const char *const recipes[] = {"fair", "simple"};

    for (int i = 0; i < 2; i++) {
        const struct hf__zookeeper *server = hf__zookeeper_shared();
        char rest[512];
        char names[512];
        char *end = NULL;

        snprintf(rest, sizeof rest, "%s/own?prefix=test&recipe=%s",
                 hf__zookeeper_test_chroot(), recipes[i]);
        AUTO_CLIENT *client =
            open_at(hf__zookeeper_port(server), "ann:pw@", rest);
        AUTO_LOCK *lock = acquire(client, "job");

        snprintf(rest, sizeof rest, "%s/own/test/job",
                 hf__zookeeper_test_chroot());
        expect_anns(rest);
        snprintf(names, sizeof names, "%s", hf__zookeeper_list(server, rest));
        for (char *at = strtok_r(names, "\n", &end); at != NULL;
             at = strtok_r(NULL, "\n", &end)) {
            char child[1100];

            snprintf(child, sizeof child, "%s/%s", rest, at);
            expect_anns(child);
        }
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

/* A wrong password makes another user, to the server. */
TEST(others_and_wrong_passwords_are_kept_out)
{
    static const char *const others[] = {"", "ann:wrong@", "bob:pw@"};
    AUTO_CLIENT *ann = open_as("ann:pw@", "");
    AUTO_LOCK *lock = acquire(ann, "job");

    for (int i = 0; i < 3; i++) {
        AUTO_CLIENT *other = open_as(others[i], "");
        hf_error err = HF_ERROR_INIT;
        hf_info *info = NULL;

        expect_no_auth(other, path_of("job"));
        EXPECT_IS(hf_inspect(other, "job", &info, &err), HF_EAUTH);
        EXPECT_HAS(err.text, path_of("job"));
        EXPECT_IS(hf_break(other, "job", 0, &err), HF_EAUTH);
        expect_held(lock);
    }
    AUTO_CLIENT *again = open_as("ann:pw@", "");
    EXPECT_IS(try_once(again, "job"), HF_BUSY);
}

TEST(a_tree_that_is_somebody_else_s_is_named)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    char path[320];

    snprintf(path, sizeof path, "%s/theirs", hf__zookeeper_test_chroot());
    hf__zookeeper_put(server, path, "");
    hf__zookeeper_set_acl(server, path, "world:anyone:r");
    AUTO_CLIENT *client = open_as("", "/theirs");
    expect_no_auth(client, path);
    EXPECT_TEXT(hf__zookeeper_list(server, path), "");
    hf__zookeeper_set_acl(server, path, "world:anyone:rwcda");
    take_and_give(client, "job");
}

TEST(a_chroot_that_is_not_there_is_made)
{
    AUTO_CLIENT *client = open_as("", "/not/there/yet");
    AUTO_LOCK *lock = acquire(client, "job");
    char path[320];

    snprintf(path, sizeof path, "%s/not/there/yet/test/job",
             hf__zookeeper_test_chroot());
    EXPECT_IS(hf__zookeeper_count(hf__zookeeper_shared(), path), 1);
    expect_held(lock);
}

/* ---- servers */

TEST_WITHIN(60, a_server_that_knows_no_digests_refuses_users)
{
    static const char *const java[] = {
        "-Dzookeeper.DigestAuthenticationProvider.enabled=false", NULL};
    struct hf__zookeeper_opts opts = {.java = java, .is_fresh = true};
    AUTO_SERVER *server = hf__zookeeper_start(&opts);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(status_at(hf__zookeeper_port(server), "ann:pw@", "/", &err),
              HF_EAUTH);
    EXPECT_HAS(err.text, "digest");
    AUTO_CLIENT *client = open_at(hf__zookeeper_port(server), "", "/");
    take_and_give(client, "job");
}

TEST_WITHIN(60, a_server_that_wants_to_know_who_comes_says_so)
{
    static const char *const java[] = {
        "-Dzookeeper.enforce.auth.enabled=true",
        "-Dzookeeper.enforce.auth.schemes=digest", NULL};
    struct hf__zookeeper_opts opts = {.java = java};
    AUTO_SERVER *server = hf__zookeeper_start(&opts);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(status_at(hf__zookeeper_port(server), "", "/", &err), HF_EAUTH);
    EXPECT_HAS(err.text, "enforce.auth.schemes");
    AUTO_CLIENT *client = open_at(hf__zookeeper_port(server), "ann:pw@", "/");
    take_and_give(client, "job");
}

/* It has no majority, and is told to let readers in all the same: a lock is no
 * reader. */
TEST_WITHIN(120, a_server_that_only_reads_lets_nobody_in)
{
    static const char *const java[] = {"-Dreadonlymode.enabled=true", NULL};
    struct hf__zookeeper_opts opts = {.java = java};
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(2, &opts);
    struct hf__zookeeper *last = hf__zookeeper_member(e, 1);
    hf_error err = HF_ERROR_INIT;

    hf__zookeeper_kill(hf__zookeeper_member(e, 0));
    UNTIL_WITHIN(20000, strcmp(hf__zookeeper_word(last, "isro"), "ro") == 0);
    EXPECT_IS(
        status_at(hf__zookeeper_port(last), "", "/?connect_timeout=2s", &err),
        HF_EUNAVAIL);
    EXPECT_HAS(err.text, "majority");
    hf__zookeeper_ensemble_free(e);
}

struct findings {
    char text[2048];
    hf_verdict of_version;
};

static int note_finding(void *arg, const hf_check_item *item)
{
    struct findings *f = arg;
    size_t length = strlen(f->text);

    snprintf(f->text + length, sizeof f->text - length, "%s=%s;", item->name,
             item->value);
    if (strcmp(item->name, "version") == 0) {
        f->of_version = item->verdict;
        EXPECT_HAS(item->remedy, "4lw.commands.whitelist");
    }
    return 0;
}

/* Its four-letter words are not answered: they need connections of their own.
 */
TEST_WITHIN(60, a_server_that_tells_nothing_of_itself_is_used_all_the_same)
{
    AUTO_PROXY *proxy = hf__proxy_start(
        hf__zookeeper_port(hf__zookeeper_shared()), &hf__framing_zookeeper);
    AUTO_CLIENT *client = open_through(proxy, "fair");
    struct findings f = {{0}, HF_FINE};

    hf__proxy_refuse(proxy);
    EXPECT_IS(hf_check(client, note_finding, &f, NULL), HF_OK);
    printf("# %s\n", f.text);
    EXPECT_HAS(f.text, "version=is not told;");
    EXPECT_IS(f.of_version, HF_WARN);
    EXPECT_HAS(f.text, "containers=yes;");
    take_and_give(client, "job");
}

static int note_hosts(void *arg, const hf_check_item *item)
{
    struct findings *f = arg;
    size_t length = strlen(f->text);

    if (strncmp(item->name, "host ", 5) == 0) {
        snprintf(f->text + length, sizeof f->text - length, "%s=%s%s;",
                 strrchr(item->name, ':') + 1, item->value,
                 item->verdict == HF_WARN ? "!" : "");
    }
    return 0;
}

TEST_WITHIN(60, check_tells_which_members_of_an_ensemble_serve)
{
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(3, NULL);
    int leader = hf__zookeeper_await_leader(e, -1);
    struct hf__zookeeper *gone = hf__zookeeper_member(e, (leader + 1) % 3);
    hf_client *client = NULL;
    struct findings f = {{0}, HF_FINE};
    char url[HF__ZOOKEEPER_URL];
    char expected[64];

    hf__zookeeper_ensemble_url(e, "", url, sizeof url);
    hf__zookeeper_kill(gone);
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_check(client, note_hosts, &f, NULL), HF_OK);
    printf("# %s\n", f.text);
    snprintf(expected, sizeof expected, "%d=leader;",
             hf__zookeeper_port(hf__zookeeper_member(e, leader)));
    EXPECT_HAS(f.text, expected);
    snprintf(expected, sizeof expected, "%d=does not answer!;",
             hf__zookeeper_port(gone));
    EXPECT_HAS(f.text, expected);
    EXPECT_HAS(f.text, "=follower;");
    hf_close(client);
    hf__zookeeper_ensemble_free(e);
}
