/* SPDX-License-Identifier: MIT */
/*
 * The contents of a lock's file. First its record: this file tells whole
 * records from damaged ones, which a crash, a power failure or a person left.
 * Behind it the queue: its tickets, and how they come and go. read.c interprets
 * records, compatibility.c has the rule for who may enter, and the engine
 * decides about tickets, which write.c carries out. Called by the session's
 * thread.
 */
#include "src/backend/file/file.h"

#include "src/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- records */

#define VERSION   3
#define MARGIN_US INT64_C(1000000)

static const char magic[8] = {'H', 'F', 'l', 'k', 'f', 'i', 'l', 'e'};

_Static_assert(sizeof(struct hf__file_record) <= HF__SLOT_SIZE, "one slot");
_Static_assert(sizeof(struct hf__file_slots) == HF__FILE_SIZE, "two slots");
_Static_assert(offsetof(struct hf__file_record, checksum) + 8 ==
                   sizeof(struct hf__file_record),
               "no padding behind");

/* Each step can be reversed, so that a change of a single word always changes
 * the sum. */
static uint64_t stir(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

/* Four lanes, which the processor computes at the same time. */
uint64_t hf__file_sum(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t lane[4] = {1, 2, 3, 4};
    uint64_t word[4] = {0, 0, 0, 0};
    size_t done = 0;

    HF_ASSERT(length % sizeof *word == 0);
    for (; length - done >= sizeof word; done += sizeof word) {
        memcpy(word, at + done, sizeof word);
        lane[0] = stir(lane[0], word[0]);
        lane[1] = stir(lane[1], word[1]);
        lane[2] = stir(lane[2], word[2]);
        lane[3] = stir(lane[3], word[3]);
    }
    for (; done < length; done += sizeof *word) {
        memcpy(word, at + done, sizeof *word);
        lane[0] = stir(lane[0], word[0]);
    }
    return stir(stir(stir(lane[0], lane[1]), lane[2]), lane[3]);
}

static uint64_t checksum(const struct hf__file_record *r)
{
    return hf__file_sum(r, offsetof(struct hf__file_record, checksum));
}

void hf__file_record_init(struct hf__file_record *r, const struct hf__key *key)
{
    memset(r, 0, sizeof *r);
    memcpy(r->magic, magic, sizeof magic);
    r->version = VERSION;
    r->size = sizeof *r;
    r->key_length = key->length;
    memcpy(r->key, key->bytes, key->length);
}

void hf__file_record_seal(struct hf__file_record *r)
{
    r->checksum = checksum(r);
}

static bool is_whole(const struct hf__file_record *r, unsigned slot)
{
    return memcmp(r->magic, magic, sizeof magic) == 0 &&
           r->version == VERSION && r->size == sizeof *r && r->key_length > 0 &&
           r->key_length <= HF__KEY_MAX && (r->sequence & 1) == slot &&
           r->fence < HF__FENCE_END && r->checksum == checksum(r);
}

static bool is_unknown(const struct hf__file_record *r)
{
    return memcmp(r->magic, magic, sizeof magic) == 0 && r->version != VERSION;
}

/* A user who may write the file can have sealed any times in it. */
static void bound_times(struct hf__file_record *r)
{
    r->expires_us = hf__time_bounded(r->expires_us);
    r->keep_until_us = hf__time_bounded(r->keep_until_us);
    r->keep_us = hf__time_bounded(r->keep_us);
    r->acquired_at_us = hf__time_bounded(r->acquired_at_us);
    r->freed_at_us = hf__time_bounded(r->freed_at_us);
}

enum hf__file_finding hf__file_record_pick(const struct hf__file_slots *slots,
                                           size_t length,
                                           const struct hf__key *key,
                                           struct hf__file_record *ret_record)
{
    const struct hf__file_record *a = &slots->slot[0].record;
    const struct hf__file_record *b = &slots->slot[1].record;
    const struct hf__file_record *best;
    bool a_is_whole;
    bool b_is_whole;

    if (length >= sizeof *slots && (is_unknown(a) || is_unknown(b))) {
        return HF__FOUND_UNKNOWN;
    }
    a_is_whole = length >= sizeof *slots && is_whole(a, 0);
    b_is_whole = length >= sizeof *slots && is_whole(b, 1);
    if (!a_is_whole && !b_is_whole) {
        return HF__FOUND_DAMAGED;
    }
    best = !b_is_whole || (a_is_whole && a->sequence > b->sequence) ? a : b;
    /* A write cannot tear the part that never changes: it is the same in both
     * slots. */
    if ((!a_is_whole || !b_is_whole) &&
        memcmp(a, b, offsetof(struct hf__file_record, sequence)) != 0) {
        return HF__FOUND_DAMAGED;
    }
    if (key != NULL && (best->key_length != key->length ||
                        memcmp(best->key, key->bytes, key->length) != 0)) {
        return HF__FOUND_OTHER;
    }
    *ret_record = *best;
    bound_times(ret_record);
    return a_is_whole && b_is_whole ? HF__FOUND : HF__FOUND_TORN;
}

bool hf__file_is_from_before(int64_t ctime_us, int64_t wall_us, int64_t boot_us)
{
    return ctime_us < wall_us - boot_us - MARGIN_US;
}

uint64_t hf__file_life_of(const struct hf__lockfile *lockfile,
                          struct hf__file_id side, uint64_t life)
{
    return hf__id_equal(side, lockfile->s->local.side->id) ? life : 0;
}

/* ---- the queue: where tickets are */

/* A ticket's owner, for people; in the same chunk as the ticket. */
struct waiter {
    struct hf__token token;
    struct hf__owner owner;
    uint64_t checksum; /* of everything before */
};

struct chunk {
    struct hf__file_ticket ticket[HF__WAITERS_CHUNK];
    union {
        struct waiter waiter;
        unsigned char bytes[1024];
    } of[HF__WAITERS_CHUNK];
};

_Static_assert(sizeof(struct hf__file_ticket) == 64, "none crosses a page");
_Static_assert(sizeof(struct waiter) <= 1024, "one block");
_Static_assert(offsetof(struct waiter, checksum) ==
                   sizeof(struct hf__token) + sizeof(struct hf__owner),
               "no padding that is summed");
_Static_assert(sizeof(struct chunk) % 4096 == 0, "chunks begin at a page");

static off_t chunk_at(int index)
{
    return HF__FILE_SIZE +
           (off_t)(index / HF__WAITERS_CHUNK) * (off_t)sizeof(struct chunk);
}

static off_t ticket_at(int index)
{
    return chunk_at(index) + (off_t)(index % HF__WAITERS_CHUNK) *
                                 (off_t)sizeof(struct hf__file_ticket);
}

static off_t waiter_at(int index)
{
    return chunk_at(index) + (off_t)offsetof(struct chunk, of) +
           (off_t)(index % HF__WAITERS_CHUNK) * 1024;
}

static uint64_t ticket_sum(const struct hf__file_ticket *t)
{
    return hf__file_sum(t, offsetof(struct hf__file_ticket, checksum));
}

static uint64_t waiter_sum(const struct waiter *w)
{
    return hf__file_sum(w, offsetof(struct waiter, checksum));
}

/* ---- reading the queue */

static int add(struct hf__file_waiters *waiters,
               const struct hf__file_ticket *t, int index)
{
    if (waiters->n == waiters->room) {
        int room = 2 * waiters->room + 8;
        struct hf__file_waiting *grown =
            hf__resize(waiters->list, (size_t)room * sizeof *grown);

        if (grown == NULL) {
            return HF_ENOMEM;
        }
        waiters->list = grown;
        waiters->room = room;
    }
    waiters->list[waiters->n++] = (struct hf__file_waiting){*t, index};
    return HF_OK;
}

/* An entry that is no whole ticket counts as free. */
static int add_all(struct hf__file_waiters *waiters,
                   const struct hf__file_ticket *t, int n)
{
    int r = HF_OK;

    for (int i = 0; i < n && r == HF_OK; i++) {
        if (!hf__token_is_zero(&t[i].token) &&
            t[i].checksum == ticket_sum(&t[i])) {
            r = add(waiters, &t[i], waiters->n_tickets + i);
        }
    }
    waiters->n_tickets += n;
    return r;
}

static int compare(const void *a, const void *b)
{
    const struct hf__file_waiting *x = a;
    const struct hf__file_waiting *y = b;

    if (x->ticket.number != y->ticket.number) {
        return x->ticket.number < y->ticket.number ? -1 : 1;
    }
    return x->index - y->index;
}

/* Read the chunks behind the first. If one cannot be read, only order is
 * lost. */
static int read_more(struct hf__lockfile *lockfile, off_t size)
{
    struct hf__file_ticket t[HF__WAITERS_CHUNK];
    int r = HF_OK;

    while (r == HF_OK && lockfile->waiters.n_tickets < HF__WAITERS_MAX &&
           ticket_at(lockfile->waiters.n_tickets) < size) {
        ssize_t length = pread(lockfile->fd, t, sizeof t,
                               ticket_at(lockfile->waiters.n_tickets));

        if (length <= 0) {
            return HF_OK;
        }
        r = add_all(&lockfile->waiters, t, (int)((size_t)length / sizeof *t));
        if (length < (ssize_t)sizeof t) {
            return r;
        }
    }
    return r;
}

int hf__file_waiters_read(struct hf__lockfile *lockfile,
                          const struct hf__file_contents *all, size_t length)
{
    struct hf__file_waiters *waiters = &lockfile->waiters;
    struct stat st;
    int r;

    waiters->n = 0;
    waiters->n_tickets = 0;
    if (length <= sizeof all->slots) {
        return HF_OK;
    }
    r = add_all(waiters, all->ticket,
                (int)((length - sizeof all->slots) / sizeof *all->ticket));
    /* The file may have grown since it was opened. Its size is not asked for if
     * the first chunk has no tickets and there was no second one. */
    if (r == HF_OK && waiters->n_tickets == HF__WAITERS_CHUNK &&
        (waiters->n > 0 || lockfile->size > ticket_at(HF__WAITERS_CHUNK)) &&
        fstat(lockfile->fd, &st) == 0) {
        r = read_more(lockfile, st.st_size);
    }
    if (waiters->n > 1) {
        qsort(waiters->list, (size_t)waiters->n, sizeof *waiters->list,
              compare);
    }
    return r;
}

/* ---- coming and going */

static int find(const struct hf__file_waiters *waiters,
                const struct hf__token *token)
{
    for (int i = 0; i < waiters->n; i++) {
        if (hf__token_equal(&waiters->list[i].ticket.token, token)) {
            return i;
        }
    }
    return -1;
}

void hf__file_waiters_leave(struct hf__lockfile *lockfile,
                            const struct hf__token *token)
{
    static const struct hf__file_ticket nobody;
    struct hf__file_waiters *waiters = &lockfile->waiters;
    int i = find(waiters, token);

    if (i < 0) {
        return;
    }
    /* If this write fails, the ticket is soon passed over, and removed then. */
    (void)!pwrite(lockfile->fd, &nobody, sizeof nobody,
                  ticket_at(waiters->list[i].index));
    waiters->n--;
    memmove(&waiters->list[i], &waiters->list[i + 1],
            (size_t)(waiters->n - i) * sizeof *waiters->list);
    if (waiters->n == 0 && waiters->n_tickets > HF__WAITERS_CHUNK &&
        ftruncate(lockfile->fd, HF__FILE_SIZE) == 0) {
        waiters->n_tickets = 0;
    }
}

/* The lowest free entry; −1: there is none. */
static int free_index(const struct hf__file_waiters *waiters)
{
    unsigned char taken[HF__WAITERS_MAX / 8] = {0};

    for (int i = 0; i < waiters->n; i++) {
        int index = waiters->list[i].index;

        taken[index / 8] |= (unsigned char)(1u << index % 8);
    }
    for (int index = 0; index < HF__WAITERS_MAX; index++) {
        if ((taken[index / 8] & 1u << index % 8) == 0) {
            return index;
        }
    }
    return -1;
}

bool hf__file_waiters_join(struct hf__lockfile *lockfile,
                           const struct hf__participant *one)
{
    struct hf__file_waiters *waiters = &lockfile->waiters;
    struct hf__file_ticket t = {.token = one->token,
                                .number = 1,
                                .life = one->life,
                                .side = lockfile->s->local.side->id,
                                .since_us = one->since_us};
    struct waiter w = {.token = one->token, .owner = one->owner};
    int index = free_index(waiters);

    if (index < 0) {
        return false;
    }
    if (waiters->n > 0) {
        t.number = waiters->list[waiters->n - 1].ticket.number + 1;
    }
    t.checksum = ticket_sum(&t);
    hf__local_show(lockfile->s, one);
    /* The owner is only for people: if the write fails, the ticket has no
     * name. */
    w.checksum = waiter_sum(&w);
    (void)!pwrite(lockfile->fd, &w, sizeof w, waiter_at(index));
    return pwrite(lockfile->fd, &t, sizeof t, ticket_at(index)) ==
           (ssize_t)sizeof t;
}

/* ---- judging and copying tickets */

static bool read_waiter(const struct hf__lockfile *lockfile,
                        const struct hf__file_waiting *one, struct waiter *w)
{
    return pread(lockfile->fd, w, sizeof *w, waiter_at(one->index)) ==
               (ssize_t)sizeof *w &&
           w->checksum == waiter_sum(w) &&
           hf__token_equal(&w->token, &one->ticket.token);
}

void hf__file_waiters_copy(const struct hf__lockfile *lockfile, int fd)
{
    for (int i = 0; i < lockfile->waiters.n; i++) {
        const struct hf__file_waiting *one = &lockfile->waiters.list[i];
        const struct hf__file_ticket t = one->ticket;
        struct waiter w;

        if (read_waiter(lockfile, one, &w)) {
            (void)!pwrite(fd, &w, sizeof w, waiter_at(i));
        }
        (void)!pwrite(fd, &t, sizeof t, ticket_at(i));
    }
}

/* Locks here are exclusive, so beside the operation's own tickets only the next
 * in the queue matters. */
int hf__file_waiters_judge(const struct hf__lockfile *lockfile,
                           const struct hf__op *op, struct hf__name *name)
{
    bool is_all = op == NULL || op->ret_participants != NULL ||
                  lockfile->waiters.n >= HF__WAITERS_MAX;

    for (int i = 0; i < lockfile->waiters.n; i++) {
        const struct hf__file_waiting *one = &lockfile->waiters.list[i];
        const struct hf__file_ticket *ticket = &one->ticket;
        struct hf__participant *t = NULL;
        struct waiter w;

        if (!is_all && !hf__token_equal(&ticket->token, &op->token) &&
            !hf__token_equal(&ticket->token, &op->next_token) &&
            hf__name_waiting(name, op) > 0) {
            continue;
        }
        t = hf__participants_add(&name->waiters, -1);
        if (t == NULL) {
            return HF_ENOMEM;
        }
        t->token = ticket->token;
        t->since_us = ticket->since_us;
        t->seen_us = INT64_MIN; /* only its time last seen counts */
        t->life = hf__file_life_of(lockfile, ticket->side, ticket->life);
        hf__local_ticket_state(&lockfile->s->local, name->now_us, t);
        if (op != NULL && op->ret_participants != NULL &&
            read_waiter(lockfile, one, &w)) {
            hf__local_read_owner(&w.owner, &t->owner);
        }
    }
    return HF_OK;
}
