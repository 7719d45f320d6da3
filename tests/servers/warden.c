/* SPDX-License-Identifier: MIT */
/*
 * The warden of one server: a process of its own session, whose parent is
 * nobody the harness waits for. It is the server's parent, so a signal never
 * hits another process that got its number; it watches the process that asked
 * for it, and when that is gone, it kills the server and removes the folder.
 * Should it be killed itself, the kernel kills the server. What server it is,
 * the fixtures know. Called by one thread at a time, of the process that made
 * it; a forked child of that may not use it.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGV_BYTES = 8192, ARGV_MAX = 64, LOG_SHOWN = 4000 };
enum op { OP_START, OP_SIGNAL, OP_WAIT, OP_END };

struct order {
    enum op op;
    int64_t value;
    char argv[ARGV_BYTES]; /* each ended by NUL */
    size_t argv_length;
};

struct hf__warden {
    char folder[HF__SERVERS_PATH];
    int fd; /* to the warden's process, from it to its owner */
    int lock;
    int owner;    /* in the warden: pidfd */
    pid_t server; /* in the warden: 0: none */
};

static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* ---- the warden's process */

static void close_unless_needed(int fd, void *warden)
{
    const struct hf__warden *w = warden;

    if (fd != w->fd && fd != w->lock && fd != w->owner) {
        close(fd);
    }
}

/* Nothing of the owner but what a warden needs: no descriptors of a test, no
 * terminal, no blocked signals. */
static void become_warden(struct hf__warden *w)
{
    sigset_t none;

    setsid();
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    hf__test_each_number("/proc/self/fd", close_unless_needed, w);
    for (int i = 0; i < 3; i++) {
        /* The first three are free now, unless the owner had closed them. */
        if (fcntl(i, F_GETFD) < 0) {
            open("/dev/null", O_RDWR);
        }
    }
}

static _Noreturn void become_server(const struct hf__warden *w,
                                    struct order *order, pid_t warden)
{
    const char *argv[ARGV_MAX + 1] = {0};
    char log[HF__SERVERS_PATH + 8];
    char *arg = order->argv;
    int fd;

    for (int i = 0; i < ARGV_MAX && arg < order->argv + order->argv_length;
         i++) {
        argv[i] = arg;
        arg += strlen(arg) + 1;
    }
    snprintf(log, sizeof log, "%s/log", w->folder);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == warden) {
        hf__servers_exec(argv);
    }
    _exit(127);
}

static int64_t start_server(struct hf__warden *w, struct order *order)
{
    pid_t warden = getpid();

    w->server = fork();
    if (w->server == 0) {
        become_server(w, order, warden);
    }
    return w->server;
}

/* 1: it has ended, 0: it runs still. */
static int64_t await_server(struct hf__warden *w, int64_t ms)
{
    struct pollfd events[2] = {{.events = POLLIN},
                               {.fd = w->owner, .events = POLLIN}};

    if (!w->server) {
        return 1;
    }
    events[0].fd = open_process(w->server);
    poll(events, 2, (int)ms);
    close(events[0].fd);
    if (waitpid(w->server, NULL, WNOHANG) == w->server) {
        w->server = 0;
    }
    return !w->server;
}

static int64_t signal_server(const struct hf__warden *w, int number)
{
    return w->server ? kill(w->server, number) : 0;
}

static int64_t obey(struct hf__warden *w, struct order *order)
{
    switch (order->op) {
    case OP_START:
        return start_server(w, order);
    case OP_SIGNAL:
        return signal_server(w, (int)order->value);
    case OP_WAIT:
        return await_server(w, order->value);
    case OP_END:
        break;
    }
    return 0;
}

static void clean_up(struct hf__warden *w)
{
    if (w->server) {
        kill(w->server, SIGKILL);
        waitpid(w->server, NULL, 0);
    }
    hf__test_remove_tree(w->folder);
}

static _Noreturn void keep(struct hf__warden *w)
{
    static struct order order;
    struct pollfd events[2] = {{.fd = w->fd, .events = POLLIN},
                               {.fd = w->owner, .events = POLLIN}};
    int64_t answer = 0;

    become_warden(w);
    for (;;) {
        poll(events, 2, -1);
        if (events[1].revents ||
            recv(w->fd, &order, sizeof order, MSG_DONTWAIT) <= 0 ||
            order.op == OP_END) {
            break;
        }
        answer = obey(w, &order);
        send(w->fd, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    clean_up(w);
    send(w->fd, &answer, sizeof answer, MSG_NOSIGNAL);
    _exit(0);
}

/* ---- its owner */

/* The child of a child has no parent that waits for it. */
static void fork_warden(struct hf__warden *w, int their_end)
{
    struct hf__warden theirs = *w;
    pid_t between;

    fflush(stdout);
    theirs.fd = their_end;
    theirs.owner = open_process(getpid());
    between = fork();
    if (between == 0) {
        if (fork() == 0) {
            keep(&theirs);
        }
        _exit(0);
    }
    if (between < 0 || theirs.owner < 0) {
        hf__servers_fail("a warden: %s", strerror(errno));
    }
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {
    }
    close(theirs.owner);
}

struct hf__warden *hf__warden_new(const char *kind, bool on_disk)
{
    struct hf__warden *w = calloc(1, sizeof *w);
    int ends[2];

    if (!w || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        hf__servers_fail("a warden: %s", strerror(errno));
    }
    w->lock = hf__servers_folder(kind, on_disk, w->folder);
    w->fd = ends[0];
    fork_warden(w, ends[1]);
    close(ends[1]);
    close(w->lock);
    return w;
}

/* False: there is no warden any more. */
static bool try_ask(struct hf__warden *w, const struct order *order,
                    int64_t *ret_answer)
{
    ssize_t n;

    send(w->fd, order, sizeof *order, MSG_NOSIGNAL);
    while ((n = recv(w->fd, ret_answer, sizeof *ret_answer, 0)) < 0 &&
           errno == EINTR) {
    }
    return n == sizeof *ret_answer;
}

static int64_t ask(struct hf__warden *w, const struct order *order)
{
    int64_t answer;

    if (!try_ask(w, order, &answer)) {
        hf__servers_fail("the warden of %s is gone", w->folder);
    }
    return answer;
}

void hf__warden_free(struct hf__warden *w)
{
    int64_t answer;

    if (w) {
        if (!try_ask(w, &(struct order){.op = OP_END}, &answer)) {
            hf__test_remove_tree(w->folder);
        }
        close(w->fd);
        free(w);
    }
}

const char *hf__warden_folder(const struct hf__warden *w)
{
    return w->folder;
}

pid_t hf__warden_start(struct hf__warden *w, const char *const argv[])
{
    struct order order = {.op = OP_START};

    for (int i = 0; argv[i]; i++) {
        size_t length = strlen(argv[i]) + 1;

        if (i == ARGV_MAX || order.argv_length + length > ARGV_BYTES) {
            hf__servers_fail("too many arguments for %s", argv[0]);
        }
        memcpy(order.argv + order.argv_length, argv[i], length);
        order.argv_length += length;
    }
    return (pid_t)ask(w, &order);
}

void hf__warden_signal(struct hf__warden *w, int number)
{
    ask(w, &(struct order){.op = OP_SIGNAL, .value = number});
}

bool hf__warden_wait(struct hf__warden *w, int64_t ms)
{
    return ask(w, &(struct order){.op = OP_WAIT, .value = ms}) != 0;
}

void hf__warden_print_log(const struct hf__warden *w)
{
    char path[HF__SERVERS_PATH + 8];
    char text[LOG_SHOWN + 1] = "";
    FILE *f;

    snprintf(path, sizeof path, "%s/log", w->folder);
    f = fopen(path, "re");
    if (f) {
        fseek(f, 0, SEEK_END);
        fseek(f, ftell(f) > LOG_SHOWN ? -LOG_SHOWN : -ftell(f), SEEK_END);
        printf("%.*s\n", (int)fread(text, 1, LOG_SHOWN, f), text);
        fclose(f);
    }
}
