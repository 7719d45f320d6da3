/* SPDX-License-Identifier: MIT */
/*
 * No operation of ours makes the server break a deadlock (1213), whatever the
 * threads do beside each other: one name, a few, many at once, cleaning, and a
 * server that logs statements and so locks more.
 */
#include "tests/store_mysql/world.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 16, RUN_MS = 2500, NAMES = 8 };

struct crowd {
    int names;   /* that they contend for */
    int each;    /* that one acquire takes */
    bool cleans; /* gc runs beside */
    hf_client *client[4];
    atomic_int next;
    atomic_bool is_over;
    atomic_llong grants;
    atomic_llong cleaned;
    atomic_int strange;
};

static long long deadlocks(void)
{
    return strtoll(
        hf__mariadb_value(server(),
                          "SELECT COUNT FROM information_schema.innodb_metrics "
                          "WHERE name='lock_deadlocks'"),
        NULL, 10);
}

static unsigned roll(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static int acquire_some(struct crowd *c, hf_client *client, unsigned *state,
                        hf_lock **ret_lock)
{
    static const char *const names[NAMES] = {"a", "b", "c", "d",
                                             "e", "f", "g", "h"};
    hf_acquire_opts opts = wanting(roll(state) % 8 == 0 ? 50 : 0, 10000);
    const char *some[NAMES];
    unsigned first = roll(state) % (unsigned)c->names;

    opts.auto_renew = 0;
    for (int i = 0; i < c->each; i++) {
        some[i] = names[(first + (unsigned)i) % NAMES];
    }
    return c->each == 1
               ? hf_acquire(client, some[0], &opts, ret_lock, NULL)
               : hf_acquire_many(client, some, c->each, &opts, ret_lock, NULL);
}

static void contend(void *arg)
{
    struct crowd *c = arg;
    int me = atomic_fetch_add(&c->next, 1);
    hf_client *client = c->client[me % 4];
    unsigned state = (unsigned)me * 7919u + 1;

    while (!atomic_load(&c->is_over)) {
        hf_lock *lock = NULL;
        int r = acquire_some(c, client, &state, &lock);

        if (r == HF_OK) {
            r = roll(&state) % 4 == 0 ? hf_renew(lock, NULL) : HF_OK;
            r = r == HF_OK ? hf_release(lock, NULL) : r;
            atomic_fetch_add(&c->grants, 1);
        }
        hf_free(lock);
        if (r != HF_OK && r != HF_BUSY && r != HF_TIMEDOUT) {
            atomic_store(&c->strange, r);
        }
    }
}

static void clean(void *arg)
{
    struct crowd *c = arg;

    while (!atomic_load(&c->is_over)) {
        hf_gc_info gone = HF_GC_INFO_INIT;

        if (hf_gc(c->client[0], 0, &gone, NULL) != HF_OK) {
            atomic_store(&c->strange, 1000);
        }
        atomic_fetch_add(&c->cleaned, (long long)gone.removed);
        hf__test_pause_ms(1);
    }
}

static void run(struct crowd *c)
{
    struct hf__test_thread *threads[THREADS + 1] = {0};
    long long before;

    hf__mariadb_sql(server(), "SET GLOBAL innodb_monitor_enable='%%lock%%'");
    before = deadlocks();
    for (int i = 0; i < 4; i++) {
        c->client[i] = open_store();
    }
    hf__test_start_all(threads, THREADS, contend, c);
    if (c->cleans) {
        threads[THREADS] = hf__test_start(clean, c);
    }
    hf__test_pause_ms(RUN_MS);
    atomic_store(&c->is_over, true);
    for (int i = 0; i < THREADS + c->cleans; i++) {
        hf__test_join(threads[i]);
    }
    for (int i = 0; i < 4; i++) {
        hf_close(c->client[i]);
    }
    printf("%lld grants, %lld cleaned, %lld deadlocks\n",
           atomic_load(&c->grants), atomic_load(&c->cleaned),
           deadlocks() - before);
    EXPECT_IS(atomic_load(&c->strange), 0);
    EXPECT_MORE(atomic_load(&c->grants), 5);
    EXPECT_IS(deadlocks() - before, 0);
}

/* Waits for the other's row, or is the victim. */
static void lock_other(void *db)
{
    (void)mysql_query(db, "SELECT * FROM holdfast_lock WHERE "
                          "name_key='holdfast:b' FOR UPDATE");
    mysql_free_result(mysql_store_result(db));
}

/* The count that is looked at counts. */
TEST(a_deadlock_of_strangers_is_counted)
{
    AUTO_STRANGER *one = stranger();
    AUTO_STRANGER *two = stranger();
    AUTO_CLIENT *client = open_store();
    struct hf__test_thread *thread;
    long long before;

    hf__mariadb_sql(server(), "SET GLOBAL innodb_monitor_enable='%%lock%%'");
    before = deadlocks();
    EXPECT_IS(try_once(client, "a"), HF_OK);
    EXPECT_IS(try_once(client, "b"), HF_OK);
    lock_row(one, "a");
    lock_row(two, "b");
    thread = hf__test_start(lock_other, one);
    hf__test_pause_ms(200);
    (void)mysql_query(two, "SELECT * FROM holdfast_lock WHERE "
                           "name_key='holdfast:a' FOR UPDATE");
    mysql_free_result(mysql_store_result(two));
    hf__test_join(thread);
    EXPECT_IS(deadlocks(), before + 1);
}

TEST_WITHIN(60, sixteen_threads_at_one_name)
{
    run(&(struct crowd){.names = 1, .each = 1});
}

TEST_WITHIN(60, sixteen_threads_at_eight_names)
{
    run(&(struct crowd){.names = NAMES, .each = 1});
}

TEST_WITHIN(60, sixteen_threads_with_cleaning_beside)
{
    run(&(struct crowd){.names = 2, .each = 1, .cleans = true});
}

TEST_WITHIN(60, sixteen_threads_at_three_of_eight_names_each)
{
    run(&(struct crowd){.names = NAMES, .each = 3, .cleans = true});
}

TEST_WITHIN(60, sixteen_threads_where_statements_are_logged)
{
    static const char *const extra[] = {"--log-bin",
                                        "--binlog-format=STATEMENT", NULL};
    AUTO_SERVER *m = own_server(extra);

    run(&(struct crowd){.names = 2, .each = 1, .cleans = true});
    EXPECT(!hf__mariadb_has_ended(m));
}
