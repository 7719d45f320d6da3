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
    char options[120];
    atomic_int calls = 0;
    hf_error err = HF_ERROR_INIT;

    snprintf(options, sizeof options, "%s",
             io_timeout(300, "fault=lose_reply:cell:2-"));
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &calls, NULL, &err),
              HF_EUNKNOWN);
    EXPECT_IS(err.status, HF_EUNKNOWN);
    EXPECT_IS(atomic_load(&calls), 1);
    EXPECT_IS(number_in(bob, "n"), 1);
}

TEST_IF(NEEDS_CELLS, an_update_that_cannot_read_is_no_unknown_outcome)
{
    char options[120];
    atomic_int calls = 0;
    hf_error err = HF_ERROR_INIT;

    snprintf(options, sizeof options, "%s",
             io_timeout(300, "fault=lose_reply:cell:*"));
    AUTO_CLIENT *alice = open_faulty(options);
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &calls, NULL, &err),
              HF_EUNAVAIL);
    EXPECT_IS(err.status, HF_EUNAVAIL);
    EXPECT_IS(atomic_load(&calls), 0);
}

TEST_IF(NEEDS_CELLS, what_never_left_is_no_unknown_outcome)
{
    char options[120];
    atomic_int calls = 0;

    snprintf(options, sizeof options, "%s",
             io_timeout(300, "fault=die:cell:2-"));
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    EXPECT_IS(hf_cell_update(alice, "n", add_one, &calls, NULL, NULL),
              HF_EUNAVAIL);
    EXPECT_IS(number_in(bob, "n"), 0);
}

/* The answer to a put is lost, and before it is asked for again somebody has
 * replaced what was put: nobody can know any more that it was. */
struct thief {
    hf_client *client;
    atomic_bool is_over;
};

static void replace_at_once(void *arg)
{
    struct thief *t = arg;
    uint64_t seen = 0;

    while (!atomic_load(&t->is_over)) {
        hf_cell *cell = NULL;

        EXPECT_IS(hf_cell_get(t->client, "k", &cell, NULL), HF_OK);
        if (hf_cell_version(cell) != seen) {
            seen = hf_cell_version(cell);
            EXPECT_IS(hf_cell_put(t->client, "k", "bob", 3, &seen, NULL),
                      HF_OK);
            hf_cell_free(cell);
            return;
        }
        hf_cell_free(cell);
    }
}

TEST_IF(NEEDS_CELLS, a_conflict_after_a_lost_answer_is_an_unknown_outcome)
{
    AUTO_CLIENT *alice =
        open_faulty("fault=lose_reply:cell:1,delay:open:2-:300ms");
    AUTO_CLIENT *bob = open_store();
    struct thief thief = {.client = bob};
    struct hf__test_thread *thread = hf__test_start(replace_at_once, &thief);
    hf_error err = HF_ERROR_INIT;
    uint64_t version = 0;
    int r = hf_cell_put(alice, "k", "alice", 5, &version, &err);

    atomic_store(&thief.is_over, true);
    hf__test_join(thread);
    if (r != HF_OK) { /* else the thief was late */
        EXPECT_IS(r, HF_EUNKNOWN);
        EXPECT_IS(version, 0);
    }
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
