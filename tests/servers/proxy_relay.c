/* SPDX-License-Identifier: MIT */
/*
 * The proxy's process: one loop over its connections, the socket that listens
 * and the test's commands. It is over when the test's end is closed.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINKS_MAX = 500, BACKLOG = 128, LONG_MS = 60000 };
enum { CONTROL, LISTENER, FIXED };

static struct sockaddr_in at_port(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int hf__relay_listen(int port)
{
    struct sockaddr_in at = at_port(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (void *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void hurry(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* −1: there is no server. One that is slow to accept shows later. */
static int connect_server(int port)
{
    struct sockaddr_in at = at_port(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (connect(fd, (void *)&at, sizeof at) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    hurry(fd);
    return fd;
}

static void accept_client(struct hf__relay *relay)
{
    int client =
        accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int server = -1;
    struct hf__link *link;

    if (client < 0) {
        return;
    }
    hurry(client);
    if (!relay->accepts_silently) {
        server = connect_server(relay->server_port);
    }
    link = hf__link_new(client, server, ++relay->counts.connections);
    if (server < 0 && !relay->accepts_silently) {
        hf__link_cut(link, HF__RESET);
    }
    link->next = relay->links;
    relay->links = link;
    relay->counts.open++;
}

static void forget_what_is_over(struct hf__relay *relay)
{
    struct hf__link **at = &relay->links;

    while (*at) {
        struct hf__link *link = *at;

        if (link->is_over) {
            *at = link->next;
            hf__link_free(link);
            relay->counts.open--;
        } else {
            at = &link->next;
        }
    }
}

static void take_command(struct hf__relay *relay, int control)
{
    struct hf__proxy_command command;
    struct hf__proxy_answer answer;

    if (recv(control, &command, sizeof command, 0) != sizeof command) {
        hf__relay_cut(relay, HF__CLOSE);
        _exit(0);
    }
    answer.is_done = hf__relay_obey(relay, &command);
    /* What was kept back may pass now, without anything new having come. */
    for (struct hf__link *l = relay->links; l; l = l->next) {
        hf__link_advance(relay, l);
    }
    forget_what_is_over(relay);
    answer.counts = relay->counts;
    send(control, &answer, sizeof answer, MSG_NOSIGNAL);
}

/* ---- the loop */

/* What a connection waits for: a descriptor without events is left out, for
 * poll() would tell of its end again and again. */
static void await_link(const struct hf__relay *relay,
                       const struct hf__link *link, struct pollfd *ends,
                       int64_t *timeout)
{
    int64_t now = hf__test_now_ms();

    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        const struct hf__flow *out = &link->flows[i];
        enum hf__proxy_way in = i ? HF__TO_SERVER : HF__TO_CLIENT;

        ends[i] = (struct pollfd){.fd = link->ends[i]};
        if (!link->flows[in].at_end && !hf__link_is_held(relay, link, in)) {
            ends[i].events = POLLIN;
        }
        if (out->first && out->first->due_ms <= now) {
            ends[i].events |= POLLOUT;
        } else if (out->first && out->first->due_ms - now < *timeout) {
            *timeout = out->first->due_ms - now;
        }
        if (!ends[i].events) {
            ends[i].fd = -1;
        }
    }
}

static void serve_link(struct hf__relay *relay, struct hf__link *link,
                       const struct pollfd *ends)
{
    for (int i = 0; i < HF__PROXY_WAYS && !link->is_over; i++) {
        enum hf__proxy_way in = i ? HF__TO_SERVER : HF__TO_CLIENT;

        if (ends[i].events & POLLIN && ends[i].revents &&
            !hf__flow_receive(&link->flows[in], link->ends[i])) {
            hf__link_cut(link, HF__RESET);
        }
    }
    hf__link_advance(relay, link);
}

static void turn(struct hf__relay *relay, int control)
{
    struct pollfd events[FIXED + 2 * LINKS_MAX];
    struct hf__link *link;
    int64_t timeout = LONG_MS;
    nfds_t n = FIXED;

    events[CONTROL] = (struct pollfd){.fd = control, .events = POLLIN};
    for (link = relay->links; link; link = link->next) {
        await_link(relay, link, &events[n], &timeout);
        n += HF__PROXY_WAYS;
    }
    events[LISTENER] = (struct pollfd){
        .fd =
            n + HF__PROXY_WAYS <= FIXED + 2 * LINKS_MAX ? relay->listener : -1,
        .events = POLLIN};
    poll(events, n, (int)timeout);
    n = FIXED;
    for (link = relay->links; link; link = link->next) {
        serve_link(relay, link, &events[n]);
        n += HF__PROXY_WAYS;
    }
    forget_what_is_over(relay);
    if (events[LISTENER].revents) {
        accept_client(relay);
    }
    if (events[CONTROL].revents) {
        take_command(relay, control);
    }
}

void hf__relay_run(struct hf__relay *relay, int control)
{
    for (;;) {
        turn(relay, control);
    }
}
