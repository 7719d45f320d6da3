/* SPDX-License-Identifier: MIT */
/*
 * What many operations of one call cost each other, at the contract: a row
 * that a stranger keeps, a deadline that comes before the last of them; and
 * the bells that are left when they are over.
 */
#include "tests/store_mysql/site.h"

#include <mysql.h>

/* ---- one of many */

/* Keeps that row locked until it is closed. */
static MYSQL *keep(const char *key)
{
    MYSQL *person = stranger();
    char statement[200];

    EXPECT_IS(mysql_query(person, "BEGIN"), 0);
    snprintf(statement, sizeof statement,
             "SELECT fence FROM holdfast_lock WHERE name_key='%s' FOR UPDATE",
             key);
    EXPECT_IS(mysql_query(person, statement), 0);
    mysql_free_result(mysql_store_result(person));
    return person;
}

/* All but that one are done, and not one by one: each would wait a second. */
static void ask_others(struct door *d, struct batch *b, enum hf__op_kind kind,
                       int kept)
{
    EXPECT_IS(ask(d, b, kind, 20000), HF_OK);
    EXPECT_IS(count(b, HF_OK), b->n - 1);
    EXPECT_NOT(b->op[kept].result, HF_OK);
}

TEST_WITHIN(60, a_row_that_a_person_keeps_locked_holds_up_no_other_of_a_call)
{
    DOOR(d);
    struct batch b;
    MYSQL *person;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", BATCH_MAX, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE); /* so that there are rows */
    ask_all(&d, &b, HF__OP_RELEASE);
    person = keep(b.key[100]);
    prepare(&b, "n", BATCH_MAX, 60000000);
    ask_others(&d, &b, HF__OP_ACQUIRE, 100);
    mysql_close(person);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    person = keep(b.key[100]);
    ask_others(&d, &b, HF__OP_RELEASE, 100);
    mysql_close(person);
}

/* Of n shared grants, in so little time: the session lives. */
static void renew_shared(struct door *d, struct batch *b, int n, int64_t ms)
{
    int64_t start;
    int r;

    prepare_shared(b, "n", n, 60000000);
    ask_all(d, b, HF__OP_ACQUIRE);
    start = hf__test_now_ms();
    r = ask(d, b, HF__OP_RENEW, ms);
    /* Only who is stopped by the system for so long may miss it. */
    EXPECT_SOON(hf__test_now_ms() - start, ms);
    EXPECT_IS(r, HF_OK);
}

TEST_WITHIN(60, a_deadline_amid_many_renewals_costs_the_session_nothing)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    renew_shared(&d, &b, 100, 60);
    EXPECT_MORE(count(&b, HF__AGAIN), 0);
    EXPECT_IS(count(&b, HF_OK) + count(&b, HF__AGAIN), b.n);
    ask_all(&d, &b, HF__OP_RENEW);
}

/* A renewal has a sixth of its lease: a short one may not be put off for ever
 * because little time is left. */
TEST(a_short_deadline_is_time_for_one)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    renew_shared(&d, &b, 2, 40);
    EXPECT_MORE(count(&b, HF_OK), 0);
}

/* ---- bells */

/* Does a session have the bell of that grant? */
static bool is_taken(struct door *d, const struct batch *b)
{
    struct batch other;
    uint64_t half = 0;

    for (int i = 0; i < 8; i++) {
        half = half << 8 | b->op[0].token.bytes[i];
    }
    prepare(&other, "other", 1, 0);
    ask_all(d, &other, HF__OP_INSPECT); /* what is left goes with the next */
    return *hf__mariadb_value(server(), "SELECT IS_USED_LOCK('hf.%016llX')",
                              (unsigned long long)half) != '\0';
}

TEST(a_grant_that_is_released_leaves_no_bell)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 2; i++) { /* a name without a row, and one with it */
        prepare(&b, "n", 1, 20000000);
        ask_all(&d, &b, HF__OP_ACQUIRE);
        EXPECT(is_taken(&d, &b));
        ask_all(&d, &b, HF__OP_RELEASE);
        EXPECT(!is_taken(&d, &b));
    }
}

TEST(a_detached_grant_has_no_bell)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 2; i++) {
        prepare(&b, "n", 1, 20000000);
        b.op[0].is_detached = true;
        ask_all(&d, &b, HF__OP_ACQUIRE);
        EXPECT(!is_taken(&d, &b));
        ask_all(&d, &b, HF__OP_RELEASE);
    }
}
