/* SPDX-License-Identifier: MIT */
/*
 * Files that make no sense: damaged by hand, half written, copied, from
 * before a restart. A grant is never made from garbage.
 */
#include "tests/store_file/files.h"

#include "src/base/map.h"
#include "src/base/rand.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_damaged(struct peer *me)
{
    EXPECT_IS(acquire(me, "job", 1000), HF_EPROTO);
    EXPECT_HAS(me->error.text, "remove");
    EXPECT_IS(renew(me, "job", 1000), HF_EPROTO);
    EXPECT_IS(release(me, "job"), HF_EPROTO);
    EXPECT_IS(inspect(me, "job"), HF_EPROTO);
    EXPECT(!me->conn.is_dead);
    EXPECT_IS(acquire(me, "other", 1000), HF_OK);
}

TEST(a_file_of_garbage_grants_nothing)
{
    static const size_t lengths[] = {0,    1,    100,  HF__SLOT_SIZE,
                                     4095, 4096, 4097, 9000};
    static unsigned char garbage[9000];
    PEER(me);

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        hf__random(garbage, sizeof garbage);
        write_bytes(file_of(JOB), garbage, lengths[i]);
        expect_damaged(&me);
        memset(garbage, 0, sizeof garbage);
        write_bytes(file_of(JOB), garbage, lengths[i]);
        expect_damaged(&me);
    }
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
}

TEST(a_file_cut_short_while_held_grants_nothing)
{
    PEER(me);
    PEER(other);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(truncate(file_of(JOB), 3000), 0);
    expect_damaged(&other);
    EXPECT_IS(renew(&me, "job", 1000), HF_EPROTO);
    EXPECT_IS(truncate(file_of(JOB), 0), 0);
    expect_damaged(&other);
    /* Also when somebody follows the advice too early. */
    EXPECT_IS(unlink(file_of(JOB)), 0);
    EXPECT_IS(acquire(&other, "job", 60000), HF_BUSY);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
}

static int newest(const struct hf__file_slots *slots)
{
    return slots->slot[1].record.sequence > slots->slot[0].record.sequence;
}

/* Every single byte that is turned is noticed: nobody takes the lock. */
TEST(no_single_byte_can_be_changed)
{
    PEER(me);
    PEER(other);
    struct hf__file_slots whole;

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    read_slots(file_of(JOB), &whole);
    for (int i = 0; i < 300; i++) {
        struct hf__file_slots slots = whole;
        size_t at = (size_t)hf__random_between(
            0, (int64_t)sizeof(struct hf__file_record) - 1);
        int r;

        slots.slot[newest(&slots)].bytes[at] ^= 0x41;
        write_bytes(file_of(JOB), &slots, sizeof slots);
        r = acquire(&other, "job", 1000);
        EXPECT(r == HF_EPROTO || r == HF_BUSY);
    }
    write_bytes(file_of(JOB), &whole, sizeof whole);
    EXPECT_IS(renew(&me, "job", 60000), HF_OK);
}

/* As a writer leaves it that is killed in the midst of writing. */
static void tear_newest(const char *path)
{
    struct hf__file_slots slots;

    read_slots(path, &slots);
    memset(slots.slot[newest(&slots)].bytes + 700, 0, 300);
    write_bytes(path, &slots, sizeof slots);
}

TEST(a_half_written_record_leaves_the_one_before)
{
    PEER(me);
    uint64_t fence;

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
    tear_newest(file_of(JOB)); /* the release */
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(me.record.is_held);
    fence = me.record.fence;
    EXPECT_IS(release(&me, "job"), HF_OK);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, fence);
}

TEST(a_half_written_record_of_a_living_holder_grants_nothing)
{
    PEER(me);
    PEER(other);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    tear_newest(file_of(JOB)); /* the grant */
    EXPECT_IS(acquire(&other, "job", 60000), HF_BUSY);
    EXPECT_IS(release(&me, "job"), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
}

/* The record before was a free one, which would let others in. */
TEST(a_half_written_grant_of_a_living_holder_is_not_undone)
{
    PEER(me);
    PEER(other);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    tear_newest(file_of(JOB));
    EXPECT_IS(acquire(&other, "job", 60000), HF_EPROTO);
    EXPECT_HAS(other.error.text, "somebody holds the lock");
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
}

/* … nor where the side file has lost until when the holder may hold. */
TEST(a_half_written_grant_is_not_undone_beside_a_side_file_that_was_cut)
{
    struct stage *stage = stage_new();
    pid_t holder;
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
    holder = start_ready(hold_job, stage, 60000);
    cut_side_file();
    tear_newest(file_of(JOB));
    EXPECT_IS(acquire(&me, "job", 60000), HF_EPROTO);
    EXPECT_HAS(me.error.text, "somebody holds the lock");
    kill_now(holder);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
}

TEST(a_copy_is_no_lock)
{
    PEER(me);
    struct hf__file_slots slots;

    EXPECT_IS(acquire(&me, "other", 60000), HF_OK);
    read_slots(file_of("test:other"), &slots);
    write_bytes(file_of(JOB), &slots, sizeof slots);
    EXPECT_IS(acquire(&me, "job", 60000), HF_EPROTO);
    EXPECT_HAS(me.error.text, "another lock");
    EXPECT_IS(release(&me, "other"), HF_OK);
}

TEST(another_versions_file_is_left_alone)
{
    PEER(me);
    struct hf__file_slots slots;

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
    for (int by = -1; by <= 1; by += 2) {
        read_slots(file_of(JOB), &slots);
        slots.slot[0].record.version += (uint32_t)by;
        write_bytes(file_of(JOB), &slots, sizeof slots);
        EXPECT_IS(acquire(&me, "job", 60000), HF_EPROTO);
        EXPECT_HAS(me.error.text, "another version");
        slots.slot[0].record.version -= (uint32_t)by;
        write_bytes(file_of(JOB), &slots, sizeof slots);
    }
}

/* ---- restarts */

/* As if all that was written had been so before the machine started. */
static void age(const char *path, uint64_t life)
{
    struct hf__file_slots slots;

    read_slots(path, &slots);
    for (int i = 0; i < 2; i++) {
        slots.slot[i].record.boot[0] ^= 1;
        slots.slot[i].record.life = life;
        hf__file_record_seal(&slots.slot[i].record);
    }
    write_bytes(path, &slots, sizeof slots);
}

TEST(a_restart_frees_everything)
{
    PEER(me);
    PEER(other);
    uint64_t fence;

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(raise_to(&me, "job", me.fence + 1000000000), HF_OK);
    fence = me.fence;
    age(file_of(JOB), 12345);
    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
    EXPECT_SAFE_MORE(other.fence, fence);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
}

/* It is tied to no process, so the restart does not end it. */
TEST(a_detached_grant_outlives_a_restart_by_the_wall_clock)
{
    PEER(me);
    PEER(other);

    EXPECT_IS(acquire(&me, "job", 1500), HF_OK);
    age(file_of(JOB), 0);
    EXPECT_IS(acquire(&other, "job", 60000), HF_BUSY);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(acquire(&other, "job", 60000), HF_BUSY);
    EXPECT_IS(acquire_within(&other, "job", 5000), HF_OK);
    EXPECT_IS(acquire(&me, "released", 60000), HF_OK);
    age(file_of("test:released"), 0);
    EXPECT_IS(release(&me, "released"), HF_OK);
}

/* As who may write the file can have it. */
static void edit(const char *path, size_t time_at, int64_t us)
{
    struct hf__file_slots slots;

    read_slots(path, &slots);
    for (int i = 0; i < 2; i++) {
        memcpy(slots.slot[i].bytes + time_at, &us, sizeof us);
        hf__file_record_seal(&slots.slot[i].record);
    }
    write_bytes(path, &slots, sizeof slots);
}

#define AT(member) offsetof(struct hf__file_record, member)

/* Held or kept closed, in this boot or another, with one time edited. */
static void expect_sense(struct peer *me, const char *name, size_t time_at,
                         int way)
{
    const char *path = file_of(name);
    const char *own = name + strlen("test:");
    int64_t end_us = (way & 1) != 0 ? INT64_MAX : INT64_MIN;
    bool is_kept = (way & 2) != 0;
    bool has_fired = false;

    begin_anew(me);
    EXPECT_IS(acquire(me, own, 60000), HF_OK);
    if (is_kept) {
        edit(path, AT(keep_us), 1000000);
        EXPECT_IS(release(me, own), HF_OK);
    }
    if ((way & 4) != 0) {
        age(path, 0);
    }
    edit(path, time_at, end_us);
    begin_anew(me);
    EXPECT_IS(inspect(me, own), HF_OK);
    EXPECT(is_kept || time_at != AT(expires_us) ||
           me->record.is_held == (end_us > 0));
    EXPECT_IS(wait_for(me, own, 1, &has_fired), HF_OK);
    EXPECT_IS(has_fired, !me->record.is_held && !me->record.is_kept);
    EXPECT_IS(acquire(me, own, 60000), has_fired ? HF_OK : HF_BUSY);
}

TEST(times_out_of_range_are_at_their_ends)
{
    char name[32];
    PEER(me);

    for (size_t at = AT(expires_us); at <= AT(freed_at_us); at += 8) {
        for (int way = 0; way < 8; way++) {
            (void)snprintf(name, sizeof name, "test:job%zu%d", at, way);
            expect_sense(&me, name, at, way);
        }
    }
}

TEST(what_was_changed_before_the_start_is_told_by_two_clocks)
{
    int64_t wall_us = INT64_C(1700000000000000);
    int64_t boot_us = INT64_C(3600000000);

    EXPECT(
        hf__file_is_from_before(wall_us - boot_us - 2000000, wall_us, boot_us));
    EXPECT(!hf__file_is_from_before(wall_us - boot_us, wall_us, boot_us));
    EXPECT(!hf__file_is_from_before(wall_us - 1, wall_us, boot_us));
    EXPECT(!hf__file_is_from_before(wall_us + 5000000, wall_us, boot_us));
}

/* In a time namespace whose boot clock began a moment ago. */
static void begin_anew_inside(struct stage *stage, int index)
{
    PEER(me);

    (void)stage;
    (void)index;
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(!me.record.is_held);
    EXPECT_IS(renew(&me, "job", 60000), HF_LOST);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_MORE(me.fence, 0);
    EXPECT_IS(acquire(&me, "fresh", 60000), HF_EPROTO);
    EXPECT_IS(renew(&me, "job", 60000), HF_OK);
    EXPECT_IS(release(&me, "job"), HF_OK);
}

static bool enter_young_namespace(void)
{
    char text[64];
    int fd;
    bool is_done;

    if (unshare(CLONE_NEWTIME)) {
        return false;
    }
    fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    (void)snprintf(text, sizeof text, "boottime %lld 0",
                   -(long long)(now_us() / 1000000) + 1);
    is_done = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_done;
}

TEST(what_a_power_failure_left_is_begun_anew)
{
    struct stage *stage = stage_new();

    {
        PEER(me);
    }
    write_bytes(file_of(JOB), "", 0);
    hf__test_pause_ms(4000);
    write_bytes(file_of("test:fresh"), "", 0);
    if (!enter_young_namespace()) {
        SKIP("needs root, to make a time namespace");
    }
    EXPECT_IS(finish(start(begin_anew_inside, stage, 0)), 0);
}

/* Two clocks that can't be compared: the other one's end is not known. */
static void find_a_foreign_holder(struct stage *stage, int index)
{
    PEER(me);

    (void)stage;
    (void)index;
    EXPECT_IS(acquire(&me, "job", 60000), HF_EUNSAFE);
    EXPECT_HAS(me.error.text, "time namespace");
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(me.record.is_held);
}

TEST(a_holder_in_another_time_namespace_is_not_replaced)
{
    struct stage *stage = stage_new();
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    if (!enter_young_namespace()) {
        SKIP("needs root, to make a time namespace");
    }
    EXPECT_IS(finish(start(find_a_foreign_holder, stage, 0)), 0);
    EXPECT_IS(renew(&me, "job", 60000), HF_OK);
}
