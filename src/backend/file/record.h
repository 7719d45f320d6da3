/* SPDX-License-Identifier: MIT */
/*
 * The contents of a lock's file. The record is kept twice, in two slots that
 * are written in turn, so that one of them is whole whatever happens to a
 * writer. Behind it is the queue: a ticket for each waiter, in order of
 * arrival, read together with the record, so that a name without a queue costs
 * nothing for it.
 *
 * Only a session that has the file locked changes the queue. A grant never
 * rests on a ticket, which only keeps others out while its owner waits. So if a
 * killed writer, a full disk or a person damages the queue, that costs the
 * order, or its owner another try, and nothing else. Thread: records any, the
 * queue the session's.
 */
#ifndef HF_BACKEND_FILE_RECORD_H
#define HF_BACKEND_FILE_RECORD_H

#include "src/backend/backend.h"
#include "src/backend/local/dir.h"
#include "src/backend/name/name.h"
#include "src/base/boot.h"

#define HF__SLOT_SIZE 2048
#define HF__FILE_SIZE (2 * HF__SLOT_SIZE)

/* In the machine's byte order, which is the same on all machines that we
 * support. */
struct hf__file_record {
    char magic[8];
    uint32_t version;
    uint32_t size;
    uint64_t key_length;
    char key[HF__KEY_MAX];
    /* The fields above never change. */
    uint64_t sequence; /* the higher one counts; its last bit is the slot */
    uint64_t fence;    /* 0: never granted */
    uint64_t broken;   /* fence of the last grant that was broken */
    int64_t expires_us;
    int64_t keep_until_us;
    int64_t keep_us;
    int64_t acquired_at_us; /* wall clock, as all that end in _at_us */
    int64_t freed_at_us;
    struct hf__file_id side; /* in which the life is locked */
    uint64_t life;           /* of the holder's process; 0: not bound to one */
    struct hf__token token;  /* zero: nobody holds it */
    char boot[HF__BOOT_SIZE];
    struct hf__owner owner; /* as written: see hf__local_read_owner() */
    uint64_t checksum;      /* of everything before */
};

/* The start of a file; the queue is behind it. */
struct hf__file_slots {
    union {
        struct hf__file_record record;
        unsigned char bytes[HF__SLOT_SIZE];
    } slot[2];
};

enum hf__file_finding {
    HF__FOUND,      /* a whole record */
    HF__FOUND_TORN, /* one whole record; the other slot is not */
    HF__FOUND_DAMAGED,
    HF__FOUND_UNKNOWN, /* another version's */
    HF__FOUND_OTHER    /* another key's: a copy, or the same hash */
};

/* Make a blank record, as of a name never granted. */
void hf__file_record_init(struct hf__file_record *, const struct hf__key *);
void hf__file_record_seal(struct hf__file_record *);
/* A checksum of `length` bytes, a multiple of eight. */
uint64_t hf__file_sum(const void *bytes, size_t length);
/* Choose the record that counts. `length` bytes were read, of the slots and
 * what is behind them. key may be NULL: accept any. */
enum hf__file_finding hf__file_record_pick(const struct hf__file_slots *,
                                           size_t length,
                                           const struct hf__key *key,
                                           struct hf__file_record *ret_record);

/* Is the file's last change, at ctime_us, older than the machine's last start?
 * Both clocks are read now. */
bool hf__file_is_from_before(int64_t ctime_us, int64_t wall_us,
                             int64_t boot_us);

/* ---- the queue */

/* Tickets in one chunk of the file. Those of the first chunk are read with the
 * record. */
#define HF__WAITERS_CHUNK 64
/* A queue has this many tickets at most; later waiters wait without one. */
#define HF__WAITERS_MAX 4096

/* In the machine's byte order. Written in one call, within a page. */
struct hf__file_ticket {
    struct hf__token token; /* zero: the entry is free */
    uint64_t number;        /* of arrival; the lowest is first */
    uint64_t life;          /* of the process, in this side file: */
    struct hf__file_id side;
    int64_t since_us;  /* wall clock */
    uint64_t checksum; /* of everything before */
};

/* What is read in one call: a record, and the tickets of the first chunk. */
struct hf__file_contents {
    struct hf__file_slots slots;
    struct hf__file_ticket ticket[HF__WAITERS_CHUNK];
};

/* A ticket as read, and its position in the file. */
struct hf__file_waiting {
    struct hf__file_ticket ticket;
    int index;
};

/* All zero is empty. */
struct hf__file_waiters {
    struct hf__file_waiting *list; /* sorted by number */
    int n;
    int room;
    int n_tickets; /* entries in the file, also free ones */
};

struct hf__lockfile;

/* The life, or 0 if it is one of another side file. */
uint64_t hf__file_life_of(const struct hf__lockfile *lockfile,
                          struct hf__file_id side, uint64_t life);

/* Take the tickets that were read with the record, `length` bytes in all, and
 * read the rest. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__file_waiters_read(struct hf__lockfile *,
                                        const struct hf__file_contents *,
                                        size_t length);

/* Add the tickets that the operation needs (NULL: all) to the name, in order
 * and with their present states. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__file_waiters_judge(const struct hf__lockfile *,
                                         const struct hf__op *,
                                         struct hf__name *);

/* With the file locked. Join: false if there is no room for the ticket. Leave:
 * harmless if there is no such ticket. */
bool hf__file_waiters_join(struct hf__lockfile *,
                           const struct hf__participant *);
void hf__file_waiters_leave(struct hf__lockfile *, const struct hf__token *);
/* Copy the queue into the file that will replace this one; a failed write only
 * costs order. */
void hf__file_waiters_copy(const struct hf__lockfile *, int fd);

#endif
