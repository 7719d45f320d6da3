/* SPDX-License-Identifier: MIT */
/*
 * Folders that anybody may change, nodes that one may not read, and what is
 * told of both.
 */
#include "tests/store_zookeeper/api/guest.h"

#include <string.h>

static hf_client *open_as(const char *who, const char *recipe)
{
    char rest[512];

    snprintf(rest, sizeof rest, "%s?prefix=test&recipe=%s",
             hf__zookeeper_test_chroot(), recipe);
    return open_at(hf__zookeeper_port(hf__zookeeper_shared()), who, rest);
}

/* ---- folders that anybody may change */

static void expect_unsafe(hf_client *client, int wait_ms, const char *path)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = wait_ms;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, &err), HF_EUNSAFE);
    printf("# %s\n", err.text);
    EXPECT_HAS(err.text, path);
    EXPECT_HAS(err.text, "setAcl");
    EXPECT(lock == NULL);
    EXPECT_IS(hf__zookeeper_count(hf__zookeeper_shared(), path), 0);
}

/* Who would have to wait is told at once, and not when its turn has come. */
static void expect_unsafe_behind(hf_client *holder, hf_client *client)
{
    AUTO_LOCK *held = acquire(holder, "job");
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;
    int64_t start = hf__test_now_ms();

    opts.wait_ms = 60000;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_EUNSAFE);
    EXPECT_SOON(since(start), patience(30000));
    EXPECT_IS(hf_release(held, NULL), HF_OK);
}

/* Whoever may delete there may take a user's claims away, whatever their own
 * ACL says. */
static void expect_refused(const char *recipe)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    AUTO_CLIENT *nobody = open_as("", recipe);
    AUTO_CLIENT *ann = open_as("ann:pw@", recipe);
    const char *path = path_of("job");

    take_and_give(nobody, "job"); /* makes the folder of all names, too */
    take_and_give(ann, "hers");
    expect_unsafe(ann, 0, path);
    expect_unsafe(ann, 500, path);
    if (strcmp(recipe, "fair") == 0) {
        expect_unsafe_behind(nobody, ann);
    }
    hf__zookeeper_set_acl(server, path,
                          hf__zookeeper_acl(server, path_of("hers")));
    take_and_give(ann, "job");
    hf__zookeeper_set_acl(server, path, "world:anyone:rcd");
    expect_unsafe(ann, 0, path);
}

CASE(a_user_takes_no_lock_where_anybody_may_take_it_away,
     expect_refused("fair"));
CASE(a_user_takes_no_simple_lock_where_anybody_may_take_it_away,
     expect_refused("simple"));

/* ---- what check says of it */

static int note_access(void *arg, const hf_check_item *item)
{
    char *to = arg;

    if (strcmp(item->name, "access") == 0) {
        snprintf(to, 512, "%d %s: %s", (int)item->verdict, item->value,
                 item->remedy == NULL ? "" : item->remedy);
        printf("# %s\n", to);
    }
    return 0;
}

static void expect_access(hf_client *client, hf_verdict verdict,
                          const char *words)
{
    char said[512] = "";

    EXPECT_IS(hf_check(client, note_access, said, NULL), HF_OK);
    EXPECT_IS(said[0] - '0', (int)verdict);
    EXPECT_HAS(said, words);
    EXPECT_HAS(said, verdict == HF_FINE ? "only" : "setAcl");
}

TEST(check_tells_where_anybody_may_make_nodes)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    const char *chroot = hf__zookeeper_test_chroot();
    AUTO_CLIENT *ann = open_as("ann:pw@", "fair");
    char own[512];

    take_and_give(ann, "job");
    expect_access(ann, HF_WARN, chroot);
    snprintf(own, sizeof own, "%s", hf__zookeeper_acl(server, path_of("job")));
    hf__zookeeper_set_acl(server, chroot, own);
    expect_access(ann, HF_FINE, "nodes are this user's only");
    hf__zookeeper_set_acl(server, chroot, "world:anyone:c");
    expect_access(ann, HF_WARN, "is not told");
    hf__zookeeper_set_acl(server, chroot, "world:anyone:rwcda");
}

/* ---- what one may not read */

/* Nothing in the text may be one: 32 digits in a row. */
static void expect_no_token(const char *text)
{
    for (; *text != '\0'; text++) {
        EXPECT(strspn(text, "0123456789abcdef") < 32);
    }
}

static void expect_unreadable(hf_client *bob, const char *path)
{
    hf_error err = HF_ERROR_INIT;
    hf_info *info = NULL;

    EXPECT_IS(hf_break(bob, "job", 0, &err), HF_EAUTH);
    printf("# %s\n", err.text);
    EXPECT_HAS(err.text, path);
    EXPECT_IS(hf_inspect(bob, "job", &info, &err), HF_EAUTH);
    EXPECT_HAS(err.text, path);
    EXPECT(info == NULL);
    expect_no_token(err.text);
}

static int note_name(void *arg, const hf_info *info)
{
    char *to = arg;
    size_t length = strlen(to);

    snprintf(to + length, 256 - length, "%s;", hf_info_name(info));
    return 0;
}

static void expect_listed(hf_client *client, const char *names)
{
    char said[256] = "";
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_list(client, NULL, note_name, said, &err), HF_OK);
    EXPECT_TEXT(said, names);
}

/* Each of "alpha", "job" and "omega" is held; of "job" the holder's node, and
 * then its folder, are closed to others. */
static void expect_told(const char *recipe)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    AUTO_CLIENT *alice = open_as("", recipe);
    AUTO_CLIENT *bob = open_as("", recipe);
    AUTO_LOCK *alpha = acquire(alice, "alpha");
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *omega = acquire(alice, "omega");
    char path[700];
    char child[128];
    char shown[160] = "job/lock";

    snprintf(child, sizeof child, "%s",
             hf__zookeeper_list(server, path_of("job")));
    child[strcspn(child, "\n")] = '\0';
    snprintf(path, sizeof path, "%s/%s", path_of("job"), child);
    if (strcmp(recipe, "fair") == 0) {
        snprintf(shown, sizeof shown, "job/x-…-%s", strrchr(child, '-') + 1);
    }
    expect_listed(bob, "alpha;job;omega;");
    hf__zookeeper_set_acl(server, path, "world:anyone:d");
    expect_unreadable(bob, path_of(shown));
    expect_listed(bob, "alpha;omega;");
    hf__zookeeper_set_acl(server, path, "world:anyone:rwcda");
    hf__zookeeper_set_acl(server, path_of("job"), "world:anyone:cd");
    expect_unreadable(bob, path_of("job"));
    expect_listed(bob, "alpha;omega;");
    hf__zookeeper_set_acl(server, path_of("job"), "world:anyone:rwcda");
    expect_held(alpha);
    expect_held(omega);
    EXPECT_IS(hf_break(bob, "job", hf_fence(job), NULL), HF_OK);
}

CASE(a_holder_that_may_not_be_read_is_told_with_its_path, expect_told("fair"));
CASE(a_simple_holder_that_may_not_be_read_is_told_with_its_path,
     expect_told("simple"));

/* ---- which folder it was */

TEST(the_folder_that_refuses_is_the_one_that_is_named)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    AUTO_CLIENT *client = open_as("", "fair");
    const char *chroot = hf__zookeeper_test_chroot();
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    char words[400];

    hf__zookeeper_set_acl(server, chroot, "world:anyone:r");
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, &err), HF_EAUTH);
    printf("# %s\n", err.text);
    snprintf(words, sizeof words, " %s: ", chroot);
    EXPECT_HAS(err.text, words);
    hf__zookeeper_set_acl(server, chroot, "world:anyone:rwcda");
    take_and_give(client, "job");
}
