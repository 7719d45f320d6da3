/* SPDX-License-Identifier: MIT */
/*
 * Who holds it, for people: the thread beside the process, and what fields a
 * label may have.
 */
#include "tests/contract/api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct worker {
    hf_client *client;
    const char *name;
    const char *thread;
    const char *label;
    int tid;
    hf_lock *lock;
};

static void hold_one(void *arg)
{
    struct worker *w = arg;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    EXPECT_IS(prctl(PR_SET_NAME, w->thread, 0, 0, 0), 0);
    w->tid = thread_number();
    opts.owner = w->label;
    w->lock = must_acquire(w->client, w->name, &opts);
}

static void expect_thread(hf_client *client, const struct worker *w)
{
    AUTO_INFO *info = look_at(client, w->name);

    EXPECT_TEXT(hf_info_thread(info), w->thread);
    EXPECT_IS(hf_info_tid(info), w->tid);
    EXPECT_IS(hf_info_pid(info), getpid());
}

TEST(two_threads_of_one_process_are_told_apart)
{
    CLIENTS(alice, bob);
    struct worker workers[] = {
        {.client = alice, .name = "a", .thread = "worker 1"},
        {.client = alice, .name = "b", .thread = "fifteen-letters"},
    };

    for (int i = 0; i < 2; i++) {
        hf__test_join(hf__test_start(hold_one, &workers[i]));
    }
    for (int i = 0; i < 2; i++) {
        expect_thread(bob, &workers[i]);
        hf_free(workers[i].lock);
    }
    EXPECT_NOT(workers[0].tid, workers[1].tid);
}

/* A name that begins with a number is not taken for the id. */
TEST(a_thread_may_have_any_name)
{
    static const char *const names[] = {"7", "7 seas", " ", "\xe2\x99\xa5"};
    CLIENTS(alice, bob);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct worker w = {.client = alice, .name = "a", .thread = names[i]};

        hf__test_join(hf__test_start(hold_one, &w));
        expect_thread(bob, &w);
        hf_free(w.lock);
    }
}

TEST(a_free_lock_has_no_thread)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_INFO *info = look_at(alice, "job");

    EXPECT_IS(hf_info_tid(info), 0);
    EXPECT(!hf_info_thread(info));
}

/* ---- fields */

TEST(a_label_is_filled_in_by_the_thread_that_acquires)
{
    CLIENTS(alice, bob);
    struct worker w = {.client = alice,
                       .name = "job",
                       .thread = "worker-1",
                       .label = "%p %t/%T 100%%"};
    AUTO_INFO *info = NULL;
    char expected[80];

    hf__test_join(hf__test_start(hold_one, &w));
    info = look_at(bob, "job");
    (void)snprintf(expected, sizeof expected, "%d %d/worker-1 100%%",
                   (int)getpid(), w.tid);
    EXPECT_TEXT(hf_info_label(info), expected);
    hf_free(w.lock);
}

TEST(a_label_is_filled_in_for_several_names_and_without_waiting)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, 20000);
    char expected[24];
    hf_lock *lock = NULL;

    opts.owner = "of %p";
    (void)snprintf(expected, sizeof expected, "of %d", (int)getpid());
    EXPECT_IS(hf_acquire_many(alice, (const char *[]){"b", "a"}, 2, &opts,
                              &lock, NULL),
              HF_OK);
    for (int i = 0; i < 2; i++) {
        AUTO_INFO *info = look_at(bob, i == 0 ? "a" : "b");

        EXPECT_TEXT(hf_info_label(info), expected);
    }
    hf_free(lock);
}

static void refuse(const char *label, const char *said)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, 20000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    opts.owner = label;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &lock, &err), HF_EINVAL);
    EXPECT(!lock);
    EXPECT_HAS(err.text, said);
}

CASE(a_field_that_there_is_not_is_refused, refuse("a %q", "\"%q\""));
CASE(a_percent_sign_alone_is_refused, refuse("100%", "%% for a percent sign"));

TEST(a_label_that_grows_too_long_is_refused)
{
    char label[HF_NOTE_MAX + 1];

    memset(label, 'x', HF_NOTE_MAX);
    label[HF_NOTE_MAX] = '\0';
    memcpy(label + HF_NOTE_MAX - 2, "%e", 2);
    refuse(label, "more than 255 bytes");
}

/* ---- the same for whoever wants it */

static void expect_format(const char *format, const char *expected)
{
    char text[200];

    EXPECT_IS(hf_owner_format(text, sizeof text, format, NULL), HF_OK);
    EXPECT_TEXT(text, expected);
}

TEST(each_field_says_what_it_should)
{
    char host[65] = "";
    char text[200];
    char expected[40];

    EXPECT_IS(gethostname(host, sizeof host - 1), 0);
    EXPECT_IS(unsetenv("HOLDFAST_NODE"), 0);
    expect_format("%h", host);
    expect_format("%n", host);
    EXPECT_IS(setenv("HOLDFAST_NODE", "node-7", 1), 0);
    expect_format("%n", "node-7");
    EXPECT_IS(unsetenv("HOLDFAST_NODE"), 0);
    (void)snprintf(expected, sizeof expected, "%d", (int)getpid());
    expect_format("%p", expected);
    (void)snprintf(expected, sizeof expected, "%d", thread_number());
    expect_format("%t", expected);
    expect_format("%%", "%");
    expect_format("", "");
    EXPECT_IS(hf_owner_format(text, sizeof text, "%e", NULL), HF_OK);
    EXPECT_LESS(llabs(strtoll(text, NULL, 10) / 1000 - (long long)time(NULL)),
                5);
    EXPECT_IS(hf_owner_format(text, sizeof text, "%i", NULL), HF_OK);
    EXPECT_IS(strspn(text, "0123456789abcdef.:"), strlen(text));
    EXPECT_MORE(strlen(text), 2);
}

/* [ip]-[node id]-[thread id]-[thread name]-[epoch ms] */
TEST(without_a_format_it_is_the_classic_one)
{
    char text[200];
    char middle[60];

    EXPECT_IS(prctl(PR_SET_NAME, "main", 0, 0, 0), 0);
    EXPECT_IS(setenv("HOLDFAST_NODE", "7", 1), 0);
    EXPECT_IS(hf_owner_format(text, sizeof text, NULL, NULL), HF_OK);
    EXPECT_IS(unsetenv("HOLDFAST_NODE"), 0);
    (void)snprintf(middle, sizeof middle, "-7-%d-main-", thread_number());
    EXPECT_HAS(text, middle);
    EXPECT_MORE(strtoll(strrchr(text, '-') + 1, NULL, 10), 1700000000000);
}

TEST(what_does_not_fit_or_is_no_text_is_refused)
{
    hf_error err = HF_ERROR_INIT;
    char text[6] = "?";

    EXPECT_IS(hf_owner_format(text, sizeof text, "12345", &err), HF_OK);
    EXPECT_IS(hf_owner_format(text, sizeof text, "123456", &err), HF_EINVAL);
    EXPECT_TEXT(text, "");
    EXPECT_IS(hf_owner_format(text, 1, "1", &err), HF_EINVAL);
    EXPECT_IS(hf_owner_format(text, 0, "1", &err), HF_EINVAL);
    EXPECT_IS(hf_owner_format(NULL, 6, "1", &err), HF_EINVAL);
    EXPECT_IS(hf_owner_format(text, sizeof text, "\xff", &err), HF_EINVAL);
    EXPECT_TEXT(text, "");
    EXPECT_HAS(err.text, "UTF-8");
}
