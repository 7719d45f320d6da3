/* SPDX-License-Identifier: MIT */
/*
 * What memory: has beyond the contract: stores by name, how long one lives,
 * and that each allocation may fail, also behind the fault decorator.
 */
#include "src/backend/conn.h"
#include "src/base/alloc.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static struct hf__owner owner;
static struct hf__record record;

static int open_store(struct hf__conn *conn, const char *text)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;
    int r = hf__url_parse(text, &url, NULL);

    if (r != HF_OK) {
        return r;
    }
    const struct hf__backend *b = hf__backend_find(url->scheme);
    EXPECT(b != NULL);
    return hf__conn_open(conn, b, url, "", HF__NEVER, NULL);
}

static int apply(struct hf__conn *conn, enum hf__op_kind kind)
{
    struct hf__op op = {
        .kind = kind,
        .key = {"p:job", 5, 2},
        .token = {{1}},
        .lease_us = 60000000,
        .owner = &owner,
        .ret_record = &record,
    };
    struct hf__op *one = &op;

    EXPECT_IS(hf__conn_execute(conn, &one, 1, HF__NEVER, NULL), HF_OK);
    return op.result;
}

/* What is acquired in the store "a". */
static void expect_seen(const char *url, bool is_held)
{
    struct hf__conn a = {0};
    struct hf__conn b = {0};

    EXPECT_IS(open_store(&a, "memory:a"), HF_OK);
    EXPECT_IS(open_store(&b, url), HF_OK);
    EXPECT_IS(apply(&a, HF__OP_ACQUIRE), HF_OK);
    EXPECT_IS(apply(&b, HF__OP_INSPECT), HF_OK);
    EXPECT_IS(record.is_held, is_held);
    hf__conn_close(&a);
    hf__conn_close(&b);
}

CASE(each_name_is_a_store_of_its_own, expect_seen("memory:b", false));
CASE(a_decorated_store_is_the_same_store,
     expect_seen("fault+memory:a?fault=die:check", true));

TEST(a_store_is_forgotten_once_nothing_in_it_matters)
{
    struct hf__conn a = {0};

    EXPECT_IS(open_store(&a, "memory:"), HF_OK);
    EXPECT_IS(apply(&a, HF__OP_ACQUIRE), HF_OK);
    hf__conn_close(&a);
    EXPECT_IS(open_store(&a, "memory:"), HF_OK);
    EXPECT_IS(apply(&a, HF__OP_INSPECT), HF_OK);
    EXPECT(record.is_held);
    EXPECT_IS(apply(&a, HF__OP_RELEASE), HF_OK);
    hf__conn_close(&a);
    EXPECT_IS(open_store(&a, "memory:"), HF_OK);
    EXPECT_IS(apply(&a, HF__OP_INSPECT), HF_OK);
    EXPECT_IS(record.fence, 0);
    hf__conn_close(&a);
}

/* ---- the n-th allocation fails ------------------------------------------ */

static int left = -1; /* until one fails; −1: none does */

static void *failing_resize(void *p, size_t size)
{
    if (left == 0) {
        return NULL;
    }
    left -= left > 0;
    return realloc(p, size);
}

static int see(void *arg, const char *name, size_t length,
               const struct hf__record *r)
{
    (void)name;
    (void)length;
    *(int *)arg += r->is_held;
    return 0;
}

/* Opens, acquires, lists, releases, as far as it goes; the first failure. */
static int use(struct hf__conn *conn, const char *url)
{
    struct hf__key prefix = {"p:", 2, 2};
    int seen = 0;
    int r = open_store(conn, url);

    if (r == HF_OK) {
        r = apply(conn, HF__OP_ACQUIRE);
    }
    if (r == HF_OK) {
        r = hf__conn_list(conn, &prefix, see, &seen, HF__NEVER, NULL);
    }
    if (r == HF_OK) {
        EXPECT_IS(seen, 1);
        r = apply(conn, HF__OP_RELEASE);
    }
    return r;
}

static void fail_each_allocation(const char *url)
{
    int r = HF_ENOMEM;
    int n = 0;

    EXPECT_IS(hf__alloc_replace(failing_resize, free), HF_OK);
    for (; r != HF_OK; n++) {
        struct hf__conn conn = {0};

        left = n;
        r = use(&conn, url);
        left = -1;
        hf__conn_close(&conn);
        EXPECT(r == HF_OK || r == HF_ENOMEM);
    }
    EXPECT_MORE(n, 5);
}

CASE(each_allocation_of_memory_may_fail, fail_each_allocation("memory:oom"));
CASE(each_allocation_of_the_decorator_may_fail,
     fail_each_allocation("fault+memory:oom?fault=delay:op:1:1ms"));
