/* SPDX-License-Identifier: MIT */
/*
 * The gate by itself, and the open lock: turns that are given up, never taken
 * or never ended are passed over, and a queue that can't be is set right.
 */
#include "src/backend/sqlite/write_queue.h"
#include "src/backend/sqlite/dir.h"
#include "src/base/ofd.h"
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct hf__write_queue write_queue;
static struct hf__words words;
static struct hf__head head = {.generation = 1};

static hf__time in_ms(int64_t ms)
{
    return hf__after_ms(hf__now(), ms);
}

static struct hf__write_queue_at at_gate(void)
{
    if (words.map == NULL) {
        hf__words_own(&words, &write_queue, sizeof write_queue);
    }
    return (struct hf__write_queue_at){&words, 0};
}

TEST(an_empty_gate_is_open)
{
    unsigned ticket;

    for (int i = 0; i < 200; i++) {
        EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(0), &ticket),
                  HF_OK);
        hf__write_queue_leave(at_gate(), ticket);
    }
    EXPECT_IS(atomic_load(&write_queue.serving),
              atomic_load(&write_queue.next));
}

static bool is_empty(void)
{
    const struct hf__write_queue_front front = {
        atomic_load(&write_queue.next), atomic_load(&write_queue.serving)};

    return hf__write_queue_is_empty(&front);
}

TEST(a_queue_is_seen_until_the_last_has_left)
{
    unsigned first;
    unsigned none;

    EXPECT(is_empty());
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(1000), &first),
              HF_OK);
    EXPECT(!is_empty());
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(1), &none),
              HF_EUNAVAIL);
    EXPECT(!is_empty());
    hf__write_queue_leave(at_gate(), first);
    EXPECT(is_empty());
    atomic_fetch_sub(&write_queue.next,
                     1); /* by one who was slow to write it */
    EXPECT(is_empty());
}

TEST(who_does_not_leave_is_passed_over)
{
    unsigned first;
    unsigned second;
    int64_t began = now_us();

    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(1000), &first),
              HF_OK);
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(1000), &second),
              HF_OK);
    EXPECT_MORE(now_us() - began, HF__WRITE_QUEUE_PATIENCE_MS * 1000 - 1000);
    hf__write_queue_leave(at_gate(), second);
    hf__write_queue_leave(at_gate(), first); /* late, and without effect */
    EXPECT_IS(atomic_load(&write_queue.serving),
              atomic_load(&write_queue.next));
}

TEST(who_gives_up_is_not_waited_for)
{
    unsigned first;
    unsigned none;
    unsigned third;

    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(1000), &first),
              HF_OK);
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(5), &none),
              HF_EUNAVAIL);
    hf__write_queue_leave(at_gate(), first);
    EXPECT_IS(atomic_load(&write_queue.serving),
              atomic_load(&write_queue.next));
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(0), &third), HF_OK);
    hf__write_queue_leave(at_gate(), third);
}

/* Whoever sees a turn that is over says so, and so may two at once. */
static void pass_turns_on(void *arg)
{
    struct hf__write_queue_at at = {arg, 0};
    unsigned last = 0;

    for (int i = 0; i < 20000; i++) {
        unsigned serving =
            hf__words_get(arg, offsetof(struct hf__write_queue, serving));

        EXPECT((int)(serving - last) >= 0);
        last = serving;
        hf__write_queue_leave(at, serving);
    }
}

static int map_gate(struct hf__words *shared)
{
    int fd = open(path_of(""), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    EXPECT_IS(ftruncate(fd, sizeof write_queue), 0);
    EXPECT_IS(hf__words_map(shared, fd, sizeof write_queue), HF_OK);
    return fd;
}

TEST(a_turn_that_two_pass_on_does_not_come_back)
{
    struct hf__words shared = {0};
    int fd = map_gate(&shared);
    struct hf__test_thread *thread;

    thread = hf__test_start(pass_turns_on, &shared);
    pass_turns_on(&shared);
    hf__test_join(thread);
    hf__words_fini(&shared);
    EXPECT_IS(close(fd), 0);
}

/* What is counted up there is not in the file, and read as zero again. */
TEST(a_turn_that_was_cut_off_is_passed_on_once)
{
    struct hf__words shared = {0};
    int fd = map_gate(&shared);

    hf__words_set(&shared, offsetof(struct hf__write_queue, abandoned), 1);
    EXPECT_IS(ftruncate(fd, offsetof(struct hf__write_queue, next)), 0);
    hf__write_queue_leave((struct hf__write_queue_at){&shared, 0}, 0);
    hf__words_fini(&shared);
    EXPECT_IS(close(fd), 0);
}

TEST(an_interrupt_ends_the_waiting_at_the_gate)
{
    struct hf__head other = {.generation = 5};
    unsigned first;
    unsigned none;

    atomic_store(&other.interrupted, 5);
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(1000), &first),
              HF_OK);
    EXPECT_IS(hf__write_queue_enter(at_gate(), &other, in_ms(1000), &none),
              HF_EUNAVAIL);
    hf__write_queue_leave(at_gate(), first);
}

TEST(many_who_do_not_leave_cost_no_more_than_the_limit)
{
    unsigned ticket;
    int64_t began;

    atomic_store(&write_queue.next,
                 50); /* fifty that were killed in the queue */
    began = now_us();
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(5000), &ticket),
              HF_OK);
    EXPECT_SOON(now_us() - began, 50 * HF__WRITE_QUEUE_PATIENCE_MS * 1000);
    hf__write_queue_leave(at_gate(), ticket);
}

TEST(a_queue_that_cannot_be_is_set_right)
{
    unsigned ticket;

    memset(&write_queue, 0x77, sizeof write_queue);
    atomic_store(&write_queue.serving, 5);
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(5000), &ticket),
              HF_OK);
    hf__write_queue_leave(at_gate(), ticket);
    EXPECT_IS(hf__write_queue_enter(at_gate(), &head, in_ms(0), &ticket),
              HF_OK);
    hf__write_queue_leave(at_gate(), ticket);
}

/* Turns that go on so fast that whoever comes is passed over while he looks. */
static void hurry(void *arg)
{
    atomic_bool *stop = arg;
    unsigned last = 0;

    while (!atomic_load(stop)) {
        unsigned serving = atomic_fetch_add(&write_queue.serving, 1);

        EXPECT((int)(serving - last) >= 0);
        last = serving;
        atomic_store(&write_queue.next, serving + 5);
    }
}

TEST(who_is_passed_over_does_not_set_the_turn_back)
{
    atomic_bool stop = false;
    struct hf__write_queue_at at = at_gate();
    struct hf__test_thread *thread = hf__test_start(hurry, &stop);
    hf__time end = in_ms(500);
    hf__time now = hf__now();
    unsigned ticket;

    for (; hf__before(now, end); now = hf__now()) {
        (void)!hf__write_queue_enter(at, &head, hf__after_ns(now, HF__MS / 20),
                                     &ticket);
    }
    atomic_store(&stop, true);
    hf__test_join(thread);
}

static unsigned tickets_given(void)
{
    int fd = open(path_of("-holdfast"), O_RDONLY | O_CLOEXEC);
    unsigned next = 0;

    EXPECT_IS(
        pread(fd, &next, sizeof next, HF__SQLITE_SIDE_OFFSET(write_queue.next)),
        sizeof next);
    (void)close(fd);
    return next;
}

static void acquire_once(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    atomic_fetch_add(&stage->ready, 1);
}

/* Who finds the write lock taken queues, and whoever comes then stands
 * behind him; with nobody there no ticket is given. */
TEST(only_who_must_wait_takes_a_ticket)
{
    struct stage *stage = stage_new();
    PEER(me);
    pid_t writer;
    pid_t waiter;
    int64_t began = now_us();

    EXPECT_IS(acquire(&me, "mine", 1000), HF_OK);
    EXPECT_IS(tickets_given(), 0);
    writer = start_ready(be_a_shell, stage, 0);
    waiter = start(acquire_once, stage, 1);
    while (tickets_given() == 0 && now_us() - began < 30000000) {
        hf__test_pause_ms(1);
    }
    EXPECT_IS(tickets_given(), 1);
    atomic_store(&stage->go, 1);
    until(&stage->ready, 2);
    EXPECT_IS(finish(writer), 0);
    EXPECT_IS(finish(waiter), 0);
    EXPECT_IS(acquire(&me, "another", 1000), HF_OK);
    EXPECT_IS(tickets_given(), 1);
}

/* An opener that was stopped in the open lock. */
static void stand_in_the_door(struct stage *stage, int index)
{
    int fd = open(path_of("-holdfast"), O_RDWR | O_CLOEXEC);

    (void)index;
    EXPECT_IS(hf__ofd_lock(fd, F_WRLCK, HF__BYTE_OPEN_LOCK), 0);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
}

TEST(a_blocked_door_is_said_to_be_in_time)
{
    struct stage *stage = stage_new();
    struct peer late = {.patience_ms = 300};
    PEER(me);
    pid_t blocker = start_ready(stand_in_the_door, stage, 0);
    int64_t began;

    began = now_us();
    EXPECT_IS(enter(&late), HF_EUNAVAIL);
    EXPECT_HAS(late.error.text, "another process is opening");
    EXPECT_SOON(now_us() - began, 4000000);
    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(blocker), 0);
    EXPECT_IS(enter(&late), HF_OK);
    leave(&late);
}
