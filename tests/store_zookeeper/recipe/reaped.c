/* SPDX-License-Identifier: MIT */
/*
 * The server takes a name's folder away when its last child has gone, at any
 * moment: this one looks all the time. Whoever comes then makes it again.
 */
#include "tests/servers/zookeeper.h"
#include "tests/store_zookeeper/recipe/tree.h"

#include <string.h>

enum { TURNS = 300 };

static void end_server(struct hf__zookeeper **s)
{
    hf__zookeeper_free(*s);
}

static struct hf__zookeeper *start_reaper(void)
{
    static const char *const java[] = {"-Dznode.container.checkIntervalMs=5",
                                       "-Dznode.container.maxPerMinute=60000",
                                       NULL};
    const struct hf__zookeeper_opts opts = {.java = java};

    return hf__zookeeper_start(&opts);
}

/* How often it came to a name whose folder had been taken away. */
static int take_turns(const struct hf__zookeeper *s, const char *options)
{
    HF_AUTO(leave) struct party alice = {0};
    char url[HF__ZOOKEEPER_URL];
    uint64_t last = 0;
    int n_gone = 0;
    int n;

    hf__zookeeper_url(s, "/a", url, sizeof url);
    n = (int)strlen(url);
    snprintf(url + n, sizeof url - (size_t)n, "?recipe=%s", options);
    EXPECT_IS(join_url(&alice, "alice", url), HF_OK);
    for (int i = 0; i < TURNS; i++) {
        hf__test_pause_ms(i % 7);
        n_gone += i > 0 && hf__zookeeper_count(s, "/a/test/job") < 0;
        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        EXPECT_SAFE_MORE(alice.fence, last);
        last = alice.fence;
        EXPECT_IS(renew(&alice, "job"), HF_OK);
        EXPECT_IS(release(&alice, "job"), HF_OK);
    }
    return n_gone;
}

TEST_WITHIN(60, a_folder_that_is_reaped_is_made_again)
{
    HF_AUTO(end_server) struct hf__zookeeper *s = start_reaper();

    EXPECT_MORE(take_turns(s, "fair"), 5);
    EXPECT_MORE(take_turns(s, "simple"), 5);
}
