/* SPDX-License-Identifier: MIT */
/*
 * The connections of a made quorum, in the place of the system's sockets: what
 * is sent arrives later, in its order, or only a part of it, or never, with a
 * word to its sender or without; and also after who sent it has hung up.
 */
#include "tests/sim/made.h"

#include "src/base/fork.h"
#include "tests/virtual/turns.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS = 1024, OUT = 0, BACK = 1, LATE_MOST_S = 40 };

/* Bytes on their way. */
struct parcel {
    struct parcel *next;
    int64_t due;
    struct hf__wire *wire;
    int way;
    bool is_end; /* the connection's */
    enum hf__fault fate;
    size_t n;
    char bytes[];
};

static struct hf__wire *wires;
static struct hf__wire *by_fd[FDS];
static struct parcel *parcels; /* the next to arrive first */
static int64_t cut[HF__VIRTUAL_HOSTS][HF__MADE_MOST];

/* ---- on the way */

static int64_t cut_until(const struct hf__wire *w)
{
    int64_t all = hf__scene.cut_until[w->host];
    int64_t one = cut[w->host][w->member];

    return one > all ? one : all;
}

static int64_t delay(void)
{
    return hf__between(0, hf__scene.plan.delay_ns);
}

/* Who is cut off is heard afterwards, if at all. */
static void post(struct hf__wire *w, const struct parcel *like,
                 const char *bytes, int64_t ns)
{
    struct parcel *p = malloc(sizeof *p + like->n);
    struct parcel **at = &parcels;
    int64_t due = hf__true_now() + ns;
    int64_t until = cut_until(w);

    if (p == NULL) {
        abort();
    }
    if (due < until && hf__chance(500)) {
        w->is_lost[like->way] = true;
    }
    due = due > until ? due : until + 1;
    *p = *like;
    p->wire = w;
    p->due = due > w->last[like->way] ? due : w->last[like->way];
    memcpy(p->bytes, bytes, like->n);
    if (w->is_lost[like->way]) {
        free(p);
        return;
    }
    w->last[like->way] = p->due;
    while (*at != NULL && (*at)->due <= p->due) {
        at = &(*at)->next;
    }
    p->next = *at;
    *at = p;
}

/* Its host is told, unless nothing comes through. */
static void tell_end(struct hf__wire *w)
{
    post(w, &(struct parcel){.way = BACK, .is_end = true}, "", delay());
}

static void end(struct hf__wire *w)
{
    w->is_ended = true;
    tell_end(w);
}

/* After that nothing does, with a word or in silence. */
static void lose(struct hf__wire *w, int way)
{
    if (hf__chance(500)) {
        tell_end(w);
    }
    w->is_lost[way] = true;
}

/* ---- arrivals */

static void be_readable(const struct hf__wire *w)
{
    (void)!write(w->fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void arrive(const struct parcel *p)
{
    struct hf__wire *w = p->wire;

    if (!w->is_closed) {
        w->is_reset |= p->is_end;
        hf__reply_add(&w->told, p->bytes, p->n);
        be_readable(w);
    }
}

static void serve(const struct parcel *p)
{
    static struct hf__reply reply;
    struct hf__wire *w = p->wire;
    int64_t slow = hf__scene.plan.lease_ms * HF__MS_NS / 2;

    if (w->is_ended || !hf__member_is_up(w->member)) {
        return;
    }
    if (w->life != hf__member_life(w->member)) {
        end(w); /* the server knows of no such connection */
        return;
    }
    reply.length = 0;
    hf__member_hear(w, p->bytes, p->n, p->fate == HF__FAULT_AGAIN, &reply);
    if (p->fate == HF__FAULT_LOSE_REPLY) {
        lose(w, BACK);
    }
    if (!w->is_closed && reply.length > 0) {
        post(w, &(struct parcel){.way = BACK, .n = reply.length}, reply.at,
             p->fate == HF__FAULT_SLOW ? hf__between(0, slow) : delay());
    }
}

/* Whoever gives its turn away has all brought that is due: no thread's turn is
 * needed for that, and they are most of what a schedule costs. */
static bool bring(void *data)
{
    struct hf__turns_thread *own = data;

    while (parcels != NULL && parcels->due <= hf__true_now()) {
        struct parcel *p = parcels;

        parcels = p->next;
        if (p->way == OUT) {
            serve(p);
        } else {
            arrive(p);
        }
        free(p);
    }
    own->deadline = parcels != NULL ? parcels->due : HF__VIRTUAL_NEVER;
    return false;
}

void *hf__wires_bring(void *arg)
{
    hf__virtual_await(bring, hf__turns_self(), 0);
    hf__flaw("nothing is brought any more");
    return arg;
}

/* ---- what happens to connections */

void hf__wires_bury(int host)
{
    for (struct hf__wire *w = wires; w != NULL; w = w->next) {
        w->is_closed |= w->host == host;
    }
}

void hf__wires_end(int member)
{
    bool is_silent = hf__chance(300); /* the whole machine went */

    for (struct hf__wire *w = wires; w != NULL; w = w->next) {
        if (w->member == member && !w->is_closed && !w->is_ended &&
            !is_silent) {
            end(w);
        }
    }
}

bool hf__wires_kill(int member, uint64_t id)
{
    for (struct hf__wire *w = wires; w != NULL; w = w->next) {
        if (w->member == member && w->id == id) {
            hf__scene.tally->ghosts += !w->is_ended;
            w->is_ended = true;
            return true;
        }
    }
    return false;
}

void hf__wires_cut(int host, int member, int64_t until)
{
    cut[host][member] = until;
}

void hf__wires_heal(void)
{
    memset(cut, 0, sizeof cut);
}

/* ---- the calls of the system */

static struct hf__wire *wire_of(int fd)
{
    return fd >= 0 && fd < FDS ? by_fd[fd] : NULL;
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
    w->next = wires;
    wires = w;
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
    if (hf__true_now() < cut_until(w)) {
        w->is_lost[OUT] = w->is_lost[BACK] = true;
    } else if (!hf__member_is_up(w->member)) {
        if (hf__chance(700)) {
            errno = ECONNREFUSED;
            return -1;
        }
        w->is_lost[OUT] = w->is_lost[BACK] = true;
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
    struct parcel like = {.way = OUT, .fate = draw_fate(), .n = n};
    int64_t ns = delay();

    (void)flags;
    if (w->is_reset) {
        return refuse();
    }
    if (like.fate != HF__FAULTS) {
        hf__note("to member %d: %s", w->member, hf__scene_fault(like.fate));
    }
    switch ((int)like.fate) {
    case HF__FAULT_DIE:
        w->is_reset = true;
        w->is_lost[OUT] = w->is_lost[BACK] = true;
        be_readable(w);
        return refuse();
    case HF__FAULT_LOSE_REQUEST:
        hf__scene.tally->requests_lost++;
        lose(w, OUT);
        break;
    case HF__FAULT_LOSE_REPLY:
        hf__scene.tally->replies_lost++;
        break;
    case HF__FAULT_PART:
        like.n = (size_t)hf__between(0, (int64_t)n);
        break;
    case HF__FAULT_LATE:
        hf__scene.tally->late++;
        ns = lateness();
        break;
    default:
        break;
    }
    post(w, &like, bytes, ns);
    if (like.fate == HF__FAULT_PART) {
        lose(w, OUT);
    }
    return (ssize_t)n;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags)
{
    struct hf__wire *w = wire_of(fd);
    size_t left = w->told.length - w->taken;
    uint64_t seen;

    (void)flags;
    n = n < left ? n : left;
    if (n > 0) {
        memcpy(bytes, w->told.at + w->taken, n);
        w->taken += n;
    }
    if (n == left) {
        w->taken = w->told.length = 0;
    }
    if (n == left && !w->is_reset) {
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
    struct hf__wire *w = wire_of(fd);

    if (w != NULL) {
        w->is_closed = true;
        by_fd[fd] = NULL;
    }
    __real_hf__fd_close(fd);
}
