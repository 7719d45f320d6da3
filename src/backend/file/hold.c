/* SPDX-License-Identifier: MIT */
/*
 * Until when names are held. When they come and go is write.c's to say. Called
 * by the sessions' threads.
 */
#include "src/backend/file/hold.h"

/* So much beyond the lease: who takes a name again and again writes it seldom.
 * Only a name whose file was deleted while held is free as much later. */
#define AHEAD_US INT64_C(100000)

struct board {
    struct hf__board board;
    /* By bell: no bound grant of its names has a lease beyond (boot clock);
     * often a little late. Early only where somebody was stopped with the words
     * locked: who no longer waits for that, as hf__words_lock() does not, may
     * write a time over a later one that another has just written. */
    _Alignas(8) int64_t until_us[HF__BELLS];
};

static struct hf__family sides;

/* 2: the board is as SQLite's stores have it. */
const struct hf__side_kind hf__file_side_kind = {
    .head = {.magic = {'H', 'F', 'f', 'l', 's', 'i', 'd', 'e'},
             .version = 2,
             .size = sizeof(struct board)},
    .names_have_bytes = true,
    .sides = &sides};

static size_t until_at(const struct hf__key *key)
{
    return offsetof(struct board, until_us) +
           hf__bell_index(hf__chime_of(key)) * sizeof(int64_t);
}

static int64_t until_of(const struct hf__side *side, const struct hf__key *key)
{
    int64_t until_us;

    hf__words_read(&side->words, until_at(key), &until_us, sizeof until_us);
    return until_us;
}

int hf__file_hold(struct hf__side *side, const struct hf__key *key,
                  int64_t until_us)
{
    bool is_noted = true;

    if (until_of(side, key) >= until_us) {
        return HF_OK; /* it only grows */
    }
    hf__words_lock(&side->words);
    if (until_of(side, key) < until_us) {
        until_us += AHEAD_US;
        is_noted = hf__words_write(&side->words, until_at(key), &until_us,
                                   sizeof until_us);
    }
    hf__words_unlock(&side->words);
    return is_noted ? HF_OK : HF_EUNAVAIL;
}

int64_t hf__file_held_until(struct hf__side *side, const struct hf__key *key,
                            const struct hf__token *mine, int64_t now_us)
{
    int64_t until_us = hf__held_until(&side->held, key, mine);

    if (until_us <= now_us) {
        until_us = until_of(side, key);
        /* Nothing of ours sets it later; the page may have been scribbled. */
        if (until_us > now_us + HF_LEASE_MAX_MS * INT64_C(1000)) {
            until_us = now_us + HF_LEASE_MAX_MS * INT64_C(1000);
        }
        if (until_us > now_us && !hf__held_elsewhere(&side->held, key)) {
            until_us = 0;
        }
    }
    return until_us > now_us ? until_us : 0;
}
