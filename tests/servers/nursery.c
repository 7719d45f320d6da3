/* SPDX-License-Identifier: MIT */
/*
 * Where wardens come from in a run of tests, which they outlive a program in:
 * a process that is started before the program's own code, and so is no
 * descendant of a test, whose leftovers are ended. It forks a warden for
 * whoever sends it one, and ends when all processes of the program have.
 */
#include "tests/servers/warden_private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct hf__warden_life run;
static int to_nursery = -1;

union rights {
    struct cmsghdr head;
    char room[CMSG_SPACE(2 * sizeof(int))];
};

static struct msghdr message_of(struct iovec *body, union rights *rights)
{
    return (struct msghdr){.msg_iov = body,
                           .msg_iovlen = 1,
                           .msg_control = rights,
                           .msg_controllen = sizeof *rights};
}

/* ---- the process */

static bool receive(int fd, struct hf__warden *w)
{
    struct iovec body = {w, sizeof *w};
    union rights rights;
    struct msghdr m = message_of(&body, &rights);
    int fds[2];

    if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != sizeof *w || !CMSG_FIRSTHDR(&m)) {
        return false;
    }
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fds);
    w->listener = fds[0];
    w->lock = fds[1];
    return true;
}

static _Noreturn void be_nursery(int fd)
{
    struct hf__warden w = {.fd = -1};

    hf__warden_forget_all(fd, fd);
    signal(SIGCHLD, SIG_IGN);
    while (receive(fd, &w)) {
        if (fork() == 0) {
            hf__warden_keep(&w);
        }
        close(w.listener);
        close(w.lock);
    }
    _exit(0);
}

/* What this program starts are other programs. Memcheck keeps a descriptor of
 * what was its output for as long as a warden lives, and who reads that would
 * wait. */
__attribute__((constructor)) static void begin(void)
{
    const char *loaded = getenv("LD_PRELOAD");
    bool is_wanted = getenv("HOLDFAST_TEST_POOL") &&
                     !(loaded && strstr(loaded, "vgpreload"));
    int ends[2];
    pid_t between;

    unsetenv("HOLDFAST_TEST_POOL");
    if (!is_wanted ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        return;
    }
    run = (struct hf__warden_life){getppid(), hf__warden_birth(getppid())};
    between = fork();
    if (between == 0) {
        if (fork() == 0) {
            be_nursery(ends[1]);
        }
        _exit(0);
    }
    waitpid(between, NULL, 0);
    close(ends[1]);
    to_nursery = ends[0];
}

/* ---- those who send */

struct hf__warden_life hf__warden_run(void)
{
    return hf__warden_lives(&run) ? run : (struct hf__warden_life){0, 0};
}

bool hf__warden_has_run(void)
{
    return hf__warden_lives(&run);
}

bool hf__warden_bear(const struct hf__warden *w)
{
    struct hf__warden theirs = *w;
    struct iovec body = {&theirs, sizeof theirs};
    union rights rights = {
        .head = {.cmsg_len = CMSG_LEN(2 * sizeof(int)),
                 .cmsg_level = SOL_SOCKET,
                 .cmsg_type = SCM_RIGHTS},
    };
    struct msghdr m = message_of(&body, &rights);
    const int fds[2] = {w->listener, w->lock};

    memcpy(CMSG_DATA(&rights.head), fds, sizeof fds);
    return to_nursery >= 0 &&
           sendmsg(to_nursery, &m, MSG_NOSIGNAL) == sizeof theirs;
}
