/* SPDX-License-Identifier: MIT */
/*
 * A peer is a forked process at the other end of a socket: a command comes,
 * the call is made, its answer goes back. When the test's end of the socket
 * is closed, by whatever end of the test, the peer ends too.
 */
#include "tests/contract/peer.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum verb { ACQUIRE, RELEASE, DETACH, ASK, SPAWN, FORK, FDS, CLOSE };
enum { FDS_MAX = 8 };

struct command {
    enum verb verb;
    char name[HF_NAME_MAX + 1];
    hf_acquire_opts opts; /* its strings stay behind */
};

struct answer {
    int status;
    int held;
    uint64_t fence;
    hf_reason reason;
    pid_t pid;
    char token[33];
};

struct peer {
    pid_t pid;
    int socket;
    struct answer last;
};

/* ---- in the peer */

static pid_t spawn_program(void)
{
    char name[] = "sleep";
    char seconds[] = "60";
    char *argv[] = {name, seconds, NULL};
    char *none[] = {NULL};
    pid_t pid = -1;

    EXPECT_IS(posix_spawnp(&pid, name, NULL, NULL, argv, none), 0);
    return pid;
}

static pid_t fork_copy(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    return pid;
}

static struct answer obey(hf_client *client, hf_lock **lock,
                          const struct command *c)
{
    struct answer a = {.status = HF_OK};

    switch (c->verb) {
    case ACQUIRE:
        hf_free(*lock);
        *lock = NULL;
        a.status = hf_acquire(client, c->name, &c->opts, lock, NULL);
        break;
    case RELEASE:
        a.status = hf_release(*lock, NULL);
        break;
    case DETACH:
        a.status = hf_detach(*lock, NULL);
        break;
    case SPAWN:
        a.pid = spawn_program();
        break;
    case FORK:
        a.pid = fork_copy();
        break;
    case ASK:
    case FDS:
    case CLOSE:
        break;
    }
    a.held = hf_held(*lock);
    if (*lock) {
        a.fence = hf_fence(*lock);
        a.reason = hf_lost_reason(*lock);
        snprintf(a.token, sizeof a.token, "%s", hf_token(*lock));
    }
    return a;
}

/* The answer, and with it the lock's descriptors if it has any. */
static void send_fds(int socket, const hf_lock *lock, struct answer *a)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {0};
    int fds[FDS_MAX];
    int n = hf_lock_fds(lock, fds, FDS_MAX);
    size_t size = n > 0 ? (size_t)n * sizeof(int) : 0;
    struct iovec part = {a, sizeof *a};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    a->status = n;
    if (size > 0) {
        message.msg_control = &control;
        message.msg_controllen = (socklen_t)CMSG_SPACE(size);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = (socklen_t)CMSG_LEN(size);
        memcpy(CMSG_DATA(&control.head), fds, size);
    }
    EXPECT_IS(sendmsg(socket, &message, MSG_NOSIGNAL), sizeof *a);
}

static _Noreturn void be_peer(int socket)
{
    hf_client *client = open_store();
    hf_lock *lock = NULL;
    struct command c = {.verb = ASK};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (recv(socket, &c, sizeof c, 0) == (ssize_t)sizeof c &&
           c.verb != CLOSE) {
        struct answer a = obey(client, &lock, &c);

        if (c.verb == FDS) {
            send_fds(socket, lock, &a);
        } else {
            EXPECT_IS(send(socket, &a, sizeof a, MSG_NOSIGNAL), sizeof a);
        }
    }
    hf_free(lock);
    hf_close(client);
    _exit(c.verb == CLOSE ? 0 : 1);
}

/* ---- in the test */

struct peer *start_peer(void)
{
    struct peer *p = calloc(1, sizeof *p);
    int ends[2];

    EXPECT(p);
    EXPECT_IS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    p->pid = fork();
    EXPECT(p->pid >= 0);
    if (p->pid == 0) {
        close(ends[0]);
        be_peer(ends[1]);
    }
    close(ends[1]);
    p->socket = ends[0];
    return p;
}

static void forget(struct peer *p)
{
    close(p->socket);
    free(p);
}

static void tell(struct peer *p, const struct command *c)
{
    EXPECT_IS(send(p->socket, c, sizeof *c, MSG_NOSIGNAL), sizeof *c);
}

static void hear(struct peer *p)
{
    EXPECT_IS(recv(p->socket, &p->last, sizeof p->last, 0), sizeof p->last);
}

static void do_now(struct peer *p, enum verb verb)
{
    struct command c = {.verb = verb};

    tell(p, &c);
    hear(p);
}

void end_peer(struct peer *p)
{
    struct command c = {.verb = CLOSE};

    tell(p, &c);
    end_crew(p->pid);
    forget(p);
}

void kill_peer(struct peer *p)
{
    kill_crew(p->pid);
    forget(p);
}

void stop_peer(struct peer *p)
{
    int status = 0;

    /* Who is stopped while it opens the store lets nobody else open it. */
    await_rest(p->pid);
    EXPECT_IS(kill(p->pid, SIGSTOP), 0);
    EXPECT_IS(waitpid(p->pid, &status, WUNTRACED), p->pid);
    EXPECT(WIFSTOPPED(status));
}

void continue_peer(struct peer *p)
{
    EXPECT_IS(kill(p->pid, SIGCONT), 0);
}

void peer_begin_acquire_as(struct peer *p, const char *name,
                           const hf_acquire_opts *opts)
{
    struct command c = {.verb = ACQUIRE, .opts = *opts};

    snprintf(c.name, sizeof c.name, "%s", name);
    tell(p, &c);
}

void peer_begin_acquire(struct peer *p, const char *name, int64_t wait_ms,
                        int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(wait_ms, lease_ms);

    peer_begin_acquire_as(p, name, &opts);
}

int peer_finish(struct peer *p)
{
    hear(p);
    return p->last.status;
}

int peer_acquire(struct peer *p, const char *name, int64_t wait_ms,
                 int64_t lease_ms)
{
    peer_begin_acquire(p, name, wait_ms, lease_ms);
    return peer_finish(p);
}

int peer_acquire_as(struct peer *p, const char *name,
                    const hf_acquire_opts *opts)
{
    peer_begin_acquire_as(p, name, opts);
    return peer_finish(p);
}

pid_t peer_pid(struct peer *p)
{
    return p->pid;
}

int peer_detach(struct peer *p)
{
    do_now(p, DETACH);
    return p->last.status;
}

const char *peer_token(struct peer *p)
{
    return p->last.token;
}

int peer_release(struct peer *p)
{
    do_now(p, RELEASE);
    return p->last.status;
}

bool peer_holds(struct peer *p)
{
    do_now(p, ASK);
    return p->last.held;
}

uint64_t peer_fence(struct peer *p)
{
    return p->last.fence;
}

hf_reason peer_lost_reason(struct peer *p)
{
    do_now(p, ASK);
    return p->last.reason;
}

void peer_begin_ask(struct peer *p)
{
    struct command c = {.verb = ASK};

    tell(p, &c);
}

bool peer_answer(struct peer *p)
{
    hear(p);
    return p->last.held;
}

int peer_lock_fds(struct peer *p, int fds[8])
{
    struct command c = {.verb = FDS};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {0};
    struct iovec part = {&p->last, sizeof p->last};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};

    tell(p, &c);
    EXPECT_IS(recvmsg(p->socket, &message, MSG_CMSG_CLOEXEC), sizeof p->last);
    EXPECT(p->last.status >= 0 && p->last.status <= FDS_MAX);
    memcpy(fds, CMSG_DATA(&control.head), (size_t)p->last.status * sizeof(int));
    return p->last.status;
}

pid_t peer_spawns_program(struct peer *p)
{
    do_now(p, SPAWN);
    EXPECT_MORE(p->last.pid, 0);
    return p->last.pid;
}

pid_t peer_forks(struct peer *p)
{
    do_now(p, FORK);
    EXPECT_MORE(p->last.pid, 0);
    return p->last.pid;
}

void *shared_page(size_t size)
{
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(page != MAP_FAILED);
    return page;
}

pid_t start_crew(void (*fn)(int number), int number)
{
    pid_t pid;

    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fn(number);
        _exit(0);
    }
    return pid;
}

void end_crew(pid_t pid)
{
    EXPECT_IS(hf__test_exit_code(pid), 0);
}

void kill_crew(pid_t pid)
{
    int status = 0;

    EXPECT_IS(kill(pid, SIGKILL), 0);
    EXPECT_IS(waitpid(pid, &status, 0), pid);
}
