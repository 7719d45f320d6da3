/* SPDX-License-Identifier: MIT */
/*
 * The system's calls of sockets, put in their place by the linker: a socket is
 * a connection of the made quorum, and what is sent on it has a fate.
 */
#include "tests/sim/made.h"

#include "src/base/fork.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS = 1024, LATE_MOST_S = 40 };

static struct hf__wire *by_fd[FDS];

static struct hf__wire *wire_of(int fd)
{
    struct hf__wire *w = fd >= 0 && fd < FDS ? by_fd[fd] : NULL;

    if (w == NULL) {
        hf__flaw("descriptor %d is no socket", fd);
    }
    return w;
}

int __wrap_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol)
{
    struct hf__wire *w = calloc(1, sizeof *w);

    (void)family;
    (void)type;
    (void)protocol;
    if (w == NULL) {
        abort();
    }
    w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->fd < 0 || w->fd >= FDS) {
        abort();
    }
    w->host = hf__virtual_host();
    w->is_closed = true; /* and not yet open */
    hf__wires_add(w);
    by_fd[w->fd] = w;
    return w->fd;
}

/* A port is a member. */
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    struct hf__wire *w = wire_of(fd);
    struct sockaddr_in address;

    memcpy(&address, to, length < sizeof address ? length : sizeof address);
    w->member = ntohs(address.sin_port) - HF__MADE_PORT;
    w->is_closed = false;
    w->life = hf__member_life(w->member);
    if (hf__wires_is_cut(w)) {
        w->is_lost[0] = w->is_lost[1] = true;
    } else if (!hf__member_is_up(w->member)) {
        if (hf__chance(700)) {
            errno = ECONNREFUSED;
            return -1;
        }
        w->is_lost[0] = w->is_lost[1] = true;
    } else {
        w->id = hf__member_connect(w->member);
    }
    return 0;
}

static enum hf__fault draw_fate(void)
{
    static const enum hf__fault fates[] = {
        HF__FAULT_LOSE_REQUEST, HF__FAULT_LOSE_REPLY, HF__FAULT_LATE,
        HF__FAULT_PART,         HF__FAULT_DIE,        HF__FAULT_SLOW,
        HF__FAULT_AGAIN};
    enum hf__fault f =
        fates[hf__between(0, (int)(sizeof fates / sizeof *fates) - 1)];

    return hf__true_now() < hf__scene.plan.heal_ns && hf__has(f) &&
                   hf__chance(hf__scene.plan.permille)
               ? f
               : HF__FAULTS;
}

static int64_t lateness(void)
{
    int64_t most = 2 * hf__scene.plan.lease_ms * HF__MS_NS;

    return hf__between(1, most < LATE_MOST_S * 1000 * HF__MS_NS
                              ? most
                              : LATE_MOST_S * 1000 * HF__MS_NS);
}

static ssize_t refuse(void)
{
    errno = ECONNRESET;
    return -1;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
    struct hf__wire *w = wire_of(fd);
    enum hf__fault fate = draw_fate();
    size_t comes = n;
    int64_t late = 0;

    (void)flags;
    if (w->is_reset) {
        return refuse();
    }
    if (fate != HF__FAULTS) {
        hf__note("to member %d: %s", w->member, hf__scene_fault(fate));
    }
    switch ((int)fate) {
    case HF__FAULT_DIE:
        w->is_reset = true;
        w->is_lost[0] = w->is_lost[1] = true;
        hf__wire_ring(w);
        return refuse();
    case HF__FAULT_LOSE_REQUEST:
        hf__scene.tally->requests_lost++;
        hf__wires_lose(w);
        break;
    case HF__FAULT_LOSE_REPLY:
        hf__scene.tally->replies_lost++;
        break;
    case HF__FAULT_PART:
        comes = (size_t)hf__between(0, (int64_t)n);
        break;
    case HF__FAULT_LATE:
        hf__scene.tally->late++;
        late = lateness();
        break;
    default:
        break;
    }
    hf__wires_send(w, fate, bytes, comes, late);
    if (fate == HF__FAULT_PART) {
        hf__wires_lose(w);
    }
    return (ssize_t)n;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags)
{
    struct hf__wire *w = wire_of(fd);
    size_t left = w->told.length - w->taken;
    bool is_all = n >= left;
    uint64_t seen;

    (void)flags;
    n = is_all ? left : n;
    if (n > 0) {
        memcpy(bytes, w->told.at + w->taken, n);
        w->taken += n;
    }
    if (is_all) {
        w->taken = w->told.length = 0;
    }
    if (is_all && !w->is_reset) {
        (void)!read(fd, &seen, sizeof seen);
    }
    if (n > 0) {
        return (ssize_t)n;
    }
    errno = EAGAIN;
    return w->is_reset ? 0 : -1;
}

void __real_hf__fd_close(int fd);
void __wrap_hf__fd_close(int fd);
void __wrap_hf__fd_close(int fd)
{
    if (fd >= 0 && fd < FDS && by_fd[fd] != NULL) {
        by_fd[fd]->is_closed = true;
        by_fd[fd] = NULL;
    }
    __real_hf__fd_close(fd);
}
