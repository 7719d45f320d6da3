/* SPDX-License-Identifier: MIT */
/*
 * The test's end of the proxy: starts its process and gives it commands, each
 * of which is answered when it is in force. What a command does, the process
 * decides, in proxy_relay.c.
 */
#include "tests/servers/proxy.h"
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/proxy_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct hf__proxy {
    int port;
    int control;
    pid_t pid;
};

struct kept {
    int control;
    int listener;
};

static void close_unless_kept(int fd, void *arg)
{
    const struct kept *kept = arg;

    if (fd > STDERR_FILENO && fd != kept->control && fd != kept->listener) {
        close(fd);
    }
}

/* It holds nothing of the test open, and goes with it. */
static _Noreturn void become_relay(struct hf__relay *relay, int control,
                                   pid_t parent)
{
    struct kept kept = {control, relay->listener};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0);
    }
    signal(SIGPIPE, SIG_IGN);
    hf__test_each_number("/proc/self/fd", close_unless_kept, &kept);
    hf__relay_run(relay, control);
}

struct hf__proxy *hf__proxy_start(int server_port,
                                  const struct hf__framing *framing)
{
    struct hf__relay relay = {.framing = framing, .server_port = server_port};
    struct hf__proxy *p = calloc(1, sizeof *p);
    pid_t parent = getpid();
    int ends[2];

    if (!p || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        hf__servers_fail("a proxy: %s", strerror(errno));
    }
    relay.port = hf__servers_take_port();
    relay.listener = hf__relay_listen(relay.port);
    if (relay.listener < 0) {
        hf__servers_fail("a proxy's port %d: %s", relay.port, strerror(errno));
    }
    fflush(stdout);
    p->pid = fork();
    if (p->pid == 0) {
        become_relay(&relay, ends[1], parent);
    }
    if (p->pid < 0) {
        hf__servers_fail("a proxy: %s", strerror(errno));
    }
    close(relay.listener);
    close(ends[1]);
    p->control = ends[0];
    p->port = relay.port;
    return p;
}

void hf__proxy_free(struct hf__proxy *p)
{
    if (p) {
        close(p->control);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        free(p);
    }
}

int hf__proxy_port(const struct hf__proxy *p)
{
    return p->port;
}

static struct hf__proxy_counts give(struct hf__proxy *p,
                                    const struct hf__proxy_command *command)
{
    struct hf__proxy_answer answer;
    ssize_t n;

    send(p->control, command, sizeof *command, MSG_NOSIGNAL);
    while ((n = recv(p->control, &answer, sizeof answer, 0)) < 0 &&
           errno == EINTR) {
    }
    if (n != sizeof answer) {
        hf__servers_fail("the proxy is gone");
    }
    if (!answer.is_done) {
        hf__servers_fail("the proxy can't do that: too many rules, or its "
                         "port is taken");
    }
    return answer.counts;
}

void hf__proxy_rule(struct hf__proxy *p, const struct hf__proxy_rule *rule)
{
    give(p,
         &(struct hf__proxy_command){.order = HF__ORDER_RULE, .rule = *rule});
}

void hf__proxy_cut(struct hf__proxy *p, enum hf__proxy_action action)
{
    give(p, &(struct hf__proxy_command){.order = HF__ORDER_CUT,
                                        .rule = {.action = action}});
}

void hf__proxy_hold(struct hf__proxy *p, enum hf__proxy_way way)
{
    give(p, &(struct hf__proxy_command){.order = HF__ORDER_HOLD, .way = way});
}

void hf__proxy_delay(struct hf__proxy *p, enum hf__proxy_way way, int64_t ms)
{
    give(p, &(struct hf__proxy_command){
                .order = HF__ORDER_DELAY, .way = way, .ms = ms});
}

void hf__proxy_accept_silently(struct hf__proxy *p)
{
    give(p, &(struct hf__proxy_command){.order = HF__ORDER_ACCEPT_SILENTLY});
}

void hf__proxy_refuse(struct hf__proxy *p)
{
    give(p, &(struct hf__proxy_command){.order = HF__ORDER_REFUSE});
}

void hf__proxy_heal(struct hf__proxy *p)
{
    give(p, &(struct hf__proxy_command){.order = HF__ORDER_HEAL});
}

struct hf__proxy_counts hf__proxy_counts(struct hf__proxy *p)
{
    return give(p, &(struct hf__proxy_command){.order = HF__ORDER_COUNT});
}

bool hf__proxy_wait_hits(struct hf__proxy *p, int hits, int64_t ms)
{
    int64_t until = hf__test_now_ms() + ms;

    while (hf__proxy_counts(p).hits < hits) {
        if (hf__test_now_ms() >= until) {
            return false;
        }
        hf__test_pause_ms(2);
    }
    return true;
}
