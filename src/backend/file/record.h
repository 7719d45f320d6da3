/* SPDX-License-Identifier: MIT */
/*
 * The record of a lock as it stands in its file: twice, in two slots that are
 * written in turn, so that whatever becomes of a writer one of them is whole.
 * Pure but for the clock that is handed in. Thread: any.
 */
#ifndef HF_BACKEND_FILE_RECORD_H
#define HF_BACKEND_FILE_RECORD_H

#include "src/backend/backend.h"
#include "src/backend/local/ground.h"
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

/* What a file begins with; behind it is the line (line.h). */
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

#endif
