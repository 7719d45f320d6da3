/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one direction: received into one buffer, and from there, when
 * they may pass, into a line of chunks, each with the time at which it is due.
 * It knows nothing of messages. Called in the proxy's process.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { READ_BYTES = 65536, FLUSH_MS = 1000 };

void hf__flow_init(struct hf__flow *flow)
{
    flow->last = &flow->first;
}

void hf__flow_fini(struct hf__flow *flow)
{
    while (flow->first) {
        struct hf__chunk *next = flow->first->next;

        free(flow->first);
        flow->first = next;
    }
    free(flow->buffer);
}

/* Only here are bytes moved: a reply may have very many packets. */
static void make_room(struct hf__flow *flow)
{
    if (flow->length) {
        memmove(flow->buffer, flow->bytes, flow->length);
    }
    if (flow->size - flow->length < READ_BYTES) {
        flow->size = 2 * flow->size + READ_BYTES;
        flow->buffer = realloc(flow->buffer, flow->size);
        if (!flow->buffer) {
            abort();
        }
    }
    flow->bytes = flow->buffer;
}

bool hf__flow_receive(struct hf__flow *flow, int fd)
{
    ssize_t n;

    make_room(flow);
    n = recv(fd, flow->bytes + flow->length, flow->size - flow->length,
             MSG_DONTWAIT);
    if (n > 0) {
        flow->length += (size_t)n;
    }
    flow->at_end = n == 0;
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

void hf__flow_pass(struct hf__flow *flow, size_t n, int64_t delay_ms)
{
    struct hf__chunk *c;

    if (!n) {
        return;
    }
    c = malloc(sizeof *c + n);
    if (!c) {
        abort();
    }
    *c =
        (struct hf__chunk){.due_ms = hf__test_now_ms() + delay_ms, .length = n};
    memcpy(c->bytes, flow->bytes, n);
    flow->length -= n;
    flow->bytes += n;
    *flow->last = c;
    flow->last = &c->next;
}

/* 1: all of the first chunk is written, 0: a part, −1: it can't be. */
static int write_first(struct hf__flow *flow, int fd)
{
    struct hf__chunk *c = flow->first;
    ssize_t n = send(fd, c->bytes + c->written, c->length - c->written,
                     MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    c->written += (size_t)n;
    if (c->written < c->length) {
        return 0;
    }
    flow->first = c->next;
    if (!flow->first) {
        flow->last = &flow->first;
    }
    free(c);
    return 1;
}

bool hf__flow_write(struct hf__flow *flow, int fd)
{
    int64_t now = hf__test_now_ms();
    int r = 1;

    while (r > 0 && flow->first && flow->first->due_ms <= now) {
        r = write_first(flow, fd);
    }
    return r >= 0;
}

void hf__flow_flush(struct hf__flow *flow, int fd)
{
    int64_t until = hf__test_now_ms() + FLUSH_MS;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};

    while (fd >= 0 && flow->first && hf__test_now_ms() < until &&
           write_first(flow, fd) >= 0) {
        poll(&wait, 1, FLUSH_MS);
    }
}
