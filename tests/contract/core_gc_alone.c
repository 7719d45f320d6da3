/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: a client that was asked to cleans up by
 * itself, counts it and says it; it leaves alone what is in use, and many
 * clients do not do it all at once.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <string.h>

enum { PERIOD_MS = 1000, CLIENTS = 12 };

struct sink {
    atomic_int rounds;
    atomic_llong first_at; /* 0: none yet */
    char line[256];        /* of the first that removed anything */
    atomic_bool has_line;
};

static void note(void *arg, hf_level level, const char *line)
{
    struct sink *sink = arg;
    long long none = 0;

    (void)level;
    if (!strstr(line, "event=gc ")) {
        return;
    }
    atomic_compare_exchange_strong(&sink->first_at, &none, hf__test_now_ms());
    if (!strstr(line, "removed=0 ") && !atomic_load(&sink->has_line)) {
        snprintf(sink->line, sizeof sink->line, "%s", line);
        atomic_store(&sink->has_line, true);
    }
    atomic_fetch_add(&sink->rounds, 1);
}

static hf_client *open_cleaner(const char *options, struct sink *sink)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;
    int r;

    opts.log = note;
    opts.log_arg = sink;
    opts.log_level = HF_LOG_INFO;
    r = hf_open(store_url(options), &opts, &client, &err);
    EXPECT_IS(r, HF_OK);
    return client;
}

static uint64_t collected(hf_client *client)
{
    hf_stats_info stats = HF_STATS_INFO_INIT;

    EXPECT_IS(hf_stats(client, &stats), HF_OK);
    return stats.collected;
}

static void await_collected(hf_client *client, uint64_t count)
{
    int64_t start = hf__test_now_ms();

    while (collected(client) < count && since(start) < patience(15000)) {
        hf__test_pause_ms(20);
    }
    EXPECT_IS(collected(client), count);
}

/* Its line comes when a round is over: a little later than what it counts. */
static void await_rounds(struct sink *sink, int rounds)
{
    int64_t start = hf__test_now_ms();

    while (atomic_load(&sink->rounds) < rounds &&
           since(start) < patience(15000)) {
        hf__test_pause_ms(20);
    }
    EXPECT(atomic_load(&sink->rounds) >= rounds);
}

static void await_line(struct sink *sink)
{
    int64_t start = hf__test_now_ms();

    while (!atomic_load(&sink->has_line) && since(start) < patience(15000)) {
        hf__test_pause_ms(20);
    }
    EXPECT(atomic_load(&sink->has_line));
}

TEST_WITHIN(60, a_client_cleans_by_itself)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner = open_cleaner("gc=1s&gc_idle=1s", &sink);
    HELD(held, alice);

    for (int i = 0; i < 3; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
    await_collected(cleaner, 3);
    expect_held(held);
    EXPECT_IS(hf_renew(held, NULL), HF_OK);
    EXPECT_IS(collected(alice), 0);
    await_line(&sink);
    EXPECT_HAS(sink.line, "result=HF_OK");
    EXPECT_IS(hf_release(held, NULL), HF_OK);
}

TEST_WITHIN(60, a_client_cleans_again_and_again)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner = open_cleaner("gc=1s&gc_idle=1s", &sink);

    EXPECT_IS(try_once(cleaner, "first"), HF_OK);
    await_collected(cleaner, 1);
    EXPECT_IS(try_once(cleaner, "second"), HF_OK);
    await_collected(cleaner, 2);
    await_rounds(&sink, 2);
}

TEST_WITHIN(60, what_is_young_is_left_alone)
{
    struct sink sink = {0};
    AUTO_CLIENT *cleaner = open_cleaner("gc=1s", &sink);

    EXPECT_IS(try_once(cleaner, "job"), HF_OK);
    await_rounds(&sink, 2);
    EXPECT_IS(collected(cleaner), 0);
}

TEST_WITHIN(60, cleaning_on_demand_is_counted_too)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(alice, 0, NULL, NULL), HF_OK);
    EXPECT_IS(collected(alice), 1);
}

/* Those that are started together. */
TEST_WITHIN(60, many_clients_do_not_clean_at_once)
{
    struct sink sinks[CLIENTS] = {0};
    hf_client *clients[CLIENTS] = {NULL};
    int64_t start = hf__test_now_ms();
    long long first = INT64_MAX;
    long long last = 0;

    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = open_cleaner("gc=2s", &sinks[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        while (!atomic_load(&sinks[i].first_at) &&
               since(start) < patience(20000)) {
            hf__test_pause_ms(10);
        }
        long long at = atomic_load(&sinks[i].first_at);
        EXPECT_MORE(at, 0);
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
