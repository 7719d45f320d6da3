/* SPDX-License-Identifier: MIT */
/*
 * Sealing records and telling whole ones from what a crash, a power failure
 * or a person left. What a record means is read.c's. Thread: any.
 */
#include "src/backend/file/record.h"

#include <string.h>

#define VERSION   3
#define MARGIN_US INT64_C(1000000)

static const char magic[8] = {'H', 'F', 'l', 'k', 'f', 'i', 'l', 'e'};

_Static_assert(sizeof(struct hf__file_record) <= HF__SLOT_SIZE, "one slot");
_Static_assert(sizeof(struct hf__file_slots) == HF__FILE_SIZE, "two slots");
_Static_assert(offsetof(struct hf__file_record, checksum) + 8 ==
                   sizeof(struct hf__file_record),
               "no padding behind");

/* Each step can be undone, so that no single word can change unnoticed. */
static uint64_t stir(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

/* In four lanes, which the processor stirs at once. */
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

/* Of the part that never changes, which a write can't tear. */
static bool has_head(const struct hf__file_record *r)
{
    return memcmp(r->magic, magic, sizeof magic) == 0 &&
           r->version == VERSION && r->size == sizeof *r && r->key_length > 0 &&
           r->key_length <= HF__KEY_MAX;
}

static bool is_whole(const struct hf__file_record *r, unsigned slot)
{
    return has_head(r) && (r->sequence & 1) == slot &&
           r->fence < HF__FENCE_END && r->checksum == checksum(r);
}

static bool is_unknown(const struct hf__file_record *r)
{
    return memcmp(r->magic, magic, sizeof magic) == 0 && r->version != VERSION;
}

/* The head of a slot is the same as that of the whole one beside it. */
static bool is_twin(const struct hf__file_record *torn,
                    const struct hf__file_record *whole)
{
    return memcmp(torn, whole, offsetof(struct hf__file_record, sequence)) == 0;
}

/* Whoever may write the file can have sealed any times. */
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
    if ((!a_is_whole || !b_is_whole) && !is_twin(a, b)) {
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
