/* SPDX-License-Identifier: MIT */
/*
 * The checked wrappers, over a store that does what the test wants: what they
 * see to for every store, and that nothing a server could answer stops the
 * program. What must stop it is in backend_asserts.c.
 */
#include "src/backend/compatibility.h"
#include "src/backend/conn.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* What the fake store does next, and what it saw. */
static struct {
    int open_result;
    int execute_result;
    int result; /* of each operation */
    uint64_t fence;
    bool breaks_pipe;
    int opened;
    int closed;
    atomic_int interrupts;
    atomic_bool is_waiting;
    hf__time called;
    int first_result;
    int64_t lease_us; /* of its sessions; 0: the caller's */
    int64_t asked_lease_us;
    struct hf__record told; /* of each name */
} fake;

static unsigned fake_caps(const struct hf__url *url)
{
    (void)url;
    return HF_CAP_FENCE | HF_CAP_WAIT |
           (fake.lease_us != 0 ? HF_CAP_SESSION : 0);
}

static int fake_open(void *s, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct hf__head *head = s;

    (void)url;
    (void)allow;
    (void)deadline;
    (void)err;
    head->server_info = (struct hf__server_info){
        .grade = 'B', .reach = HF_REACH_HOST, .lease_us = fake.lease_us};
    fake.opened++;
    return fake.open_result;
}

static void fake_close(void *s)
{
    (void)s;
    fake.closed++;
}

static void write_to_broken_pipe(void)
{
    int fds[2];

    EXPECT_IS(pipe(fds), 0);
    close(fds[0]);
    EXPECT_IS(write(fds[1], "x", 1), -1);
    close(fds[1]);
}

static int fake_execute(void *s, struct hf__op *ops[], int n, hf__time deadline,
                        hf_error *err)
{
    const struct hf__participant_info party = {.record = fake.told};

    (void)s;
    (void)deadline;
    (void)err;
    fake.called = hf__now();
    fake.first_result = ops[0]->result;
    fake.asked_lease_us = ops[0]->lease_us;
    if (fake.breaks_pipe) {
        write_to_broken_pipe();
    }
    for (int i = 0; i < n; i++) {
        ops[i]->result = fake.result;
        ops[i]->fence = fake.fence;
        if (ops[i]->ret_participants != NULL) {
            *ops[i]->ret_record = fake.told;
            EXPECT_IS(
                hf__participant_list_add(ops[i]->ret_participants, &party),
                HF_OK);
        }
    }
    return fake.execute_result;
}

static int fake_wait(void *s, struct hf__watch *w[], int n, hf__time deadline,
                     hf_error *err)
{
    (void)w;
    (void)n;
    (void)deadline;
    (void)err;
    atomic_store(&fake.is_waiting, true);
    UNTIL(hf__is_interrupted(s));
    return HF_OK;
}

static int fake_list(void *s, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err)
{
    (void)s;
    (void)prefix;
    (void)deadline;
    (void)err;
    EXPECT_IS(fn(arg, "k", 1, &fake.told), 0);
    return HF_OK;
}

static void fake_interrupt(void *s)
{
    (void)s;
    atomic_fetch_add(&fake.interrupts, 1);
}

static struct hf__backend backend = {
    .scheme = "fake",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT,
    .caps_of = fake_caps,
    .size = sizeof(struct hf__head),
    .open = fake_open,
    .close = fake_close,
    .execute = fake_execute,
    .wait = fake_wait,
    .interrupt = fake_interrupt,
};

static struct hf__conn conn;
static struct hf__owner owner;
static hf_error error = HF_ERROR_INIT;
static const struct hf__url url = {.scheme = "fake", .path = ""};

static void open_fake(void)
{
    EXPECT_IS(hf__conn_open(&conn, &backend, &url, "", HF__NEVER, &error),
              HF_OK);
    EXPECT(hf__conn_is_open(&conn));
}

static struct hf__op make_op(enum hf__op_kind kind, const char *key)
{
    return (struct hf__op){
        .kind = kind,
        .key = {key, (uint16_t)strlen(key), 0},
        .token = {{1}},
        .next_token = {{2}},
        .lease_us = 1000000,
        .owner = &owner,
        .err = &error,
    };
}

static int execute_one(struct hf__op *op)
{
    return hf__conn_execute(&conn, &op, 1, HF__NEVER, &error);
}

/* ---- what a server can cause -------------------------------------------- */

TEST(an_operation_begins_as_not_sent)
{
    struct hf__op op = make_op(HF__OP_RENEW, "k");
    struct hf__record record;
    hf__time before = hf__now();

    memset(&record, 0x55, sizeof record);
    op.result = HF_OK;
    op.ret_record = &record;
    open_fake();
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(fake.first_result, HF_EUNAVAIL);
    EXPECT(!hf__before(op.sent, before) && !hf__before(fake.called, op.sent));
    EXPECT(!record.is_held && !record.is_kept);
    EXPECT_IS(record.fence, 0);
    EXPECT_IS(record.remaining_us, -1);
    EXPECT_IS(record.holder_lives, -1);
    hf__conn_close(&conn);
    EXPECT_IS(fake.closed, 1);
}

TEST(a_failed_open_is_closed_again)
{
    fake.open_result = HF_EAUTH;
    EXPECT_IS(hf__conn_open(&conn, &backend, &url, "", HF__NEVER, &error),
              HF_EAUTH);
    EXPECT(!hf__conn_is_open(&conn));
    EXPECT_IS(fake.closed, 1);
    fake.open_result = HF_OK;
    open_fake();
    EXPECT_IS(hf__conn_server_info(&conn).grade, 'B');
    EXPECT_IS(hf__conn_server_info(&conn).reach, HF_REACH_HOST);
    EXPECT_IS(hf__conn_lock_fds(&conn, NULL, 0), 0);
    hf__conn_close(&conn);
    hf__conn_close(&conn);
    EXPECT_IS(fake.closed, 2);
}

TEST(a_fence_out_of_range_is_the_servers_fault)
{
    static const uint64_t bad[] = {0, UINT64_C(1) << 53, UINT64_MAX};
    struct hf__op op;

    open_fake();
    for (size_t i = 0; i < 3; i++) {
        op = make_op(HF__OP_ACQUIRE, "k");
        fake.fence = bad[i];
        EXPECT_IS(execute_one(&op), HF_OK);
        EXPECT_IS(op.result, HF_EPROTO);
        EXPECT_HAS(error.text, "2^53");
    }
    op = make_op(HF__OP_ACQUIRE, "k");
    fake.fence = (UINT64_C(1) << 53) - 1;
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(op.result, HF_OK);
    op = make_op(HF__OP_RENEW, "k");
    fake.fence = 0;
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(op.result, HF_OK);
    hf__conn_close(&conn);
}

TEST(what_was_done_stays_done_when_the_session_died)
{
    struct hf__op op = make_op(HF__OP_RENEW, "k");

    open_fake();
    fake.execute_result = HF_EUNAVAIL;
    EXPECT_IS(execute_one(&op), HF_EUNAVAIL);
    EXPECT_IS(op.result, HF_OK);
    EXPECT(conn.is_dead);
    hf__conn_close(&conn);
    fake.execute_result = HF_OK;
    open_fake();
    EXPECT(!conn.is_dead);
    EXPECT_IS(execute_one(&op), HF_OK);
    hf__conn_close(&conn);
}

TEST(a_broken_pipe_harms_nobody)
{
    struct hf__op op = make_op(HF__OP_RENEW, "k");
    sigset_t mask;

    open_fake();
    fake.breaks_pipe = true;
    EXPECT_IS(execute_one(&op), HF_OK);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    EXPECT_IS(sigismember(&mask, SIGPIPE), 0);
    hf__conn_close(&conn);
}

static int keep_listed(void *arg, const char *name, size_t length,
                       const struct hf__record *record)
{
    EXPECT_TEXT(name, "k");
    EXPECT_IS(length, 1);
    *(struct hf__record *)arg = *record;
    return 0;
}

static int list(struct hf__record *ret_record)
{
    struct hf__key prefix = {"k", 1, 0};

    return hf__conn_list(&conn, &prefix, keep_listed, ret_record, HF__NEVER,
                         &error);
}

TEST(what_a_store_lacks_is_not_supported)
{
    open_fake();
    EXPECT_IS(list(NULL), HF_ENOTSUP);
    EXPECT(!conn.is_dead);
    hf__conn_close(&conn);
}

/* By each of the ways on which the core is told of a record: a damaged or
 * edited one can say anything. */
static void expect_times(int64_t told_left, int64_t told_since, int64_t left,
                         int64_t since)
{
    struct hf__op op = make_op(HF__OP_INSPECT, "k");
    struct hf__participant_list crowd = {0};
    struct hf__record records[3];

    fake.told.remaining_us = told_left;
    fake.told.acquired_us = told_since;
    op.ret_record = &records[0];
    op.ret_participants = &crowd;
    backend.list = fake_list;
    open_fake();
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(crowd.n, 1);
    records[1] = crowd.list[0].record;
    hf__participant_list_free(&crowd);
    EXPECT_IS(list(&records[2]), HF_OK);
    hf__conn_close(&conn);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(records[i].remaining_us, left);
        EXPECT_IS(records[i].acquired_us, since);
    }
}

/* Within these no product or difference of them overflows. */
TEST(times_out_of_range_enter_at_their_ends)
{
    const int64_t century = INT64_C(100) * 366 * 86400 * 1000000;

    expect_times(5000000, 1000000, 5000000, 1000000);
    expect_times(INT64_C(20000000000000000), 0, century, 0);
    expect_times(INT64_MAX, INT64_MAX, century, 0);
    expect_times(INT64_MIN, INT64_MIN, -1, 0);
    expect_times(-7, -7, -1, 0);
}

TEST(a_session_gives_its_own_lease)
{
    struct hf__op op = make_op(HF__OP_ACQUIRE, "k");

    fake.fence = 1;
    open_fake();
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(fake.asked_lease_us, 1000000);
    EXPECT_IS(op.lease_us, 1000000);
    hf__conn_close(&conn);

    fake.lease_us = 600000;
    open_fake();
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(fake.asked_lease_us, 600000);
    EXPECT_IS(op.lease_us, 600000);
    hf__conn_close(&conn);
}

/* ---- interrupts --------------------------------------------------------- */

static void wait_for_nothing(void *arg)
{
    struct hf__watch watch = {.key = {"k", 1, 0}};
    struct hf__watch *one = &watch;

    (void)arg;
    EXPECT_IS(hf__conn_wait(&conn, &one, 1, HF__NEVER, &error), HF_OK);
}

TEST(an_interrupt_stops_the_call_that_runs)
{
    open_fake();
    struct hf__test_thread *t = hf__test_start(wait_for_nothing, NULL);
    UNTIL(atomic_load(&fake.is_waiting));
    hf__conn_interrupt(&conn);
    hf__test_join(t);
    EXPECT_IS(atomic_load(&fake.interrupts), 1);
    hf__conn_close(&conn);
}

TEST(an_interrupt_between_calls_spares_the_next_operation)
{
    struct hf__op op = make_op(HF__OP_RENEW, "k");

    open_fake();
    hf__conn_interrupt(&conn);
    EXPECT_IS(execute_one(&op), HF_OK);
    EXPECT_IS(op.result, HF_OK);
    wait_for_nothing(NULL);
    EXPECT(!atomic_load(&fake.is_waiting));
    EXPECT_IS(atomic_load(&fake.interrupts), 0);
    hf__conn_close(&conn);
}

TEST(interrupting_what_is_closed_is_harmless)
{
    hf__conn_interrupt(&conn);
    open_fake();
    hf__conn_close(&conn);
    hf__conn_interrupt(&conn);
    EXPECT_IS(atomic_load(&fake.interrupts), 0);
}
