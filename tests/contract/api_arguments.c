/* SPDX-License-Identifier: MIT */
/*
 * What is refused, and how it is said. The store is seen through a fault
 * that makes each attempt slow, so that a refusal which came after a word
 * with the store would be noticed.
 */
#include "tests/contract/api.h"

#include <stddef.h>
#include <string.h>

/* The status of a claim that must not reach the store. */
static int refusal(const char *name, const hf_acquire_opts *opts)
{
    AUTO_CLIENT *slow = open_faulty("fault=delay:acquire:*:9s");
    hf_error err = HF_ERROR_INIT;
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *lock = NULL;
    int r = hf_acquire(slow, name, opts, &lock, &err);

    EXPECT_SOON(since(start), 9000);
    EXPECT(!lock);
    EXPECT_IS(err.status, r);
    EXPECT_NOT(err.text[0], 0);
    return r;
}

TEST(a_name_must_be_there)
{
    EXPECT_IS(refusal(NULL, NULL), HF_EINVAL);
    EXPECT_IS(refusal("", NULL), HF_EINVAL);
}

TEST(a_name_must_not_be_too_long)
{
    char name[HF_NAME_MAX + 2] = "";

    memset(name, 'n', HF_NAME_MAX + 1);
    EXPECT_IS(refusal(name, NULL), HF_EINVAL);
}

TEST(a_name_must_be_utf_8)
{
    EXPECT_IS(refusal("\xff", NULL), HF_EINVAL);
    EXPECT_IS(refusal("job\xc3", NULL), HF_EINVAL);          /* cut short */
    EXPECT_IS(refusal("\xc0\xaf", NULL), HF_EINVAL);         /* overlong */
    EXPECT_IS(refusal("\xed\xa0\x80", NULL), HF_EINVAL);     /* surrogate */
    EXPECT_IS(refusal("\xf4\x90\x80\x80", NULL), HF_EINVAL); /* past the end */
}

TEST(a_wait_is_not_negative_unless_for_ever)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = -2;
    EXPECT_IS(refusal("job", &opts), HF_EINVAL);
    opts.wait_ms = INT64_MIN;
    EXPECT_IS(refusal("job", &opts), HF_EINVAL);
}

static int refused_lease(int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    opts.lease_ms = lease_ms;
    return refusal("job", &opts);
}

TEST(a_lease_has_bounds)
{
    EXPECT_IS(refused_lease(0), HF_EINVAL);
    EXPECT_IS(refused_lease(-1), HF_EINVAL);
    EXPECT_IS(refused_lease(HF_LEASE_MIN_MS - 1), HF_EINVAL);
    EXPECT_IS(refused_lease(HF_LEASE_MAX_MS + 1), HF_EINVAL);
    EXPECT_IS(refused_lease(INT64_MIN), HF_EINVAL);
    EXPECT_IS(refused_lease(INT64_MAX), HF_EINVAL);
}

TEST_IF(store_leases(), the_bounds_of_a_lease_are_leases)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *shortest = acquire_fixed(alice, "short", HF_LEASE_MIN_MS);
    AUTO_LOCK *longest = acquire_fixed(alice, "long", HF_LEASE_MAX_MS);

    EXPECT_MORE(hf_remaining_ms(longest), HF_LEASE_MAX_MS / 100 * 98);
    EXPECT_LESS(hf_remaining_ms(longest), HF_LEASE_MAX_MS);
    EXPECT_LESS(hf_remaining_ms(shortest), HF_LEASE_MIN_MS);
}

TEST(waiting_for_the_loss_has_no_negative_limit)
{
    HELD(job, alice);

    EXPECT_IS(hf_wait_lost(job, -5), HF_EINVAL);
    EXPECT_IS(hf_wait_lost(job, INT64_MIN), HF_EINVAL);
    EXPECT_IS(hf_wait_lost(job, 0), HF_TIMEDOUT);
}

/* Bytes 0 … n−2 are letters. */
static const char *text_of(char *buf, size_t size)
{
    memset(buf, 'x', size - 1);
    buf[size - 1] = '\0';
    return buf;
}

TEST(a_label_and_a_note_have_a_limit)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    char text[HF_NOTE_MAX + 2];

    opts.owner = text_of(text, sizeof text);
    EXPECT_IS(refusal("job", &opts), HF_EINVAL);
    opts.owner = NULL;
    opts.note = text;
    EXPECT_IS(refusal("job", &opts), HF_EINVAL);
    opts.note = "not \xff utf-8";
    EXPECT_IS(refusal("job", &opts), HF_EINVAL);
}

TEST(a_label_and_a_note_of_the_greatest_length_are_kept)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    char text[HF_NOTE_MAX + 1];
    AUTO_INFO *info = NULL;

    opts.owner = text_of(text, sizeof text);
    opts.note = text;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    info = look_at(alice, "job");
    EXPECT_TEXT(hf_info_label(info), text);
    EXPECT_TEXT(hf_info_note(info), text);
}

TEST(options_without_a_size_are_refused)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_open_opts open_opts = HF_OPEN_OPTS_INIT;
    hf_client *client = NULL;

    opts.size = 0;
    EXPECT_IS(refusal("job", &opts), HF_EINVAL);
    open_opts.size = 0;
    EXPECT_IS(hf_open(store_url(NULL), &open_opts, &client, NULL), HF_EINVAL);
    EXPECT(!client);
}

/* The options of a program built against a later library. */
struct later_opts {
    hf_acquire_opts known;
    int64_t unknown;
};

TEST(unknown_options_are_refused_when_they_are_used)
{
    struct later_opts later = {HF_ACQUIRE_OPTS_INIT, 1};

    later.known.size = sizeof later;
    EXPECT_IS(refusal("job", &later.known), HF_EINVAL);
}

TEST(unknown_options_are_ignored_when_they_are_zero)
{
    struct later_opts later = {HF_ACQUIRE_OPTS_INIT, 0};
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;

    later.known.size = sizeof later;
    EXPECT_IS(hf_acquire(alice, "job", &later.known, &job, NULL), HF_OK);
}

TEST(options_of_an_earlier_library_are_accepted)
{
    hf_acquire_opts earlier = HF_ACQUIRE_OPTS_INIT;
    AUTO_CLIENT *alice = open_store();
    AUTO_INFO *info = NULL;

    /* What lies past the size is not the caller's and must not be read. */
    earlier.size = offsetof(hf_acquire_opts, owner);
    memset(&earlier.owner, 0x5a, sizeof earlier - earlier.size);
    AUTO_LOCK *job = must_acquire(alice, "job", &earlier);
    info = look_at(alice, "job");
    EXPECT(!hf_info_note(info) || !hf_info_note(info)[0]);
}

TEST(caps_have_a_size_too)
{
    AUTO_CLIENT *alice = open_store();
    hf_caps_info caps = HF_CAPS_INFO_INIT;

    caps.size = 0;
    EXPECT_IS(hf_caps(alice, &caps), HF_EINVAL);
    caps.size = sizeof caps + 8;
    EXPECT_IS(hf_caps(alice, &caps), HF_EINVAL);
}

/* The text of an earlier library may have been shorter. */
TEST(an_error_is_written_no_further_than_its_size)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;

    err.size = offsetof(hf_error, text) + 20;
    memset(err.text, 'z', sizeof err.text);
    EXPECT_IS(hf_break(alice, "\xff", 0, &err), HF_EINVAL);
    EXPECT_IS(err.status, HF_EINVAL);
    EXPECT_LESS(strlen(err.text), 20);
    EXPECT_MORE(strlen(err.text), 0);
    for (size_t i = 20; i < sizeof err.text; i++) {
        EXPECT_IS(err.text[i], 'z');
    }
}

TEST(a_success_leaves_the_error_alone)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *job = NULL;

    snprintf(err.text, sizeof err.text, "untouched");
    EXPECT_IS(hf_acquire(alice, "job", NULL, &job, &err), HF_OK);
    EXPECT_IS(hf_release(job, &err), HF_OK);
    EXPECT_TEXT(err.text, "untouched");
    EXPECT_IS(err.status, 0);
}

TEST(looking_and_breaking_want_a_name_too)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    AUTO_INFO *info = NULL;

    EXPECT_IS(hf_inspect(alice, "", &info, &err), HF_EINVAL);
    EXPECT(!info);
    EXPECT_IS(hf_inspect(alice, "\xff", &info, &err), HF_EINVAL);
    EXPECT_IS(hf_break(alice, "\xff", 0, &err), HF_EINVAL);
    EXPECT_NOT(err.text[0], 0);
}
