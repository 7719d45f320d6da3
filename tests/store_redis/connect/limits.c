/* SPDX-License-Identifier: MIT */
/*
 * Time: no opening outlives its limit by more than a moment, whatever is
 * silent, and an interrupt ends it at once.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy.h"
#include "tests/store_redis/connect/site.h"

#include <unistd.h>

static void expect_in_time(const char *url, int64_t ms)
{
    DOOR(d);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(enter_within(&d, url, ms), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "in time");
    EXPECT_MORE(hf__test_now_ms() - start, ms - 5);
    EXPECT_SOON(hf__test_now_ms() - start, ms + hf__test_patience(100));
}

TEST(limits_are_kept_to_the_millisecond)
{
    static const int limits[] = {120, 250, 1300};
    int port = 0;
    int fd = listen_silently(&port);

    for (int i = 0; i < 3; i++) {
        expect_in_time(url_of("redis://127.0.0.1:%d", port), limits[i]);
        expect_in_time(url_of("rediss://127.0.0.1:%d?tls=require", port),
                       limits[i]);
    }
    close(fd);
}

/* The backlog is full: not even the connection is made. */
TEST(a_connection_that_is_not_made_is_given_up_in_time)
{
    struct hf__proxy *proxy =
        hf__proxy_start(hf__redis_port(hf__redis_shared()), &hf__framing_redis);

    hf__proxy_hold(proxy, HF__TO_CLIENT);
    expect_in_time(url_of("redis://127.0.0.1:%d", hf__proxy_port(proxy)), 300);
    hf__proxy_heal(proxy);
    expect_open(url_of("redis://127.0.0.1:%d", hf__proxy_port(proxy)));
    hf__proxy_free(proxy);
}

static void interrupt_soon(void *arg)
{
    struct door *d = arg;

    hf__test_pause_ms(150);
    hf__conn_interrupt(&d->conn);
}

TEST(an_interrupt_ends_the_opening_at_once)
{
    DOOR(d);
    int port = 0;
    int fd = listen_silently(&port);
    int64_t start = hf__test_now_ms();
    struct hf__test_thread *thread = hf__test_start(interrupt_soon, &d);

    EXPECT_IS(
        enter(&d, url_of("redis://127.0.0.1:%d,127.0.0.1:%d", port, port)),
        HF_EUNAVAIL);
    EXPECT_SOON(hf__test_now_ms() - start, 150 + hf__test_patience(200));
    hf__test_join(thread);
    close(fd);
}

TEST(a_server_that_ends_the_connection_is_told)
{
    struct hf__proxy *proxy =
        hf__proxy_start(hf__redis_port(hf__redis_shared()), &hf__framing_redis);
    const char *url = url_of("redis://127.0.0.1:%d", hf__proxy_port(proxy));

    hf__proxy_rule(proxy, &(struct hf__proxy_rule){.what = HF__REPLY, .n = 1});
    expect_refused(url, HF_EUNAVAIL, "closed the connection");
    hf__proxy_rule(proxy, &(struct hf__proxy_rule){.what = HF__REPLY,
                                                   .n = 3,
                                                   .where = HF__INSIDE,
                                                   .bytes = 7,
                                                   .action = HF__RESET});
    expect_refused(url, HF_EUNAVAIL, "closed the connection");
    expect_open(url);
    hf__proxy_free(proxy);
}
