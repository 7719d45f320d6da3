/* SPDX-License-Identifier: MIT */
/*
 * Every store: looking at records, listing them, breaking a grant, and what
 * the store says of itself.
 */
#include "tests/contract/vocabulary.h"

#include "src/base/time.h"
#include "src/base/utf8.h"

#include <string.h>
#include <unistd.h>

TEST(an_unknown_name_is_free)
{
    PARTY(alice);

    EXPECT_IS(inspect(&alice, "never"), HF_OK);
    EXPECT(!alice.record.is_held);
    EXPECT(!alice.record.is_kept);
    EXPECT_IS(alice.record.fence, 0);
    EXPECT(hf__token_is_zero(&alice.record.token));
}

TEST(inspection_changes_nothing)
{
    PARTIES(alice, bob);

    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT_IS(acquire_for(&alice, "job", 5000), HF_OK);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(bob.record.is_held);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_LESS(bob.record.remaining_us, 5000001);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

TEST(labels_come_back_as_they_were)
{
    PARTIES(alice, bob);
    struct hf__owner *o = &alice.owner;
    const char *odd = "a 'quoted' \"note\"\n\\ \xe2\x82\xac";

    memset(o->label, 'l', HF_NOTE_MAX);
    memset(o->note, '%', HF_NOTE_MAX);
    memcpy(o->note, odd, strlen(odd));
    memset(o->host, 'h', sizeof o->host - 1);
    memset(o->thread, 't', sizeof o->thread - 1);
    o->pid = INT64_C(4194304);
    int64_t before = hf__wall_us();
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT_TEXT(bob.record.owner.label, o->label);
    EXPECT_TEXT(bob.record.owner.note, o->note);
    EXPECT_TEXT(bob.record.owner.host, o->host);
    EXPECT_TEXT(bob.record.owner.thread, o->thread);
    EXPECT_IS(bob.record.owner.pid, o->pid);
    EXPECT_MORE(bob.record.acquired_us, before - 1000000);
    EXPECT_LESS(bob.record.acquired_us, hf__wall_us() + 1000000);
}

TEST(empty_labels_are_fine)
{
    PARTY(alice);

    memset(&alice.owner, 0, sizeof alice.owner);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_TEXT(alice.record.owner.label, "");
    EXPECT_TEXT(alice.record.owner.note, "");
    EXPECT_IS(alice.record.owner.pid, 0);
}

TEST(a_break_ends_the_grant_and_raises_the_fence)
{
    JOB_OF(alice, bob);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_TEXT(bob.record.owner.label, "alice");
    EXPECT_IS(bob.record.fence, alice.fence);
    uint64_t raised = bob.fence;
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT(!alice.record.is_held);
    EXPECT_IS(alice.record.fence, raised);
    /* For the same reason: both may be under way together. */
    hf_reason reason = alice.reason;
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, reason);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    if (has(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(raised, fence_of(&alice, "job"));
        EXPECT_SAFE_MORE(bob.fence, raised);
    }
}

TEST_IF(has(HF_CAP_FENCE), a_break_with_a_fence_ends_only_that_grant)
{
    JOB_OF(alice, bob);
    EXPECT_IS(break_it(&bob, "job", alice.fence - 1), HF_CONFLICT);
    EXPECT(bob.record.is_held);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_IS(break_it(&bob, "job", alice.fence + 1), HF_CONFLICT);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(break_it(&bob, "job", fence_of(&alice, "job")), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
}

TEST(what_nobody_holds_cannot_be_broken)
{
    PARTY(alice);

    EXPECT_IS(break_it(&alice, "never", 0), HF_CONFLICT);
    EXPECT(!alice.record.is_held);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(break_it(&alice, "job", 0), HF_CONFLICT);
    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    fall_silent(&alice);
    until_free(&alice, "job");
    EXPECT_IS(break_it(&alice, "job", 0), HF_CONFLICT);
    expect_last_fence(&alice, "job");
}

TEST_IF(has(HF_CAP_LIST), a_list_is_sorted_and_holds_what_is_held)
{
    static const char *const names[] = {"b", "a", "ab", "B", "\xc3\xa4", "a b"};
    static const char *const sorted[] = {"B",  "a", "a b",
                                         "ab", "b", "\xc3\xa4"};
    PARTIES(alice, bob);
    struct listing all = {0};

    for (int i = 0; i < 6; i++) {
        EXPECT_IS(acquire(&alice, names[i]), HF_OK);
    }
    EXPECT_IS(acquire(&alice, "released"), HF_OK);
    EXPECT_IS(release(&alice, "released"), HF_OK);
    EXPECT_IS(acquire_for(&bob, "expired", 100), HF_OK);
    fall_silent(&bob);
    until_free(&alice, "expired");
    EXPECT_IS(list(&alice, "", &all), HF_OK);
    EXPECT_IS(all.count, 6);
    for (int i = 0; i < 6; i++) {
        EXPECT_TEXT(all.names[i], sorted[i]);
        EXPECT(all.records[i].is_held);
        EXPECT_IS(all.records[i].fence, fence_of(&alice, sorted[i]));
        EXPECT_TEXT(all.records[i].owner.label, "alice");
    }
}

TEST_IF(has(HF_CAP_LIST), a_list_can_be_narrowed_to_a_prefix)
{
    static const char *const names[] = {"job/1",  "job/2", "job",
                                        "jo",     "Job/1", "job%/1",
                                        "job_/1", "jobs",  "job*1"};
    PARTY(alice);
    struct listing some = {0};

    for (int i = 0; i < 9; i++) {
        EXPECT_IS(acquire(&alice, names[i]), HF_OK);
    }
    EXPECT_IS(list(&alice, "job/", &some), HF_OK);
    EXPECT_IS(some.count, 2);
    EXPECT_TEXT(some.names[0], "job/1");
    EXPECT_TEXT(some.names[1], "job/2");
    EXPECT_IS(list(&alice, "job%", &some), HF_OK);
    EXPECT_IS(some.count, 1);
    EXPECT_IS(list(&alice, "job_", &some), HF_OK);
    EXPECT_IS(some.count, 1);
    EXPECT_IS(list(&alice, "job*", &some), HF_OK);
    EXPECT_IS(some.count, 1);
    EXPECT_IS(list(&alice, "none", &some), HF_OK);
    EXPECT_IS(some.count, 0);
}

TEST_IF(has(HF_CAP_LIST), a_list_stops_when_told)
{
    PARTY(alice);
    struct listing some = {.stop_after = 2};

    EXPECT_IS(acquire(&alice, "a"), HF_OK);
    EXPECT_IS(acquire(&alice, "b"), HF_OK);
    EXPECT_IS(acquire(&alice, "c"), HF_OK);
    EXPECT_IS(list(&alice, "", &some), HF_OK);
    EXPECT_IS(some.count, 2);
    EXPECT_TEXT(some.names[1], "b");
    EXPECT_IS(renew(&alice, "c"), HF_OK);
}

static int count_item(void *arg, const hf_check_item *item)
{
    int *count = arg;

    EXPECT_IS(item->size, sizeof *item);
    EXPECT(item->name != NULL && item->name[0] != '\0');
    EXPECT(item->value != NULL);
    EXPECT_IS(item->verdict == HF_FINE, item->remedy == NULL);
    EXPECT(hf__utf8_is_valid(item->value, strlen(item->value)));
    ++*count;
    return 0;
}

TEST(a_check_reports_something)
{
    PARTY(alice);
    int count = 0;
    hf__time limit = hf__after_ms(hf__now(), slowly(10000));

    EXPECT_IS(
        hf__conn_check(&alice.conn, count_item, &count, limit, &alice.error),
        HF_OK);
    EXPECT_MORE(count, 0);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
}

TEST(the_store_grades_itself)
{
    PARTY(alice);
    struct hf__server_info server_info = hf__conn_server_info(&alice.conn);

    EXPECT(server_info.grade != '\0' &&
           strchr("ABCSD", server_info.grade) != NULL);
    EXPECT(server_info.reach >= HF_REACH_PROCESS &&
           server_info.reach <= HF_REACH_HOSTS);
}

TEST(lock_descriptors_are_open_and_ours)
{
    JOB_OF(alice);
    int fds[8];

    int n = hf__conn_lock_fds(&alice.conn, fds, 8);
    EXPECT(n >= 0 && n <= 8);
    if (!has(HF_CAP_DEATH)) {
        EXPECT_IS(n, 0);
    }
    for (int i = 0; i < n; i++) {
        int copy = dup(fds[i]);
        EXPECT(copy >= 0);
        close(copy);
    }
    EXPECT_IS(hf__conn_lock_fds(&alice.conn, fds, 0), n);
}
