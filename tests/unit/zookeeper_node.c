/* SPDX-License-Identifier: MIT */
/*
 * How locks are written into ZooKeeper's tree: what is read is what was
 * written, what ZooKeeper refuses is never written, and what we did not write
 * is not ours.
 */
#include "src/backend/zookeeper/errors.h"
#include "src/backend/zookeeper/node.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static const struct hf__token token = {{0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
                                        0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98,
                                        0x76, 0x54, 0x32, 0x10}};
#define HEX "0123456789abcdeffedcba9876543210"

static const char *path_of(const char *chroot, const char *key, int name_at)
{
    static char path[HF__ZK_FOLDER_MAX];
    struct hf__key k = {key, (uint16_t)strlen(key), (uint16_t)name_at};

    size_t length = hf__zk_name_path(chroot, &k, path);

    EXPECT_IS(length, strlen(path));
    return path;
}

TEST(a_name_is_a_folder_below_its_prefix)
{
    EXPECT_TEXT(path_of("", "holdfast:job", 9), "/holdfast/job");
    EXPECT_TEXT(path_of("/a/b", "holdfast:job", 9), "/a/b/holdfast/job");
    EXPECT_TEXT(path_of("", "a:b:c", 2), "/a/b:c");
}

/* No lock's prefix has a colon. */
TEST(cells_have_a_folder_that_no_lock_has)
{
    EXPECT_TEXT(path_of("/a", "holdfast=job", 9), "/a/holdfast:cells/job");
    EXPECT_TEXT(path_of("", "holdfast=:job", 10), "/holdfast=/job");
    EXPECT_TEXT(path_of("", "holdfast==job", 10), "/holdfast=:cells/job");
    EXPECT_TEXT(path_of("", "x/y=a/b", 4), "/x%2Fy:cells/a%2Fb");
}

TEST(what_a_path_can_not_have_is_escaped)
{
    EXPECT_TEXT(path_of("", "p:a/b", 2), "/p/a%2Fb");
    EXPECT_TEXT(path_of("", "p:100%", 2), "/p/100%25");
    EXPECT_TEXT(path_of("", "p:.", 2), "/p/%2E");
    EXPECT_TEXT(path_of("", "p:..", 2), "/p/%2E%2E");
    EXPECT_TEXT(path_of("", "p:...", 2), "/p/...");
    EXPECT_TEXT(path_of("", "p:a\nb\x7f", 2), "/p/a%0Ab%7F");
    EXPECT_TEXT(path_of("", "x/y:job", 4), "/x%2Fy/job");
}

/* U+0080 to U+009F, U+E000 to U+F8FF, U+FFF0 to U+FFFF, and what is two of 16
 * bits; the neighbours of each are as they are. */
TEST(characters_that_zookeeper_refuses_are_escaped)
{
    EXPECT_TEXT(path_of("", "p:\xc2\x9f\xc2\xa0", 2), "/p/%C2%9F\xc2\xa0");
    EXPECT_TEXT(path_of("", "p:\xee\x80\x80\xef\xa3\xbf", 2),
                "/p/%EE%80%80%EF%A3%BF");
    EXPECT_TEXT(path_of("", "p:\xef\xa4\x80", 2), "/p/\xef\xa4\x80");
    EXPECT_TEXT(path_of("", "p:\xef\xbf\xb0", 2), "/p/%EF%BF%B0");
    EXPECT_TEXT(path_of("", "p:\xef\xbf\xaf", 2), "/p/\xef\xbf\xaf");
    EXPECT_TEXT(path_of("", "p:\xf0\x9f\x94\x92", 2), "/p/%F0%9F%94%92");
    EXPECT_TEXT(path_of("", "p:\xe2\x82\xac", 2), "/p/\xe2\x82\xac");
}

static void expect_read(const char *folder, const char *name)
{
    char to[HF_NAME_MAX + 1];
    size_t n = hf__zk_name_read(folder, to);

    to[n] = '\0';
    EXPECT_TEXT(to, name);
}

TEST(a_folder_is_read_only_as_it_would_be_written)
{
    expect_read("a%2Fb", "a/b");
    expect_read("100%25", "100%");
    expect_read("%2E%2E", "..");
    expect_read("%F0%9F%94%92", "\xf0\x9f\x94\x92");
    expect_read("a%2fb", ""); /* small digits */
    expect_read("%61", "");   /* need not be escaped */
    expect_read("100%", "");  /* has to be */
    expect_read("a%2Fb%", "");
    expect_read("", "");
}

/* Every name of three bytes out of the dangerous ones has a text of its own. */
TEST(each_name_comes_back)
{
    static const char odd[] = {'a', '.',    '/',    '%', '2',
                               'F', '\x01', '\x7f', ':', ' '};
    int n = (int)sizeof odd;

    for (int i = 0; i < n * n * n; i++) {
        char key[6] = {'p', ':', odd[i % n], odd[i / n % n], odd[i / n / n],
                       '\0'};

        expect_read(path_of("", key, 2) + 3, key + 2);
    }
}

TEST(the_longest_name_fits)
{
    char key[HF__KEY_MAX];
    char folder[HF__ZK_FOLDER_MAX];
    char name[HF_NAME_MAX];
    struct hf__key k = {key, HF__KEY_MAX, HF__PREFIX_MAX + 1};

    memset(key, '/', sizeof key);
    EXPECT_IS(hf__zk_name_path("/c", &k, folder),
              2 + 1 + 3 * (HF__PREFIX_MAX + 1) + 1 + 3 * HF_NAME_MAX);
    EXPECT_IS(hf__zk_name_read(strrchr(folder, '/') + 1, name), HF_NAME_MAX);
}

/* ---- children */

static struct hf__zk_child child_of(const char *name)
{
    struct hf__zk_child child;

    hf__zk_child_read(name, &child);
    return child;
}

TEST(a_claim_is_read_as_it_was_written)
{
    static const struct hf__lock_mode manners[] = {
        {HF__MODE_EXCLUSIVE, 0},
        {HF__MODE_SHARED, 0},
        {HF__MODE_SLOTS, 1},
        {HF__MODE_SLOTS, HF_SLOTS_MAX}};
    static const char *const begin[] = {"x-" HEX "-", "s-" HEX "-",
                                        "n1-" HEX "-", "n1024-" HEX "-"};

    for (int i = 0; i < 4; i++) {
        char name[HF__ZK_CHILD_MAX];
        struct hf__zk_child child;

        hf__zk_claim_write(&token, manners[i], name);
        EXPECT_TEXT(name, begin[i]);
        strncat(name, "0000000042", sizeof name - strlen(name) - 1);
        child = child_of(name);
        EXPECT_IS(child.kind, HF__ZK_CLAIM);
        EXPECT(hf__token_equal(&child.token, &token));
        EXPECT_IS(child.lock_mode.mode, manners[i].mode);
        EXPECT_IS(child.lock_mode.slots, manners[i].slots);
        EXPECT_IS(child.sequence, 42);
    }
}

TEST(a_sequence_may_be_negative)
{
    EXPECT_IS(child_of("x-" HEX "--2147483648").sequence, INT32_MIN);
    EXPECT_IS(child_of("x-" HEX "--2147483648").kind, HF__ZK_CLAIM);
    EXPECT_IS(child_of("x-" HEX "--000000001").sequence, -1);
    EXPECT_IS(child_of("x-" HEX "-2147483647").sequence, INT32_MAX);
}

TEST(what_we_did_not_write_is_foreign)
{
    static const char *const foreign[] = {
        "",
        "x",
        "x-",
        "x-" HEX,
        "x-" HEX "-",
        "x-" HEX "-1",
        "x-" HEX "-00000000042",
        "x-" HEX "-000000004a",
        "x-" HEX "-2147483648",
        "x--0000000001",
        "y-" HEX "-0000000001",
        "xx-" HEX "-0000000001",
        "n-" HEX "-0000000001",
        "n0-" HEX "-0000000001",
        "n01-" HEX "-0000000001",
        "n1025-" HEX "-0000000001",
        "x-00000000000000000000000000000000-0000000001",
        "x-0123456789ABCDEFFEDCBA9876543210-0000000001",
        "k-" HEX "-0000000001",
        "k0",
        "k01-" HEX "-0000000001",
        "k1024-" HEX "-0000000001",
        "k1x-" HEX "-0000000001",
        "lock-",
        "lock-" HEX "0",
        "lock-0123456789ABCDEFFEDCBA9876543210",
        "Lock",
        "_c_" HEX "-lock-0000000001"};

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        EXPECT_TEXT(
            child_of(foreign[i]).kind == HF__ZK_FOREIGN ? "" : foreign[i], "");
    }
}

TEST(slots_and_the_lock_are_told_apart)
{
    char name[HF__ZK_CHILD_MAX];
    struct hf__zk_child child;

    hf__zk_slot_write(&token, 1023, name);
    EXPECT_TEXT(name, "k1023-" HEX "-");
    strncat(name, "-2147483648", sizeof name - strlen(name) - 1);
    child = child_of(name);
    EXPECT_IS(child.kind, HF__ZK_SLOT);
    EXPECT_IS(child.slot, 1023);
    EXPECT_IS(child.sequence, INT32_MIN);
    EXPECT(hf__token_equal(&child.token, &token));
    EXPECT_IS(child_of("k0-" HEX "-0000000001").slot, 0);
    EXPECT_IS(child_of("lock").kind, HF__ZK_LOCK);
    hf__zk_marker_write(&token, name);
    EXPECT_TEXT(name, "lock-" HEX);
    child = child_of(name);
    EXPECT_IS(child.kind, HF__ZK_MARKER);
    EXPECT(hf__token_equal(&child.token, &token));
}

TEST(a_path_for_people_has_no_token)
{
    static const char *const paths[][2] = {
        {"/a/job/x-" HEX "-0000000001", "/a/job/x-…-0000000001"},
        {"/a/job/x-" HEX "-", "/a/job/x-…-"},
        {"/a/job/s-" HEX "-0000000001", "/a/job/s-…-0000000001"},
        {"/a/job/n12-" HEX "-2147483647", "/a/job/n12-…-2147483647"},
        {"/a/job/k3-" HEX "-0000000001", "/a/job/k3-…-0000000001"},
        {"/a/job/lock-" HEX, "/a/job/lock-…"},
        {"/a/job/lock", "/a/job/lock"},
        {"/a/my-" HEX, "/a/my-" HEX},
        {"/a/" HEX, "/a/" HEX},
        {"/", "/"},
        {"no path", "no path"}};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char shown[HF__ZK_PATH_MAX];

        EXPECT_TEXT(hf__zk_path_show(paths[i][0], shown), paths[i][1]);
    }
}

/* As a server of 3.8 does: it stays at the last one, and what is made while
 * another is under way is the lowest of all. */
TEST(near_the_end_a_sequence_says_nothing)
{
    EXPECT(!hf__zk_is_exhausted(0));
    EXPECT(!hf__zk_is_exhausted(INT32_MAX - 65536));
    EXPECT(hf__zk_is_exhausted(INT32_MAX - 65535));
    EXPECT(hf__zk_is_exhausted(INT32_MAX));
    EXPECT(hf__zk_is_exhausted(INT32_MIN));
    EXPECT(hf__zk_is_exhausted(-1));
}

/* Twice what was made, less what is there, in 32 bits. */
TEST(the_next_sequence_is_told_by_the_folder)
{
    EXPECT_IS(hf__zk_next_sequence(0, 0), 0);
    EXPECT_IS(hf__zk_next_sequence(1, 1), 1);
    EXPECT_IS(hf__zk_next_sequence(9, 1), 5);
    EXPECT_IS(hf__zk_next_sequence(INT32_MAX, 1), 1 << 30);
    EXPECT_IS(hf__zk_next_sequence(-3, 1), INT32_MAX);
}

/* ---- data */

TEST(facts_are_read_as_they_were_written)
{
    struct hf__zk_data node_data = {.state = HF__ZK_WAITS,
                                    .token = token,
                                    .acquired_us = INT64_C(1790000000123456),
                                    .owner = {.pid = 4194304}};
    struct hf__zk_data again;
    char data[HF__ZK_DATA_MAX];
    int length;

    snprintf(node_data.owner.label, sizeof node_data.owner.label,
             "ali%%ce \"\\");
    memset(node_data.owner.note, '\n', sizeof node_data.owner.note - 1);
    memset(node_data.owner.host, '%', sizeof node_data.owner.host - 1);
    memset(node_data.owner.thread, '\x01', sizeof node_data.owner.thread - 1);
    length = hf__zk_data_write(&node_data, data);
    hf__zk_data_read(data, (size_t)length, &again);
    EXPECT_IS(again.state, HF__ZK_WAITS);
    EXPECT(hf__token_equal(&again.token, &token));
    EXPECT_IS(again.acquired_us, node_data.acquired_us);
    EXPECT_IS(again.owner.pid, node_data.owner.pid);
    EXPECT_TEXT(again.owner.label, node_data.owner.label);
    EXPECT_TEXT(again.owner.note, node_data.owner.note);
    EXPECT_TEXT(again.owner.host, node_data.owner.host);
    EXPECT_TEXT(again.owner.thread, node_data.owner.thread);
}

/* Cut anywhere, or of somebody else: nothing is read that is not there. */
TEST(damaged_facts_are_left_empty)
{
    static const char odd[] = "state holds\ntoken 01\nlabel a\xff"
                              "b\nnew 1\n"
                              "host a%00b\nnote \xe2\x82\npid\nacquired x\n\n";
    struct hf__zk_data f;
    char data[sizeof odd];

    for (size_t n = 0; n < sizeof odd; n++) {
        memcpy(data, odd, n);
        data[n < sizeof data ? n : 0] = '\0';
        hf__zk_data_read(data, n, &f);
        EXPECT(hf__token_is_zero(&f.token));
        EXPECT_IS(f.acquired_us, 0);
    }
    EXPECT_IS(f.state, HF__ZK_HOLDS);
    EXPECT_TEXT(f.owner.label, "");
    EXPECT_TEXT(f.owner.host, "");
    EXPECT_TEXT(f.owner.note, "");
}
