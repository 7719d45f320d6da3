/* SPDX-License-Identifier: MIT */
/*
 * Names are bytes: kept as they are, never folded, trimmed or cut, whatever
 * they would mean to a shell, a path or a statement.
 */
#include "tests/contract/api.h"

#include <string.h>

enum { MANY = 40 };

/* Sorted by their bytes. */
static const char *const odd_names[] = {" ",
                                        "\"quoted\"",
                                        "$(true)",
                                        "%",
                                        "%%s%n",
                                        "'; DROP--",
                                        "*",
                                        "+",
                                        ".",
                                        "..",
                                        "../../etc",
                                        "/",
                                        "//",
                                        "Job",
                                        "[a-z]",
                                        "\\",
                                        "\\0",
                                        "a\tb",
                                        "a\nb",
                                        "holdfast:job",
                                        "job",
                                        "job ",
                                        "job.",
                                        "job..",
                                        "job:1",
                                        "job_1",
                                        "j\xc3\xb6",
                                        "{a}b",
                                        "{b}b",
                                        "~",
                                        "\x7f",
                                        "\xc3\xa4",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x94\x92"};
enum { ODD = sizeof odd_names / sizeof odd_names[0] };

TEST(odd_names_are_kept_byte_for_byte_and_distinct)
{
    CLIENTS(alice, bob);
    hf_lock *locks[ODD];

    for (int i = 0; i < ODD; i++) {
        locks[i] = acquire(alice, odd_names[i]);
        EXPECT_TEXT(hf_name(locks[i]), odd_names[i]);
    }
    for (int i = 0; i < ODD; i++) {
        AUTO_INFO *info = look_at(bob, odd_names[i]);

        EXPECT_TEXT(hf_info_name(info), odd_names[i]);
        EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
        EXPECT_IS(try_once(bob, odd_names[i]), HF_BUSY);
        hf_free(locks[i]);
        EXPECT_IS(try_once(bob, odd_names[i]), HF_OK);
    }
}

static int next_odd(void *position, const hf_info *info)
{
    int *i = position;

    EXPECT_LESS(*i, ODD);
    EXPECT_TEXT(hf_info_name(info), odd_names[*i]);
    ++*i;
    return 0;
}

TEST_IF(store_can(HF_CAP_LIST),
        odd_names_are_listed_in_the_order_of_their_bytes)
{
    AUTO_CLIENT *alice = open_store();
    hf_lock *locks[ODD];
    int n = 0;

    for (int i = ODD; i-- > 0;) {
        locks[i] = acquire(alice, odd_names[i]);
    }
    EXPECT_IS(hf_list(alice, NULL, next_odd, &n, NULL), HF_OK);
    EXPECT_IS(n, ODD);
    for (int i = 0; i < ODD; i++) {
        hf_free(locks[i]);
    }
}

TEST(a_name_is_not_its_own_beginning)
{
    AUTO_CLIENT *alice = open_store();
    char name[HF_NAME_MAX + 1] = "";

    for (int i = 0; i < HF_NAME_MAX; i += 51) {
        memset(name, 'n', (size_t)i + 1);
        AUTO_LOCK *lock = acquire(alice, name);

        EXPECT_IS(try_once(alice, name), HF_BUSY);
        expect_held(lock);
        name[i] = '\0';
        EXPECT_IS(i ? try_once(alice, name) : HF_OK, HF_OK);
    }
}

TEST(prefixes_keep_programs_apart)
{
    AUTO_CLIENT *alice = open_with("prefix=a");
    AUTO_CLIENT *bob = open_with("prefix=b");
    AUTO_CLIENT *carol = open_with("prefix=a");
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(try_once(carol, "job"), HF_BUSY);
    expect_held(job);
}

TEST(a_prefix_and_a_name_do_not_run_together)
{
    AUTO_CLIENT *alice = open_with("prefix=a");
    AUTO_CLIENT *bob = open_with("prefix=ab");
    AUTO_LOCK *first = acquire(alice, "bc");
    AUTO_LOCK *second = acquire(bob, "c");

    expect_held(first);
    expect_held(second);
}

TEST(the_default_prefix_is_holdfast)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_with("prefix=holdfast");
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    expect_held(job);
}

static int count_one(void *n, const hf_info *info)
{
    EXPECT_TEXT(hf_info_name(info), "mine");
    ++*(int *)n;
    return 0;
}

TEST_IF(store_can(HF_CAP_LIST), a_list_shows_only_the_own_prefix)
{
    AUTO_CLIENT *alice = open_with("prefix=a");
    AUTO_CLIENT *bob = open_with("prefix=ab");
    AUTO_LOCK *mine = acquire(alice, "mine");
    AUTO_LOCK *yours = acquire(bob, "yours");
    int n = 0;

    expect_held(mine);
    expect_held(yours);
    EXPECT_IS(hf_list(alice, "", count_one, &n, NULL), HF_OK);
    EXPECT_IS(n, 1);
}

TEST(a_prefix_has_bounds)
{
    char url[200] = "prefix=";

    memset(url + 7, 'p', 65);
    EXPECT_IS(open_status(store_url(url), NULL), HF_EINVAL);
    url[7 + 64] = '\0';
    EXPECT_IS(open_status(store_url(url), NULL), HF_OK);
}
