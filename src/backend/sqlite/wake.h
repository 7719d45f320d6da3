/* SPDX-License-Identifier: MIT */
/*
 * The words on the board by which sessions of all processes wake each other.
 *
 * A name's bucket has a word that is bumped after each commit that changed a
 * record there, and a count of those who sleep on it, so that a release with
 * nobody waiting costs no system call. A release wakes one sleeper, or all
 * where names share the bucket. The one that was woken has some milliseconds
 * of grace, in which processes that did not wait hold back: else whoever
 * releases and acquires in a loop would always win against the sleeper's
 * wake-up, and starve it.
 *
 * All of it is only a hint. A sleeper that was killed stays counted, which
 * costs a call; one that was not woken looks by itself. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_WAKE_H
#define HF_BACKEND_SQLITE_WAKE_H

#include "src/backend/sqlite/side.h"

#define HF__GRACE_MS 10

unsigned hf__bucket_of(const struct hf__key *key);

/* After the commit. */
void hf__wake_taken(struct hf__side *side, const struct hf__key *key);
void hf__wake_freed(struct hf__side *side, const struct hf__key *key);

/* A watch of this process on `key` fired: it goes first, once. */
void hf__wake_allow(struct hf__side *side, const struct hf__key *key);
/* Must an acquire of `key` still hold back for a woken waiter? Takes the
 * permission that hf__wake_allow() gave. */
bool hf__wake_must_hold_back(struct hf__side *side, const struct hf__key *key,
                             hf__time now);

/* Count as a sleeper, before reading the record, and no longer. Alone: on
 * the name's own word; else on that for several names. */
void hf__wake_arm(struct hf__side *side, const struct hf__key *key,
                  bool is_alone);
void hf__wake_disarm(struct hf__side *side, const struct hf__key *key,
                     bool is_alone);

#endif
