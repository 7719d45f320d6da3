/* SPDX-License-Identifier: MIT */
/*
 * The process of a warden, in a session of its own. It is the server's parent,
 * so a signal never hits another process that got its number; it watches its
 * owner, and when that is gone, it kills the server and removes the folder.
 * What an owner has left waits for the next, for a while, and while the run of
 * tests lasts. Should it be killed itself, the kernel kills the server.
 * What server it is, the fixtures know.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/warden_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS_MS = 50, LASTS_MS = 60000 };

uint64_t hf__warden_birth(pid_t pid)
{
    unsigned long long birth = 0;
    char path[64];
    char state = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f) {
        int n = fscanf(f,
                       "%*d (%*[^)]%*[)] %c %*d %*d %*d %*d %*d %*u %*u %*u "
                       "%*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                       &state, &birth);

        fclose(f);
        if (n != 2 || state == 'Z' || state == 'X') {
            birth = 0;
        }
    }
    return birth;
}

bool hf__warden_lives(const struct hf__warden_life *life)
{
    return life->birth && hf__warden_birth(life->pid) == life->birth;
}

static void close_unless_needed(int fd, void *needed)
{
    const int *fds = needed;

    if (fd != fds[0] && fd != fds[1]) {
        close(fd);
    }
}

/* No descriptors of a test, no terminal, no blocked signals. */
void hf__warden_forget_all(int fd, int other)
{
    int needed[2] = {fd, other};
    sigset_t none;

    setsid();
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    hf__test_each_number("/proc/self/fd", close_unless_needed, needed);
    for (int i = 0; i < 3; i++) {
        /* The first three are free now, unless the owner had closed them. */
        if (fcntl(i, F_GETFD) < 0) {
            open("/dev/null", O_RDWR);
        }
    }
}

static _Noreturn void become_server(const struct hf__warden *w,
                                    struct hf__warden_order *order,
                                    pid_t warden)
{
    const char *argv[HF__WARDEN_ARGV + 1] = {0};
    char log[HF__SERVERS_PATH + 8];
    char *arg = order->argv;
    int fd;

    for (int i = 0;
         i < HF__WARDEN_ARGV && arg < order->argv + order->argv_length; i++) {
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

static int64_t start_server(struct hf__warden *w,
                            struct hf__warden_order *order)
{
    pid_t warden = getpid();

    w->server = fork();
    if (w->server == 0) {
        become_server(w, order, warden);
    }
    return w->server;
}

static bool has_owner(const struct hf__warden *w)
{
    return hf__warden_lives(&w->owner) &&
           (!w->run.birth || hf__warden_lives(&w->run));
}

/* 1: it has ended, 0: it runs still. */
static int64_t await_server(struct hf__warden *w, int64_t ms)
{
    int64_t until = hf__test_now_ms() + ms;

    while (w->server && waitpid(w->server, NULL, WNOHANG) == 0) {
        if (hf__test_now_ms() >= until || !has_owner(w)) {
            return 0;
        }
        hf__test_pause_ms(1);
    }
    w->server = 0;
    return 1;
}

/* What a server that was killed leaves comes to us, whom nobody else would
 * reap. */
static void reap(struct hf__warden *w)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        w->server = pid == w->server ? 0 : w->server;
    }
}

static int64_t signal_server(const struct hf__warden *w, int number)
{
    if (w->server && number == SIGSTOP) {
        hf__warden_stop(w->server);
    } else if (w->server) {
        kill(w->server, number);
    }
    return 0;
}

static int64_t signal_all(const struct hf__warden *w, int number)
{
    if (w->server) {
        hf__warden_signal_family(w->server, number);
    }
    return 0;
}

static int64_t obey(struct hf__warden *w, struct hf__warden_order *order)
{
    switch (order->op) {
    case HF__WARDEN_START:
        return start_server(w, order);
    case HF__WARDEN_SIGNAL:
        return signal_server(w, (int)order->value);
    case HF__WARDEN_SIGNAL_ALL:
        return signal_all(w, (int)order->value);
    case HF__WARDEN_WAIT:
        return await_server(w, order->value);
    case HF__WARDEN_PORT:
        return hf__servers_take_port();
    case HF__WARDEN_LEAVE:
        w->left_ms = hf__test_now_ms();
        break;
    case HF__WARDEN_END:
        break;
    }
    return 0;
}

static void clean_up(struct hf__warden *w)
{
    if (w->server) {
        hf__warden_signal_family(w->server, SIGKILL);
        waitpid(w->server, NULL, 0);
    }
    reap(w);
    hf__test_remove_tree(w->folder);
}

/* ---- its owners */

static bool has_come(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LOOKS_MS) > 0;
}

static void welcome(struct hf__warden *w)
{
    struct ucred who;
    socklen_t size = sizeof who;

    w->fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
    if (w->fd >= 0 &&
        getsockopt(w->fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) {
        w->owner = (struct hf__warden_life){who.pid, hf__warden_birth(who.pid)};
    }
}

/* Who takes the sign away has it. Of several that go together one has the sign,
 * and the others last for longer than it does. */
static bool is_forgotten(const struct hf__warden *w)
{
    char sign[HF__SERVERS_PATH + 8];
    int64_t ms = hf__test_now_ms() - w->left_ms;

    snprintf(sign, sizeof sign, "%s/" HF__WARDEN_LEFT, w->folder);
    return !hf__warden_lives(&w->run) || ms > 2 * LASTS_MS ||
           (ms > LASTS_MS && unlink(sign) == 0);
}

/* False: it is over. Its end of the connection does not tell that the owner is
 * gone while a forked child of the owner lives; a descriptor of the owner
 * would, but memcheck does not know that call. */
static bool serve(struct hf__warden *w)
{
    static struct hf__warden_order order;
    int64_t answer;

    reap(w);
    if (!has_owner(w)) {
        return false;
    }
    if (!has_come(w->fd)) {
        return true;
    }
    if (recv(w->fd, &order, sizeof order, MSG_DONTWAIT) <= 0 ||
        order.op == HF__WARDEN_END) {
        return false;
    }
    answer = obey(w, &order);
    send(w->fd, &answer, sizeof answer, MSG_NOSIGNAL);
    if (order.op == HF__WARDEN_LEAVE) {
        close(w->fd);
        w->fd = -1;
    }
    return true;
}

static bool await_owner(struct hf__warden *w)
{
    if (has_come(w->listener)) {
        welcome(w);
    }
    return w->fd >= 0 || !is_forgotten(w);
}

void hf__warden_keep(struct hf__warden *w)
{
    int64_t answer = 0;

    hf__warden_forget_all(w->listener, w->lock);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    welcome(w);
    while (w->fd < 0 ? await_owner(w) : serve(w)) {
    }
    clean_up(w);
    send(w->fd, &answer, sizeof answer, MSG_NOSIGNAL);
    _exit(0);
}
