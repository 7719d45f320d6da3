/* SPDX-License-Identifier: MIT */
/*
 * The proxy's process: one loop over its connections, the socket that listens
 * and the test's commands. It is over when the test's end is closed.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PASSAGES_MAX = 500, BACKLOG = 128, LONG_MS = 60000 };
enum { CONTROL, LISTENER, FIXED };

int hf__relay_listen(int port)
{
    struct sockaddr_in at = hf__servers_at(port);
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
    struct sockaddr_in at = hf__servers_at(port);
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
    struct hf__passage *passage;

    if (client < 0) {
        return;
    }
    hurry(client);
    if (!relay->accepts_silently) {
        server = connect_server(relay->server_port);
    }
    passage = hf__passage_new(client, server);
    relay->counts.connections++;
    if (server < 0 && !relay->accepts_silently) {
        hf__passage_cut(passage, HF__RESET);
    }
    passage->next = relay->passages;
    relay->passages = passage;
    relay->counts.open++;
}

static void forget_what_is_over(struct hf__relay *relay)
{
    struct hf__passage **at = &relay->passages;

    while (*at) {
        struct hf__passage *passage = *at;

        if (passage->is_over) {
            *at = passage->next;
            hf__passage_free(passage);
            relay->counts.open--;
        } else {
            at = &passage->next;
        }
    }
}

static void take_command(struct hf__relay *relay, int control)
{
    struct hf__proxy_command command;
    static struct hf__proxy_answer answer; /* its gaps are zero */

    if (recv(control, &command, sizeof command, 0) != sizeof command) {
        hf__relay_cut(relay, HF__CLOSE);
        _exit(0);
    }
    answer.is_done = hf__relay_obey(relay, &command);
    /* What was kept back may pass now, without anything new having come. */
    for (struct hf__passage *l = relay->passages; l; l = l->next) {
        hf__passage_advance(relay, l);
    }
    forget_what_is_over(relay);
    answer.counts = relay->counts;
    send(control, &answer, sizeof answer, MSG_NOSIGNAL);
}

/* ---- the loop */

/* What a connection waits for: a descriptor without events is left out, for
 * poll() would tell of its end again and again. */
static void await_passage(const struct hf__relay *relay,
                          const struct hf__passage *passage,
                          struct pollfd *ends, int64_t *timeout)
{
    int64_t now = hf__test_now_ms();

    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        const struct hf__flow *out = &passage->flows[i];
        enum hf__proxy_way in = i ? HF__TO_SERVER : HF__TO_CLIENT;

        ends[i] = (struct pollfd){.fd = passage->ends[i]};
        if (!passage->flows[in].at_end &&
            !hf__passage_is_held(relay, passage, in)) {
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

static void serve_passage(struct hf__relay *relay, struct hf__passage *passage,
                          const struct pollfd *ends)
{
    for (int i = 0; i < HF__PROXY_WAYS && !passage->is_over; i++) {
        enum hf__proxy_way in = i ? HF__TO_SERVER : HF__TO_CLIENT;

        if (ends[i].events & POLLIN && ends[i].revents &&
            !hf__flow_receive(&passage->flows[in], passage->ends[i])) {
            hf__passage_cut(passage, HF__RESET);
        }
    }
    hf__passage_advance(relay, passage);
}

static void turn(struct hf__relay *relay, int control)
{
    struct pollfd events[FIXED + 2 * PASSAGES_MAX];
    struct hf__passage *passage;
    int64_t timeout = LONG_MS;
    nfds_t n = FIXED;

    events[CONTROL] = (struct pollfd){.fd = control, .events = POLLIN};
    for (passage = relay->passages; passage; passage = passage->next) {
        await_passage(relay, passage, &events[n], &timeout);
        n += HF__PROXY_WAYS;
    }
    events[LISTENER] = (struct pollfd){
        .fd = n + HF__PROXY_WAYS <= FIXED + 2 * PASSAGES_MAX ? relay->listener
                                                             : -1,
        .events = POLLIN};
    poll(events, n, (int)timeout);
    n = FIXED;
    for (passage = relay->passages; passage; passage = passage->next) {
        serve_passage(relay, passage, &events[n]);
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
