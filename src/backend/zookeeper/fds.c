/* SPDX-License-Identifier: MIT */
/*
 * Programs that the application runs would inherit the library's descriptors:
 * its socket, which would keep the connection half alive, and its pipe. Here
 * they are told from others by /proc/self/fd, and set to close on exec. A
 * descriptor that can't be told surely is left as it is, for it may be the
 * application's. They are not closed in forked children, as ours are: the
 * library may close one at any time, and its number may then be another's. A
 * duplicate of the socket is ours: we can end the connection through it,
 * whatever the library does with its own at that moment. Called by the thread
 * that makes a handle, the library's, and the references'.
 */
#include "src/backend/zookeeper/fds.h"

#include "src/base/alloc.h"
#include "src/base/fork.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/tcp.h> /* the C library's header has fewer fields */
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*each_fd)(int fd, void *arg);

static void for_each_fd(each_fd fn, void *arg)
{
    DIR *folder = opendir("/proc/self/fd");

    if (folder == NULL) {
        return;
    }
    /* NOLINTBEGIN(concurrency-mt-unsafe): no other thread reads this folder */
    for (struct dirent *it = readdir(folder); it != NULL;
         it = readdir(folder)) {
        /* NOLINTEND(concurrency-mt-unsafe) */
        char *end = NULL;
        long fd = strtol(it->d_name, &end, 10);

        if (*end == '\0' && end != it->d_name && fd != dirfd(folder)) {
            fn((int)fd, arg);
        }
    }
    closedir(folder);
}

static bool is_left_open(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

static void keep(int fd)
{
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Names the descriptor without touching it, for it may be any thread's:
 * "pipe:[12345]". */
static void name_of(int fd, char to[32])
{
    char path[48];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, to, 31);
    to[length < 0 ? 0 : length] = '\0';
}

/* ---- the pipe */

/* The pipe's number in the kernel, which no other pipe has while it is open; a
 * descriptor's number may have been another's a moment ago. 0: it is no
 * pipe. */
static uint64_t pipe_of(int fd)
{
    char name[32];

    name_of(fd, name);
    return strncmp(name, "pipe:[", 6) == 0 ? strtoull(name + 6, NULL, 10) : 0;
}

static void note_one(int fd, void *arg)
{
    struct hf__zk_fds *fds = arg;
    uint64_t pipe = pipe_of(fd);

    if (pipe == 0) {
        return;
    }
    if (fds->n == fds->room) {
        size_t room = 2 * fds->room + 16;
        uint64_t *grown = hf__resize(fds->pipes, room * sizeof *grown);

        fds->is_whole = fds->is_whole && grown != NULL;
        if (grown == NULL) {
            return;
        }
        fds->pipes = grown;
        fds->room = room;
    }
    fds->pipes[fds->n++] = pipe;
}

void hf__zk_fds_note(struct hf__zk_fds *fds)
{
    *fds = (struct hf__zk_fds){.is_whole = true};
    for_each_fd(note_one, fds);
}

void hf__zk_fds_free(struct hf__zk_fds *fds)
{
    hf__free(fds->pipes);
}

static bool was_seen(const struct hf__zk_fds *fds, uint64_t pipe)
{
    for (size_t i = 0; i < fds->n; i++) {
        if (fds->pipes[i] == pipe) {
            return true;
        }
    }
    return !fds->is_whole;
}

/* Ends of a pipe that is new, non-blocking, and would be inherited. */
struct pipes {
    const struct hf__zk_fds *before;
    int fds[2];
    uint64_t pipe; /* the pipe of these ends */
    int n;         /* 3: another thread made a pipe meanwhile */
};

static void look_for_pipe(int fd, void *arg)
{
    struct pipes *pipes = arg;
    uint64_t pipe = pipe_of(fd);

    if (pipe == 0 || !is_left_open(fd) ||
        (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 ||
        was_seen(pipes->before, pipe)) {
        return;
    }
    if (pipes->n < 2 && (pipes->n == 0 || pipe == pipes->pipe)) {
        pipes->fds[pipes->n++] = fd;
        pipes->pipe = pipe;
        return;
    }
    pipes->n = 3;
}

void hf__zk_fds_keep_pipe(const struct hf__zk_fds *before)
{
    struct pipes pipes = {.before = before};

    for_each_fd(look_for_pipe, &pipes);
    if (pipes.n == 2) {
        keep(pipes.fds[0]);
        keep(pipes.fds[1]);
    }
}

/* ---- the socket */

bool hf__zk_is_listed(const char *addresses, const struct sockaddr *server,
                      socklen_t length)
{
    char host[64];
    char port[16];
    char address[96];

    if (getnameinfo(server, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return false;
    }
    int size = snprintf(address, sizeof address, "%s:%s", host, port);
    for (const char *it = strstr(addresses, address); it != NULL;
         it = strstr(it + 1, address)) {
        if ((it == addresses || it[-1] == ',') &&
            (it[size] == ',' || it[size] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The library's socket is inheritable and non-blocking. */
static bool may_be_its_socket(int fd)
{
    char name[32];

    name_of(fd, name);
    return strncmp(name, "socket:", 7) == 0 && is_left_open(fd) &&
           (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

#define ESTABLISHED 1 /* the kernel's number of that state */

/* Reads the kernel's data of an established connection. False: it is none, or
 * the kernel can't tell. */
static bool describe(int fd, struct tcp_info *info)
{
    socklen_t size = sizeof *info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 &&
           size >= offsetof(struct tcp_info, tcpi_bytes_received) +
                       sizeof info->tcpi_bytes_received &&
           info->tcpi_state == ESTABLISHED;
}

struct peer {
    const struct sockaddr *server;
    socklen_t size;
    int last; /* the last one found */
    int n;
};

/* A connection to that port of that server that has received bytes is a session
 * with it. One that has received none may belong to another session that is
 * about to be let in. */
static bool is_session_with(int fd, const struct peer *peer)
{
    struct sockaddr_storage found = {0};
    socklen_t size = sizeof found;
    struct tcp_info info;

    return getpeername(fd, (struct sockaddr *)&found, &size) == 0 &&
           size == peer->size && memcmp(&found, peer->server, size) == 0 &&
           describe(fd, &info) && info.tcpi_bytes_received > 0;
}

static void keep_if_to(int fd, void *arg)
{
    struct peer *peer = arg;

    if (may_be_its_socket(fd) && is_session_with(fd, peer)) {
        keep(fd);
        peer->last = fd;
        peer->n++;
    }
}

int hf__zk_fds_keep_socket(const struct sockaddr *server, socklen_t size)
{
    struct peer peer = {server, size, -1, 0};

    for_each_fd(keep_if_to, &peer);
    int fd = peer.n == 1 ? fcntl(peer.last, F_DUPFD_CLOEXEC, 3) : -1;
    /* The library may have closed its socket, and the number may be
     * another's. */
    if (fd >= 0 &&
        (!is_session_with(fd, &peer) || hf__fd_register(fd) != HF_OK)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- one that nobody answers */

/* When, in the current outage, the first unanswered connections were ended. */
static atomic_llong ended_ns;

/* Two ticks of the slowest kernel, which counts a connection's age in ticks. */
#define TICKS_MS 20

struct unheard {
    const char *addresses;
    int64_t for_ns;
    hf__time since;
    int n;
};

/* Has the connection waited long enough? One that was made after the first were
 * ended is left alone, for the server may be slow; unless that was before this
 * outage. */
static bool has_had_its_time(int64_t age_ns, const struct unheard *what)
{
    int64_t first_ns = atomic_load(&ended_ns);

    return age_ns >= what->for_ns &&
           (first_ns < what->since.ns ||
            hf__now().ns - age_ns < first_ns - TICKS_MS * HF__MS);
}

/* A live session would have received bytes, so ending this connection is
 * harmless, whoever's it is. */
static bool is_unheard(int fd, const struct unheard *what)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    struct tcp_info info;

    return describe(fd, &info) && info.tcpi_bytes_received == 0 &&
           has_had_its_time(info.tcpi_last_ack_recv * HF__MS, what) &&
           getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
           hf__zk_is_listed(what->addresses, (struct sockaddr *)&peer, size);
}

/* The descriptor's number may become another's at any time; that of a duplicate
 * is ours. */
static void end_if_unheard(int fd, void *arg)
{
    struct unheard *what = arg;
    int own = may_be_its_socket(fd) && is_unheard(fd, what)
                  ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
                  : -1;

    if (own < 0) {
        return;
    }
    if (is_unheard(own, what) && shutdown(own, SHUT_RDWR) == 0) {
        what->n++;
    }
    close(own);
}

bool hf__zk_fds_end_unheard(const char *addresses, int64_t for_ns,
                            hf__time since)
{
    struct unheard what = {addresses, for_ns, since, 0};

    hf__fork_forbid();        /* a child would keep the duplicate */
    hf__time now = hf__now(); /* taken before the library can connect again */
    for_each_fd(end_if_unheard, &what);
    if (what.n > 0 && atomic_load(&ended_ns) < since.ns) {
        atomic_store(&ended_ns, now.ns);
    }
    hf__fork_allow();
    return what.n > 0;
}
