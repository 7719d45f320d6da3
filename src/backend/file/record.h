/* SPDX-License-Identifier: MIT */
/*
 * What stands in a lock's file. The record, twice: in two slots that are
 * written in turn, so that whatever becomes of a writer one of them is whole.
 * Behind it the queue: a ticket for each who waits, in order of arrival, read
 * together with the record, so that a name without a queue costs nothing for
 * it.
 *
 * Only who has the file locked changes the queue. A grant never rests on a
 * ticket: it only keeps others out while its owner waits. So what a killed
 * writer, a full disk or a person made of the queue costs the order, or its
 * owner's next look, and nothing else. Thread: records any, the queue the
 * session's.
 */
#ifndef HF_BACKEND_FILE_RECORD_H
#define HF_BACKEND_FILE_RECORD_H

#include "src/backend/backend.h"
#include "src/backend/local/dir.h"
#include "src/backend/name/name.h"
#include "src/base/boot.h"

#define HF__SLOT_SIZE 2048
#define HF__FILE_SIZE (2 * HF__SLOT_SIZE)

/* In the machine's byte order, which is the same on all that we run on. */
struct hf__file_record {
    char magic[8];
    uint32_t version;
    uint32_t size;
    uint64_t key_length;
    char key[HF__KEY_MAX];
    /* What is above never changes. */
    uint64_t sequence; /* the higher one counts; its last bit is the slot */
    uint64_t fence;    /* 0: never granted */
    uint64_t broken;   /* fence of the last grant that was broken */
    int64_t expires_us;
    int64_t keep_until_us;
    int64_t keep_us;
    int64_t acquired_at_us; /* wall clock, as all that end in _at */
    int64_t freed_at_us;
    struct hf__file_id side; /* in which the life is locked */
    uint64_t life;           /* of the holder's process; 0: not bound to one */
    struct hf__token token;  /* zero: nobody */
    char boot[HF__BOOT_SIZE];
    struct hf__owner owner; /* as written: see hf__local_read_owner() */
    uint64_t checksum;      /* of all before */
};

/* What a file begins with; behind it is the queue. */
struct hf__file_slots {
    union {
        struct hf__file_record record;
        unsigned char bytes[HF__SLOT_SIZE];
    } slot[2];
};

enum hf__file_finding {
    HF__FOUND,      /* a whole record */
    HF__FOUND_TORN, /* the other slot is one that somebody did not finish */
    HF__FOUND_DAMAGED,
    HF__FOUND_UNKNOWN, /* another version's */
    HF__FOUND_OTHER    /* another key's: a copy, or a hash like ours */
};

/* A record that nobody had yet. */
void hf__file_record_init(struct hf__file_record *, const struct hf__key *);
void hf__file_record_seal(struct hf__file_record *);
/* Of so many bytes, a multiple of eight. */
uint64_t hf__file_sum(const void *bytes, size_t length);
/* `length` bytes were read, of the slots and what is behind. key may be NULL:
 * any. */
enum hf__file_finding hf__file_record_pick(const struct hf__file_slots *,
                                           size_t length,
                                           const struct hf__key *key,
                                           struct hf__file_record *ret_record);

/* Was a file that changed last at ctime_us left from before the machine
 * started? Both clocks are read now. */
bool hf__file_is_from_before(int64_t ctime_us, int64_t wall_us,
                             int64_t boot_us);

/* ---- the queue */

/* Places of one piece of the file. The tickets of the first are read with the
 * record. */
#define HF__WAITERS_CHUNK 64
/* So many can stand in one queue; who comes then waits without a place. */
#define HF__WAITERS_MAX 4096

/* In the machine's byte order. Written at once, within a page. */
struct hf__file_ticket {
    struct hf__token token; /* zero: nobody's place */
    uint64_t number;        /* of arrival; the lowest is first */
    uint64_t life;          /* of the process, in this side file: */
    struct hf__file_id side;
    int64_t since_us;  /* wall clock */
    uint64_t checksum; /* of all before */
};

/* What is read at once: a record, and the tickets of the first chunk. */
struct hf__file_contents {
    struct hf__file_slots slots;
    struct hf__file_ticket ticket[HF__WAITERS_CHUNK];
};

/* One in the queue, as read. */
struct hf__file_waiting {
    struct hf__file_ticket ticket;
    int index;
};

/* All zero is empty. */
struct hf__file_waiters {
    struct hf__file_waiting *list; /* by number */
    int n;
    int room;
    int n_tickets; /* that there are in the file */
};

struct hf__lockfile;

/* The life that the file names, unless it is one of another side file: 0. */
uint64_t hf__file_life_of(const struct hf__lockfile *lockfile,
                          struct hf__file_id side, uint64_t life);

/* Take over what was read with the record, `length` bytes in all, and read
 * the rest. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__file_waiters_read(struct hf__lockfile *,
                                        const struct hf__file_contents *,
                                        size_t length);

/* Into the name, in order, as they stand now: those who matter to the
 * operation; NULL: all. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__file_waiters_judge(const struct hf__lockfile *,
                                         const struct hf__op *,
                                         struct hf__name *);

/* With the file locked. Join: false if there is no room for the ticket. Leave:
 * harmless without one. */
bool hf__file_waiters_join(struct hf__lockfile *,
                           const struct hf__participant *);
void hf__file_waiters_leave(struct hf__lockfile *, const struct hf__token *);
/* Into the file that is to take this one's place; what fails costs order. */
void hf__file_waiters_copy(const struct hf__lockfile *, int fd);

#endif
