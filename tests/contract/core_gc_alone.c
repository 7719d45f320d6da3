/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: a client that was asked to cleans up by
 * itself, counts it and says it; it leaves alone what is in use, and many
 * clients do not do it all at once.
 */
#include "tests/contract/detached.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_MS = 1000, CLIENTS = 12 };

struct sink {
    atomic_int rounds;
    atomic_llong first_at; /* 0: none yet */
    char line[256];        /* of the first that removed anything */
    atomic_bool has_line;
    atomic_int expired; /* of all lines */
    atomic_int marks;
};

static int number_behind(const char *line, const char *word)
{
    const char *at = strstr(line, word);

    return at ? (int)strtol(at + strlen(word), NULL, 10) : -1000;
}

static void note(void *arg, hf_level level, const char *line)
{
    struct sink *sink = arg;
    long long none = 0;

    (void)level;
    if (!strstr(line, "event=gc ")) {
        return;
    }
    atomic_fetch_add(&sink->expired, number_behind(line, " expired="));
    atomic_fetch_add(&sink->marks, number_behind(line, " marks="));
    atomic_compare_exchange_strong(&sink->first_at, &none, hf__test_now_ms());
    if (!strstr(line, "removed=0 ") && !atomic_load(&sink->has_line)) {
        snprintf(sink->line, sizeof sink->line, "%s", line);
        atomic_store(&sink->has_line, true);
    }
    atomic_fetch_add(&sink->rounds, 1);
}

static void await_collected(hf_client *client, uint64_t count)
{
    UNTIL_WITHIN(15000, stats_of(client).collected >= count);
    EXPECT_IS(stats_of(client).collected, count);
}

TEST_WITHIN_IF(60, store_cleans(), a_client_cleans_by_itself)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner =
        open_heard("gc=1s&gc_idle=1s", HF_LOG_INFO, note, &sink);
    HELD(held, alice);

    for (int i = 0; i < 3; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
    await_collected(cleaner, 3);
    expect_held(held);
    EXPECT_IS(hf_renew(held, NULL), HF_OK);
    EXPECT_IS(stats_of(alice).collected, 0);
    /* It comes when a round is over: a little later than what that counts. */
    UNTIL_WITHIN(15000, atomic_load(&sink.has_line));
    EXPECT_HAS(sink.line, "result=HF_OK");
    EXPECT_IS(hf_release(held, NULL), HF_OK);
}

TEST_WITHIN_IF(60, store_tells_ends() && store_can(HF_CAP_KEEP),
               a_client_that_cleans_by_itself_says_what_had_expired)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner =
        open_heard("gc=1s&gc_idle=1s", HF_LOG_INFO, note, &sink);
    hf_acquire_opts once = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *lock = NULL;
    char token[33];

    once.once_ms = 100;
    leave_behind(cleaner, "expired", 100, token);
    EXPECT_IS(hf_acquire(cleaner, "released", &once, &lock, NULL), HF_OK);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    await_collected(cleaner, 3);
    UNTIL_WITHIN(15000, atomic_load(&sink.marks) > 0);
    EXPECT_IS(atomic_load(&sink.marks), 1);
    EXPECT_IS(atomic_load(&sink.expired), 1);
}

TEST_WITHIN_IF(60, store_cleans(), a_client_cleans_again_and_again)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner =
        open_heard("gc=1s&gc_idle=1s", HF_LOG_INFO, note, &sink);

    EXPECT_IS(try_once(cleaner, "first"), HF_OK);
    await_collected(cleaner, 1);
    EXPECT_IS(try_once(cleaner, "second"), HF_OK);
    await_collected(cleaner, 2);
    UNTIL_WITHIN(15000, atomic_load(&sink.rounds) >= 2);
}

TEST_WITHIN_IF(60, store_cleans(), what_is_young_is_left_alone)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner = open_heard("gc=1s", HF_LOG_INFO, note, &sink);

    EXPECT_IS(try_once(cleaner, "job"), HF_OK);
    UNTIL_WITHIN(15000, atomic_load(&sink.rounds) >= 2);
    EXPECT_IS(stats_of(cleaner).collected, 0);
}

TEST_WITHIN_IF(60, store_cleans(), cleaning_on_demand_is_counted_too)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(alice, 0, NULL, NULL), HF_OK);
    EXPECT_IS(stats_of(alice).collected, 1);
}

/* Those that are started together. */
TEST_WITHIN_IF(60, store_cleans(), many_clients_do_not_clean_at_once)
{
    struct sink sinks[CLIENTS] = {0};
    hf_client *clients[CLIENTS] = {NULL};
    long long first = INT64_MAX;
    long long last = 0;

    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = open_heard("gc=2s", HF_LOG_INFO, note, &sinks[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        UNTIL_WITHIN(20000, atomic_load(&sinks[i].first_at) != 0);
        long long at = atomic_load(&sinks[i].first_at);
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    /* Of twelve even moments in two seconds: by chance once in millions. */
    EXPECT_MORE(last - first, 400);
    for (int i = 0; i < CLIENTS; i++) {
        hf_close(clients[i]);
    }
}

TEST(an_odd_period_is_refused)
{
    static const char *const odd[] = {"gc=10ms", "gc=31d", "gc=often",
                                      "gc=1h&gc_idle=0s"};
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;

    for (int i = 0; i < 4; i++) {
        EXPECT_IS(hf_open(store_url(odd[i]), NULL, &client, &err), HF_EINVAL);
        EXPECT_HAS(err.text, "gc");
    }
}
