/* SPDX-License-Identifier: MIT */
/*
 * Looking without touching: who holds a lock, which are held, is the store
 * fit; and breaking a lock, which is not looking at all.
 */
#include "tests/contract/api.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

TEST(an_unknown_name_is_free)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_INFO *info = look_at(alice, "job");

    EXPECT_IS(hf_info_presence(info), HF_FREE);
    EXPECT_TEXT(hf_info_name(info), "job");
    EXPECT_IS(hf_info_fence(info), 0);
    EXPECT_IS(hf_info_pid(info), 0);
    EXPECT(!hf_info_label(info));
}

TEST(a_holder_is_shown_with_what_it_said)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, 20000);
    AUTO_INFO *info = NULL;

    opts.owner = "alice \xe2\x99\xa5";
    opts.note = "a note";
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    info = look_at(bob, "job");
    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_TEXT(hf_info_label(info), "alice \xe2\x99\xa5");
    EXPECT_TEXT(hf_info_note(info), "a note");
    EXPECT_IS(hf_info_pid(info), getpid());
    EXPECT_IS(hf_info_fence(info), hf_fence(job));
    EXPECT_LESS(hf_info_remaining_ms(info), 20001);
    EXPECT_NOT(hf_info_holder_lives(info), 0);
}

TEST(a_holder_is_shown_with_where_it_is)
{
    HELD(job, alice);
    AUTO_INFO *info = look_at(alice, "job");
    char host[65] = "";
    int64_t age_s = time(NULL) - hf_info_acquired_us(info) / 1000000;

    EXPECT_IS(gethostname(host, sizeof host - 1), 0);
    EXPECT_TEXT(hf_info_host(info), host);
    EXPECT_TEXT(hf_info_label(info), program_invocation_short_name);
    EXPECT_MORE(age_s, -2);
    EXPECT_LESS(age_s, 10);
    EXPECT_IS(hf_held(job), 1);
}

TEST(a_released_name_is_free_and_remembers_its_fence)
{
    HELD(job, alice);
    AUTO_INFO *info = NULL;

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    info = look_at(alice, "job");
    EXPECT_IS(hf_info_presence(info), HF_FREE);
    /* Where it is the server's number, the release has one, too. */
    if (store_leases()) {
        EXPECT_IS(hf_info_fence(info), hf_fence(job));
    } else {
        EXPECT(hf_info_fence(info) >= hf_fence(job));
    }
    if (store_can(HF_CAP_FENCE)) {
        AUTO_LOCK *next = acquire(alice, "job");

        EXPECT_SAFE_MORE(hf_fence(next), hf_info_fence(info));
    }
}

TEST(a_snapshot_outlives_its_client)
{
    hf_client *alice = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_INFO *info = look_at(alice, "job");

    hf_close(alice);
    EXPECT_TEXT(hf_info_name(info), "job");
    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_IS(hf_held(job), 0);
}

/* Names a, b, …, in the order in which a list must show them. */
struct seen {
    char names[64];
    int stop_after;
};

static int note_name(void *arg, const hf_info *info)
{
    struct seen *s = arg;

    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_MORE(hf_info_pid(info), 0);
    strncat(s->names, hf_info_name(info), 8);
    strncat(s->names, " ", 2);
    return --s->stop_after == 0;
}

static struct seen list_of(hf_client *client, const char *prefix, int stop)
{
    struct seen s = {"", stop};

    EXPECT_IS(hf_list(client, prefix, note_name, &s, NULL), HF_OK);
    return s;
}

TEST_IF(store_can(HF_CAP_LIST), a_list_is_sorted_and_has_only_what_is_held)
{
    HELD(c, alice, bob);
    AUTO_LOCK *aa = acquire(bob, "aa");
    AUTO_LOCK *a = acquire(bob, "a");
    AUTO_LOCK *gone = acquire_fixed(alice, "bb", 100);
    AUTO_LOCK *b = acquire(alice, "b");

    hf_free(acquire(alice, "ab"));
    hf__test_pause_ms(120);
    EXPECT_TEXT(list_of(alice, "", 0).names, "a aa b c ");
    EXPECT_TEXT(list_of(alice, NULL, 0).names, "a aa b c ");
    EXPECT_TEXT(list_of(alice, "a", 0).names, "a aa ");
    EXPECT_TEXT(list_of(alice, "aaa", 0).names, "");
    EXPECT_TEXT(list_of(alice, "", 2).names, "a aa ");
    EXPECT(c && aa && a && gone && b);
}

TEST(a_store_that_cannot_list_says_so)
{
    AUTO_CLIENT *alice = open_store();
    struct seen s = {"", 0};
    int r = hf_list(alice, "", note_name, &s, NULL);

    EXPECT_IS(r, store_can(HF_CAP_LIST) ? HF_OK : HF_ENOTSUP);
}

static int note_item(void *arg, const hf_check_item *item)
{
    EXPECT(item->size >= sizeof *item);
    EXPECT(item->name && item->name[0]);
    EXPECT(item->value);
    EXPECT(item->verdict == HF_FINE || item->remedy);
    ++*(int *)arg;
    return 1;
}

TEST(a_check_reports_and_can_be_stopped)
{
    AUTO_CLIENT *alice = open_store();
    int n = 0;

    EXPECT_IS(hf_check(alice, note_item, &n, NULL), HF_OK);
    EXPECT_IS(n, 1);
}
