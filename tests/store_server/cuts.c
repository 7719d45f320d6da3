/* SPDX-License-Identifier: MIT */
/*
 * The words of cuts.h: which rules there are, and what must be true after each.
 * The proxy stands before one client; the other sees what the store has.
 */
#include "tests/store_server/cuts.h"

/* Below the second for which a session waits for a row on the server, so that
 * nothing but the cut is slow. */
#define QUICK "io_timeout=300ms"

int64_t patient_ms(void)
{
    return patience(4000);
}

static hf_client *open_by(int port)
{
    hf_client *client;

    reach_by_port(port);
    client = open_with(QUICK);
    reach_by_port(0);
    return client;
}

void see_fence(struct scene *s, uint64_t fence)
{
    EXPECT_SAFE_MORE(fence, s->fence);
    s->fence = fence;
}

void expect_free(struct scene *s, const char *name)
{
    hf_acquire_opts opts = wanting(patient_ms(), 30000);
    AUTO_LOCK *lock = NULL;
    hf_error err = HF_ERROR_INIT;

    if (hf_acquire(s->bob, name, &opts, &lock, &err) != HF_OK) {
        printf("%s\n", err.text);
    }
    EXPECT(lock);
    if (name[0] == 'j') {
        see_fence(s, hf_fence(lock));
    }
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

void expect_settled(hf_client *client)
{
    hf_stats_info stats = HF_STATS_INFO_INIT;
    int64_t start = hf__test_now_ms();

    for (;;) {
        EXPECT_IS(hf_stats(client, &stats), HF_OK);
        if (stats.owing == 0) {
            return;
        }
        EXPECT_LESS(since(start), patient_ms());
        hf__test_pause_ms(2);
    }
}

bool is_outage(int r)
{
    return r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

void expect_answer(struct scene *s, int r)
{
    EXPECT(r == HF_OK || is_outage(r));
    s->done += r == HF_OK;
}

hf_acquire_opts fixed(int64_t wait_ms)
{
    hf_acquire_opts opts = wanting(wait_ms, 30000);

    opts.auto_renew = 0;
    return opts;
}

/* ---- where it is cut */

static void play_case(struct scene *s, play_fn play,
                      const struct hf__proxy_rule *rule)
{
    play(s, rule);
    expect_settled(s->alice);
    expect_free(s, "job");
    s->cases++;
}

static void play_where(struct scene *s, play_fn play,
                       struct hf__proxy_rule rule)
{
    static const size_t insides[] = {1, 4, 40};

    for (rule.where = HF__BEFORE; rule.where <= HF__AFTER; rule.where++) {
        for (int i = 0; i < (rule.where == HF__INSIDE ? 3 : 1); i++) {
            rule.bytes = insides[i];
            play_case(s, play, &rule);
        }
    }
}

void play_all(play_fn play, int messages)
{
    struct scene s = {
        .proxy = hf__proxy_start(server_port(), server_framing()),
    };
    struct hf__proxy_rule rule = {.what = HF__STATEMENT};

    s.alice = open_by(hf__proxy_port(s.proxy));
    s.bob = open_store();
    expect_free(&s, "job");
    play(&s, &(struct hf__proxy_rule){.n = 1000}); /* opens all it needs */
    expect_free(&s, "job");
    for (; rule.what <= HF__REPLY; rule.what++) {
        for (rule.action = HF__CLOSE; rule.action <= HF__RESET; rule.action++) {
            for (rule.n = 1; rule.n <= messages; rule.n++) {
                play_where(&s, play, rule);
            }
        }
        rule.action = HF__SILENCE;
        rule.n = 1;
        for (rule.where = HF__BEFORE; rule.where <= HF__AFTER; rule.where++) {
            rule.bytes = 30;
            play_case(&s, play, &rule);
        }
    }
    printf("%d cases, %d done, %d hits\n", s.cases, s.done,
           hf__proxy_counts(s.proxy).hits);
    EXPECT_MORE(hf__proxy_counts(s.proxy).hits, s.cases / 2);
    hf_close(s.alice);
    hf_close(s.bob);
    hf__proxy_free(s.proxy);
}
