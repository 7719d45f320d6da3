/* SPDX-License-Identifier: MIT */
/*
 * What the core is told of a record, by a store that says what the test wants:
 * a damaged or edited one can say anything.
 */
#include "src/backend/conn.h"
#include "src/backend/crowd.h"
#include "tests/lib/test.h"

static struct hf__record told;

static int told_open(void *s, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct hf__head *head = s;

    (void)url;
    (void)allow;
    (void)deadline;
    (void)err;
    head->facts.grade = 'B';
    return HF_OK;
}

static void told_close(void *s)
{
    (void)s;
}

static int told_execute(void *s, struct hf__op *ops[], int n, hf__time deadline,
                        hf_error *err)
{
    const struct hf__party party = {.record = told};

    (void)s;
    (void)deadline;
    (void)err;
    for (int i = 0; i < n; i++) {
        ops[i]->result = HF_OK;
        *ops[i]->ret_record = told;
        EXPECT_IS(hf__crowd_add(ops[i]->ret_crowd, &party), HF_OK);
    }
    return HF_OK;
}

static int told_list(void *s, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err)
{
    (void)s;
    (void)prefix;
    (void)deadline;
    (void)err;
    EXPECT_IS(fn(arg, "k", 1, &told), 0);
    return HF_OK;
}

static const struct hf__backend backend = {
    .scheme = "told",
    .size = sizeof(struct hf__head),
    .open = told_open,
    .close = told_close,
    .execute = told_execute,
    .list = told_list,
};

static int keep_listed(void *arg, const char *name, size_t length,
                       const struct hf__record *record)
{
    EXPECT_TEXT(name, "k");
    EXPECT_IS(length, 1);
    *(struct hf__record *)arg = *record;
    return 0;
}

/* By each of the ways on which the core is told of a record. */
static void expect_times(int64_t told_left, int64_t told_since, int64_t left,
                         int64_t since)
{
    static const struct hf__url url = {.scheme = "told", .path = ""};
    struct hf__record records[3];
    struct hf__crowd crowd = {0};
    struct hf__conn conn = {0};
    struct hf__op op = {.kind = HF__OP_INSPECT,
                        .key = {"k", 1, 0},
                        .ret_record = &records[0],
                        .ret_crowd = &crowd};
    struct hf__op *one = &op;

    told.remaining_us = told_left;
    told.acquired_us = told_since;
    EXPECT_IS(hf__conn_open(&conn, &backend, &url, "", HF__NEVER, NULL), HF_OK);
    EXPECT_IS(hf__conn_execute(&conn, &one, 1, HF__NEVER, NULL), HF_OK);
    EXPECT_IS(crowd.n, 1);
    records[1] = crowd.list[0].record;
    hf__crowd_free(&crowd);
    EXPECT_IS(hf__conn_list(&conn, &op.key, keep_listed, &records[2], HF__NEVER,
                            NULL),
              HF_OK);
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
