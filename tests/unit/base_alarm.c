/* SPDX-License-Identifier: MIT */
/*
 * What sleeps on descriptors: the waker and the alarm end a sleep until they
 * are drained, and a child has none of the descriptors.
 */
#include "src/base/base.h"
#include "src/base/wake.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_awake(const struct hf__waker *w)
{
    struct pollfd fd = {.fd = hf__waker_fd(w), .events = POLLIN};

    return poll(&fd, 1, 0) == 1 && fd.revents == POLLIN;
}

TEST(a_waker_wakes_until_it_is_drained)
{
    struct hf__waker w = {0};

    hf__waker_wake(&w); /* nobody can sleep there yet */
    EXPECT_IS(hf__waker_fd(&w), -1);
    EXPECT_IS(hf__waker_init(&w, NULL), HF_OK);
    EXPECT_IS(fcntl(hf__waker_fd(&w), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT(!is_awake(&w));
    hf__waker_wake(&w);
    hf__waker_wake(&w);
    EXPECT(is_awake(&w));
    EXPECT(is_awake(&w));
    hf__waker_drain(&w);
    EXPECT(!is_awake(&w));
    hf__waker_drain(&w); /* nothing there: does not sleep */
    hf__waker_wake(&w);
    EXPECT(is_awake(&w));
    hf__waker_fini(&w);
    EXPECT_IS(hf__waker_fd(&w), -1);
    hf__waker_wake(&w); /* nor any more */
    hf__waker_fini(&w);
}

TEST(an_alarm_rings_at_its_limit_and_when_poked)
{
    hf__time start = hf__now();
    struct hf__alarm a;

    EXPECT_IS(hf__alarm_init(&a), HF_OK);
    hf__alarm_sleep(&a, hf__after_ms(start, 30));
    EXPECT(hf__between_ns(start, hf__now()) >= 30 * HF__MS);
    hf__alarm_sleep(&a, start);
    hf__alarm_sleep(&a, (hf__time){0});
    hf__alarm_sleep(&a, (hf__time){-5});
    hf__alarm_poke(&a);
    hf__alarm_poke(&a);
    hf__alarm_sleep(&a, HF__NEVER);
    start = hf__now();
    hf__alarm_sleep(&a, hf__after_ms(start, 20)); /* the pokes are spent */
    EXPECT(hf__between_ns(start, hf__now()) >= 20 * HF__MS);
    EXPECT_IS(fcntl(a.timer_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_IS(fcntl(a.poke_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    hf__alarm_fini(&a);
    hf__alarm_fini(&a);
}

TEST(a_child_holds_neither)
{
    struct hf__waker w = {0};
    struct hf__alarm a;

    EXPECT_IS(hf__waker_init(&w, NULL), HF_OK);
    EXPECT_IS(hf__alarm_init(&a), HF_OK);
    pid_t child = fork();
    if (child == 0) {
        _exit(fcntl(hf__waker_fd(&w), F_GETFD) >= 0 ||
              fcntl(a.timer_fd, F_GETFD) >= 0 ||
              fcntl(a.poke_fd, F_GETFD) >= 0);
    }
    EXPECT_IS(hf__test_exit_code(child), 0);
    hf__alarm_fini(&a);
    hf__waker_fini(&w);
}

TEST(without_descriptors_both_are_unavailable)
{
    struct rlimit few = {0, 0};
    struct hf__waker w = {0};
    struct hf__alarm a;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(getrlimit(RLIMIT_NOFILE, &few), 0);
    rlim_t most = few.rlim_cur;
    int next = dup(0);
    close(next);
    for (rlim_t n = 0; n < 2; n++) {
        few.rlim_cur = (rlim_t)next + n;
        EXPECT_IS(setrlimit(RLIMIT_NOFILE, &few), 0);
        EXPECT_IS(hf__alarm_init(&a), HF_EUNAVAIL);
        EXPECT_IS(a.timer_fd, -1);
    }
    few.rlim_cur = (rlim_t)next;
    EXPECT_IS(setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_IS(hf__waker_init(&w, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "out of descriptors");
    EXPECT_IS(hf__waker_fd(&w), -1);
    few.rlim_cur = most;
    EXPECT_IS(setrlimit(RLIMIT_NOFILE, &few), 0);
}
