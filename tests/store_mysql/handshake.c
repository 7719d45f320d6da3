/* SPDX-License-Identifier: MIT */
/*
 * A server that begins TLS and says no more: limits and interrupts count, and
 * whoever else is in the process goes on.
 */
#include "tests/store_mysql/impostor.h"
#include "tests/store_mysql/site.h"

#include <unistd.h>

/* What asks for TLS; the hello comes after it. */
enum { REQUEST = 32 };

static const struct hf__impostor_opts silent = {.hears_only = true};

static const char *url_of(const struct hf__impostor *m)
{
    static _Thread_local char url[512];

    snprintf(url, sizeof url, "mysql://who:pw@127.0.0.1:%d/db?tls=require",
             hf__impostor_port(m));
    return url;
}

TEST(who_is_silent_in_the_handshake_is_left_in_time)
{
    static const int limits[] = {120, 700};
    struct hf__impostor *m = hf__impostor_start(&silent);

    for (int i = 0; i < 2; i++) {
        DOOR(d);
        int64_t start = hf__test_now_ms();

        EXPECT_IS(enter_within(&d, url_of(m), limits[i]), HF_EUNAVAIL);
        EXPECT_HAS(d.error.text, "did not answer in time");
        EXPECT_MORE(hf__test_now_ms() - start, limits[i] - 5);
        EXPECT_SOON(hf__test_now_ms() - start, limits[i] + 800);
    }
    EXPECT_MORE(hf__impostor_heard(m), REQUEST);
    hf__impostor_free(m);
}

/* ---- beside one that waits */

struct waiting {
    struct hf__impostor *impostor;
    struct hf__test_thread *thread;
    struct door door;
    int status;
};

static void enter_and_wait(void *arg)
{
    struct waiting *w = arg;

    w->status = enter_within(&w->door, url_of(w->impostor), 8000);
}

static void begin(struct waiting *w)
{
    w->impostor = hf__impostor_start(&silent);
    w->thread = hf__test_start(enter_and_wait, w);
    UNTIL(hf__impostor_heard(w->impostor) > REQUEST);
}

static void end(struct waiting *w)
{
    hf__conn_interrupt(&w->door.conn);
    hf__test_join(w->thread);
    EXPECT_IS(w->status, HF_EUNAVAIL);
    shut(&w->door);
    hf__impostor_free(w->impostor);
}

TEST(an_interrupt_ends_a_handshake)
{
    static struct waiting w;
    int64_t start = hf__test_now_ms();

    begin(&w);
    end(&w);
    EXPECT_SOON(hf__test_now_ms() - start, 8000); /* that it had */
}

TEST(a_handshake_keeps_nobody_from_forking_or_connecting)
{
    static struct waiting w;
    int64_t start = hf__test_now_ms();
    pid_t pid;
    DOOR(d);

    begin(&w);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        struct door own = {0};

        (void)alarm(15); /* it ends who hangs */
        _exit(enter(&own, url_with("")) != HF_OK);
    }
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(hf__test_exit_code(pid), 0);
    EXPECT_SOON(hf__test_now_ms() - start, 8000); /* that it has */
    end(&w);
}
