/* SPDX-License-Identifier: MIT */
/*
 * Cells that many write at once, and over sessions that lose what they say: no
 * update is lost, none is made twice, and the work is bounded. Alice sees the
 * store through faults, Bob as it is.
 */
#include "include/holdfast-cell.h"
#include "src/backend/fault/plan.h"
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NEEDS_CELLS store_can(HF_CAP_CELLS)

static int number_in(hf_client *client, const char *key)
{
    hf_cell *cell = NULL;
    int n;

    EXPECT_IS(hf_cell_get(client, key, &cell, NULL), HF_OK);
    n = hf_cell_value(cell) == NULL
            ? 0
            : (int)strtol(hf_cell_value(cell), NULL, 10);
    hf_cell_free(cell);
    return n;
}

static int add_one(void *arg, char *value, size_t *length)
{
    int n = *length == HF_CELL_NONE ? 0 : (int)strtol(value, NULL, 10);

    atomic_fetch_add((atomic_int *)arg, 1);
    *length = (size_t)snprintf(value, 32, "%d", n + 1);
    return HF_OK;
}

/* ---- what is lost on the way */

enum { UPDATES = 3 };

/* The nth question about cells meets the fault: some updates may be unknown,
 * each of those was made once or not at all, and all others were made once. */
static bool meets_fault(const char *fault, int nth)
{
    AUTO_CLIENT *bob = open_store();
    unsigned before = hf__fault_count();
    atomic_int calls = 0;
    int done = 0;
    int unknown = 0;
    char options[120];
    char key[16];

    snprintf(options, sizeof options, "%s:cell:%d", fault, nth);
    snprintf(key, sizeof key, "n%d", nth);
    AUTO_CLIENT *alice = open_faulty(options);
    for (int i = 0; i < UPDATES; i++) {
        int tried = atomic_load(&calls);
        int r = hf_cell_update(alice, key, add_one, &calls, NULL, NULL);

        EXPECT(r == HF_OK || r == HF_EUNKNOWN);
        done += r == HF_OK;
        unknown += r == HF_EUNKNOWN;
        /* Nobody else writes: it is computed once, whatever is lost. */
        EXPECT_IS(atomic_load(&calls), tried + 1);
    }
    EXPECT_SAFE(number_in(bob, key) >= done);
    EXPECT_SAFE(number_in(bob, key) <= done + unknown);
    /* One lost answer costs time only: it is asked for again. */
    EXPECT_IS(unknown, 0);
    return hf__fault_count() > before;
}

static void expect_exact(const char *fault)
{
    int nth = 1;

    while (meets_fault(fault, nth)) {
        nth++;
    }
    EXPECT_IS(nth - 1, 2 * UPDATES); /* each read and each write met it */
}

TEST_IF(NEEDS_CELLS, a_lost_reply_at_any_point_changes_nothing)
{
    expect_exact("fault=lose_reply");
}

TEST_IF(NEEDS_CELLS, a_lost_request_at_any_point_changes_nothing)
{
    expect_exact("fault=lose_request");
}

TEST_IF(NEEDS_CELLS, a_session_that_dies_at_any_point_changes_nothing)
{
    expect_exact("fault=die");
}

TEST_IF(NEEDS_CELLS, what_arrives_twice_at_any_point_is_applied_once)
{
    expect_exact("fault=duplicate");
}

TEST_IF(NEEDS_CELLS, what_is_asked_to_come_again_is_applied_once)
{
    expect_exact("fault=again");
}

/* As somebody who has to think. */
static int add_one_slowly(void *arg, char *value, size_t *length)
{
    hf__test_pause_ms(1);
    return add_one(arg, value, length);
}

/* Nobody answers any more after the read. */
TEST_IF(NEEDS_CELLS, after_an_unknown_outcome_nothing_is_computed_again)
{
    atomic_int calls = 0;
    hf_error err = HF_ERROR_INIT;
    AUTO_CLIENT *alice =
        open_faulty(io_timeout(300, "fault=lose_reply:cell:2-"));
    AUTO_CLIENT *bob = open_store();

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &calls, NULL, &err),
              HF_EUNKNOWN);
    EXPECT_IS(err.status, HF_EUNKNOWN);
    EXPECT_IS(atomic_load(&calls), 1);
    EXPECT_IS(number_in(bob, "n"), 1);
}

TEST_IF(NEEDS_CELLS, an_update_that_cannot_read_is_no_unknown_outcome)
{
    atomic_int calls = 0;
    hf_error err = HF_ERROR_INIT;
    AUTO_CLIENT *alice =
        open_faulty(io_timeout(300, "fault=lose_reply:cell:*"));

    EXPECT_IS(hf_cell_update(alice, "n", add_one, &calls, NULL, &err),
              HF_EUNAVAIL);
    EXPECT_IS(err.status, HF_EUNAVAIL);
    EXPECT_IS(atomic_load(&calls), 0);
}

TEST_IF(NEEDS_CELLS, what_never_left_changes_nothing)
{
    atomic_int calls = 0;
    int r;
    AUTO_CLIENT *alice = open_faulty(io_timeout(300, "fault=die:cell:2-"));
    AUTO_CLIENT *bob = open_store();

    r = hf_cell_update(alice, "n", add_one, &calls, NULL, NULL);
    /* Unknown, where the time is over while it connects. */
    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
    EXPECT_IS(number_in(bob, "n"), 0);
}

/* The answer to a put is lost, and before it is asked for again somebody has
 * replaced what was put: nobody can know any more that it was. */
struct thief {
    hf_client *client;
    char key[32];
};

static void replace_at_once(void *arg)
{
    struct thief *t = arg;
    uint64_t seen = 0;

    while (seen == 0) {
        hf_cell *cell = NULL;

        EXPECT_IS(hf_cell_get(t->client, t->key, &cell, NULL), HF_OK);
        seen = hf_cell_version(cell);
        hf_cell_free(cell);
    }
    EXPECT_IS(hf_cell_put(t->client, t->key, "bob", 3, &seen, NULL), HF_OK);
}

/* It takes so long to come back after the lost answer. */
static int put_before_a_thief(int64_t pause_ms)
{
    AUTO_CLIENT *bob = open_store();
    struct thief thief = {.client = bob};
    struct hf__test_thread *thread;
    hf_error err = HF_ERROR_INIT;
    uint64_t version = 0;
    char options[120];
    int r;

    snprintf(options, sizeof options,
             "io_timeout=20s&fault=lose_reply:cell:1,delay:open:*:%lldms",
             (long long)pause_ms);
    snprintf(thief.key, sizeof thief.key, "k%lld", (long long)pause_ms);
    AUTO_CLIENT *alice = open_faulty(options);
    thread = hf__test_start(replace_at_once, &thief);
    r = hf_cell_put(alice, thief.key, "alice", 5, &version, &err);
    hf__test_join(thread);
    EXPECT_IS(err.status, r);
    EXPECT_IS(version != 0, r == HF_OK);
    return r;
}

TEST_IF(NEEDS_CELLS, a_conflict_after_a_lost_answer_is_an_unknown_outcome)
{
    int64_t pause_ms = 100;
    int r = HF_OK;

    while (r == HF_OK && pause_ms < 3000) { /* the thief was late */
        pause_ms *= 2;
        r = put_before_a_thief(pause_ms);
    }
    EXPECT_IS(r, HF_EUNKNOWN);
}

/* ---- within each other, without end */

enum { NESTED = 10 };

static char pair[2][2][2] = {{"a", "b"}, {"b", "a"}};
static hf_client *nester;

static int add_within(void *arg, char *value, size_t *length)
{
    static atomic_int calls;

    EXPECT_IS(hf_cell_update(nester, arg, add_one, &calls, NULL, NULL), HF_OK);
    return add_one(&calls, value, length);
}

static void nest(void *arg)
{
    char(*keys)[2] = arg;

    for (int i = 0; i < NESTED; i++) {
        EXPECT_IS(
            hf_cell_update(nester, keys[0], add_within, keys[1], NULL, NULL),
            HF_OK);
    }
}

TEST_IF(NEEDS_CELLS, updates_within_each_other_never_wait_in_a_circle)
{
    AUTO_CLIENT *client = open_store();
    struct hf__test_thread *threads[2];

    nester = client;
    for (int i = 0; i < 2; i++) {
        threads[i] = hf__test_start(nest, pair[i]);
    }
    hf__test_join_all(threads, 2);
    EXPECT_SAFE(number_in(client, "a") >= NESTED + NESTED);
    EXPECT_IS(try_once(client, "cell:a"), HF_OK);
}

/* ---- many at once */

enum { WRITERS = 32, TURNS = 8 };

static struct {
    hf_client *clients[4];
    atomic_int calls;
    atomic_int next;
} crowd;

static void write_on(void *arg)
{
    (void)arg;
    hf_client *client = crowd.clients[atomic_fetch_add(&crowd.next, 1) % 4];

    for (int i = 0; i < TURNS; i++) {
        EXPECT_IS(hf_cell_update(client, "n", add_one_slowly, &crowd.calls,
                                 NULL, NULL),
                  HF_OK);
    }
}

TEST_IF(NEEDS_CELLS, of_32_writers_each_update_counts_and_the_work_is_bounded)
{
    struct hf__test_thread *threads[WRITERS];
    uint64_t writes = 0;

    for (int i = 0; i < 4; i++) {
        crowd.clients[i] = open_store();
    }
    for (int i = 0; i < WRITERS; i++) {
        threads[i] = hf__test_start(write_on, NULL);
    }
    hf__test_join_all(threads, WRITERS);
    EXPECT_IS(number_in(crowd.clients[0], "n"), WRITERS * TURNS);
    for (int i = 0; i < 4; i++) {
        writes += stats_of(crowd.clients[i]).cell_writes;
        hf_close(crowd.clients[i]);
    }
    EXPECT_IS(writes, WRITERS * TURNS);
    /* Four tries without the lock, and those under it meet the tries of others
     * alone, of which there are no more than that. */
    EXPECT_LESS(atomic_load(&crowd.calls), 8 * WRITERS * TURNS);
    printf("%d calls for %d updates\n", atomic_load(&crowd.calls),
           WRITERS * TURNS);
}
