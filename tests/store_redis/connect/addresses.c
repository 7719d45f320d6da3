/* SPDX-License-Identifier: MIT */
/*
 * A name with several addresses, of which the first does not answer: made by
 * hand, for each has a port of its own.
 */
#include "src/backend/redis/peer.h"
#include "src/base/error.h"
#include "tests/store_redis/connect/site.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct hf__address address_of(int port)
{
    struct sockaddr_in to = hf__servers_at(port);
    struct hf__address a = {.length = sizeof to};

    memcpy(&a.to, &to, sizeof to);
    return a;
}

/* A port whose line is full, so that a connection to it is never made. */
static void fill(int fd, int port, int others[8])
{
    struct sockaddr_in to = hf__servers_at(port);

    EXPECT_IS(listen(fd, 0), 0);
    for (int i = 0; i < 8; i++) {
        others[i] =
            socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(others[i], (struct sockaddr *)&to, sizeof to);
    }
    hf__test_pause_ms(20);
}

TEST(an_address_that_does_not_answer_leaves_the_next_one_time)
{
    struct hf__head head = {.generation = 1};
    struct hf__secret none = {0};
    hf_error err = HF_ERROR_INIT;
    struct hf__rest rest = {0};
    struct hf__address there = address_of(hf__redis_port(hf__redis_shared()));
    struct hf__peer p;
    int silent = 0;
    int others[8];
    int fd = listen_silently(&silent);
    int64_t start;

    fill(fd, silent, others);
    hf__peer_init(&p);
    EXPECT_IS(hf__waker_init(&rest.waker, &err), HF_OK);
    snprintf(p.target.shown, sizeof p.target.shown, "three addresses");
    EXPECT_IS(hf__handshake_queue(&p, &none), HF_OK);
    /* One that is over, one that is silent, and the server's. */
    p.known.n = 3;
    p.known.list[0] = address_of(silent);
    p.known.list[1] = address_of(silent);
    p.known.list[2] = there;
    p.state = HF__PEER_CONNECTING;
    p.allow = "";
    start = hf__test_now_ms();
    EXPECT(hf__peer_tick(&p));
    EXPECT_IS(p.state, HF__PEER_CONNECTING);
    EXPECT_IS(
        hf__peer_open(&p, &rest, &head, hf__after_ms(hf__now(), 5000), &err),
        HF_OK);
    EXPECT_MORE(hf__test_now_ms() - start, 900);
    EXPECT_SOON(hf__test_now_ms() - start, 2000);
    EXPECT(memcmp(&p.known.list[0].to, &there.to, there.length) == 0);
    hf__peer_close(&p);
    hf__waker_fini(&rest.waker);
    for (int i = 0; i < 8; i++) {
        close(others[i]);
    }
    close(fd);
}
