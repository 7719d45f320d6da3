/* SPDX-License-Identifier: MIT */
/*
 * The connections of a made quorum, in the place of the system's sockets: what
 * is sent arrives later, in its order, or only a part of it, or never, with a
 * word to its sender or without; and also after who sent it has hung up.
 */
#include "tests/sim/made.h"

#include "tests/virtual/turns.h"

#include <string.h>
#include <unistd.h>

enum { OUT = 0, BACK = 1, PARCELS = 4096 };

/* Bytes on their way. */
struct parcel {
    int64_t due;
    uint64_t order; /* 0: none is here */
    struct hf__wire *wire;
    int way;
    bool is_end; /* the connection's */
    enum hf__fault fate;
    struct hf__reply bytes;
};

static struct hf__wire *wires;
static struct parcel parcels[PARCELS];
static int n_parcels; /* all beyond are none */
static uint64_t order;
static int64_t next_due = HF__VIRTUAL_NEVER;
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

static struct parcel *find_room(void)
{
    int i = 0;

    while (i < n_parcels && parcels[i].order != 0) {
        i++;
    }
    if (i == PARCELS) {
        hf__flaw("more is on its way than there is room for");
    }
    n_parcels = i == n_parcels ? i + 1 : n_parcels;
    return &parcels[i];
}

/* The next to arrive. NULL: none is on its way. */
static struct parcel *find_next(void)
{
    struct parcel *next = NULL;

    for (int i = 0; i < n_parcels; i++) {
        struct parcel *p = &parcels[i];

        if (p->order != 0 &&
            (next == NULL || p->due < next->due ||
             (p->due == next->due && p->order < next->order))) {
            next = p;
        }
    }
    next_due = next != NULL ? next->due : HF__VIRTUAL_NEVER;
    return next;
}

/* Who is cut off is heard afterwards, if at all. */
static void post(struct hf__wire *w, const struct parcel *like,
                 const char *bytes, size_t n, int64_t ns)
{
    int64_t due = hf__true_now() + ns;
    int64_t until = cut_until(w);
    struct hf__reply kept;
    struct parcel *p;

    if (due < until && hf__chance(500)) {
        w->is_lost[like->way] = true;
    }
    if (w->is_lost[like->way]) {
        return;
    }
    due = due > until ? due : until + 1;
    due = due > w->last[like->way] ? due : w->last[like->way];
    w->last[like->way] = due;
    p = find_room();
    kept = p->bytes;
    *p = *like;
    p->bytes = kept;
    p->bytes.length = 0;
    p->order = ++order;
    p->wire = w;
    p->due = due;
    hf__reply_add(&p->bytes, bytes, n);
    next_due = due < next_due ? due : next_due;
}

/* Its host is told, unless nothing comes through. */
static void tell_end(struct hf__wire *w)
{
    post(w, &(struct parcel){.way = BACK, .is_end = true}, "", 0, delay());
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

void hf__wires_add(struct hf__wire *w)
{
    w->next = wires;
    wires = w;
}

bool hf__wires_is_cut(const struct hf__wire *w)
{
    return hf__true_now() < cut_until(w);
}

void hf__wires_send(struct hf__wire *w, enum hf__fault fate, const char *bytes,
                    size_t n, int64_t late)
{
    post(w, &(struct parcel){.way = OUT, .fate = fate}, bytes, n,
         late > 0 ? late : delay());
}

void hf__wires_lose(struct hf__wire *w)
{
    lose(w, OUT);
}

/* ---- arrivals */

void hf__wire_ring(const struct hf__wire *w)
{
    (void)!write(w->fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void arrive(const struct parcel *p)
{
    struct hf__wire *w = p->wire;

    if (!w->is_closed) {
        w->is_reset |= p->is_end;
        hf__reply_add(&w->told, p->bytes.at, p->bytes.length);
        hf__wire_ring(w);
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
    hf__member_hear(w, p->bytes.at, p->bytes.length, p->fate == HF__FAULT_AGAIN,
                    &reply);
    if (p->fate == HF__FAULT_LOSE_REPLY) {
        lose(w, BACK);
    }
    if (!w->is_closed && reply.length > 0) {
        post(w, &(struct parcel){.way = BACK}, reply.at, reply.length,
             p->fate == HF__FAULT_SLOW ? hf__between(0, slow) : delay());
    }
}

/* Whoever gives its turn away has all brought that is due: no thread's turn is
 * needed for that, and they are most of what a schedule costs. */
static bool bring(void *data)
{
    struct hf__turns_thread *own = data;

    while (next_due <= hf__true_now()) {
        struct parcel *p = find_next();

        if (p == NULL || p->due > hf__true_now()) {
            break;
        }
        if (p->way == OUT) {
            serve(p);
        } else {
            arrive(p);
        }
        p->order = 0;
    }
    own->deadline = next_due;
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
