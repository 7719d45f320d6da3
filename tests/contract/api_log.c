/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: the application's sink may take its time
 * and its own locks, for it is called under none of the library's.
 */
#include "tests/contract/api_line.h"

#include <string.h>

/* A sink that stays in the first line with `text` until it is let out. */
struct slow_sink {
    const char *text;
    atomic_bool is_in;
    atomic_bool may_go;
};

static void stay_in_line(void *arg, hf_level level, const char *line)
{
    struct slow_sink *sink = arg;
    int64_t start = hf__test_now_ms();

    (void)level;
    if (!strstr(line, sink->text) || atomic_exchange(&sink->is_in, true)) {
        return;
    }
    while (!atomic_load(&sink->may_go) && since(start) < patience(3000)) {
        hf__test_pause_ms(1);
    }
}

TEST_IF(store_can(HF_CAP_WAIT), a_slow_sink_holds_up_no_other_wait)
{
    struct slow_sink sink = {.text = "event=watch_failed"};
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob =
        open_heard("fault=die:wait:*", HF_LOG_DEBUG, stay_in_line, &sink);
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(alice, "other");
    struct waiter w = {.opts = wanting(patience(500), HF_LEASE_DEFAULT_MS)};
    int64_t start;

    start_claim(&w, bob, "job");
    UNTIL(atomic_load(&sink.is_in));
    start = hf__test_now_ms();
    EXPECT_IS(attempt(bob, "other", 50), HF_TIMEDOUT);
    EXPECT_SOON(since(start), patience(1000));
    atomic_store(&sink.may_go, true);
    EXPECT_IS(end_waiter(&w), HF_TIMEDOUT);
    expect_held(job);
    expect_held(other);
}
