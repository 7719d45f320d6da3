/* SPDX-License-Identifier: MIT */
/*
 * The words of zookeeper_wire.h. What a call asks and what its answer says,
 * its caller knows.
 */
#include "tests/servers/zookeeper_wire.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

/* ---- bytes */

int hf__wire_reach(int port, int64_t patience_ms)
{
    struct sockaddr_in at = hf__servers_at(port);
    int64_t ms = hf__test_patience(patience_ms);
    struct timeval patience = {.tv_sec = (time_t)(ms / 1000),
                               .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int at_once = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    if (connect(fd, (void *)&at, sizeof at) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool send_all(int fd, const uint8_t *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, uint8_t *bytes, size_t n)
{
    return recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n;
}

/* ---- messages, each with its length before it */

static void begin(struct hf__zookeeper_client *c)
{
    c->message.length = 0;
    c->message.at = 0;
    hf__jute_put_int(&c->message, 0); /* the length, put when it is known */
}

static bool send_message(struct hf__zookeeper_client *c)
{
    struct hf__jute head = {.bytes = c->message.bytes};

    hf__jute_put_int(&head, (int32_t)(c->message.length - 4));
    return send_all(c->fd, c->message.bytes, c->message.length);
}

static bool receive(struct hf__zookeeper_client *c)
{
    uint8_t head[4];
    int32_t length;

    c->message.at = 0;
    c->message.length = 0;
    if (!receive_all(c->fd, head, sizeof head)) {
        return false;
    }
    length = hf__jute_number(head);
    if (length < 0 || length > HF__JUTE_BYTES ||
        !receive_all(c->fd, c->message.bytes, (size_t)length)) {
        return false;
    }
    c->message.length = (size_t)length;
    return true;
}

/* ---- sessions */

void hf__zookeeper_drop(struct hf__zookeeper_client *c)
{
    if (c) {
        if (c->fd >= 0) {
            close(c->fd);
        }
        free(c->message.bytes);
        free(c);
    }
}

struct hf__zookeeper_client *
hf__wire_open(int port, int session_ms, int64_t id,
              const uint8_t password[HF__WIRE_PASSWORD])
{
    struct hf__zookeeper_client *c = calloc(1, sizeof *c);

    if (!c) {
        hf__servers_fail("out of memory");
    }
    c->message.bytes = malloc(HF__JUTE_BYTES);
    c->fd = hf__wire_reach(port, PATIENCE_MS);
    if (!c->message.bytes || c->fd < 0) {
        hf__zookeeper_drop(c);
        return NULL;
    }
    begin(c);
    hf__jute_put_int(&c->message, 0);  /* the protocol's version */
    hf__jute_put_long(&c->message, 0); /* the last change that we saw */
    hf__jute_put_int(&c->message, session_ms);
    hf__jute_put_long(&c->message, id);
    hf__jute_put_bytes(&c->message, password, HF__WIRE_PASSWORD);
    hf__jute_put_flag(&c->message, false); /* a server that only reads */
    if (!send_message(c) || !receive(c)) {
        hf__zookeeper_drop(c);
        return NULL;
    }
    hf__jute_get_int(&c->message);
    c->session_ms = hf__jute_get_int(&c->message);
    c->session = hf__jute_get_long(&c->message);
    return c;
}

/* ---- calls */

void hf__wire_ask_as(struct hf__zookeeper_client *c, int32_t xid, int32_t type)
{
    c->xid = xid;
    begin(c);
    hf__jute_put_int(&c->message, xid);
    hf__jute_put_int(&c->message, type);
}

void hf__wire_ask(struct hf__zookeeper_client *c, int32_t type)
{
    hf__wire_ask_as(c, ++c->last_xid, type);
}

/* Events may come between, and what they tell is not kept. */
int hf__wire_call(struct hf__zookeeper_client *c)
{
    int32_t xid;

    if (!send_message(c)) {
        return HF__ZOOKEEPER_LOST;
    }
    do {
        if (!receive(c)) {
            return HF__ZOOKEEPER_LOST;
        }
        xid = hf__jute_get_int(&c->message);
        hf__jute_get_long(&c->message); /* the last change of the store */
    } while (xid != c->xid);
    return hf__jute_get_int(&c->message);
}
