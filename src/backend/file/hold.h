/* SPDX-License-Identifier: MIT */
/*
 * DIR/.holdfast, the side file of this store: what it has behind the board, for
 * who finds no file for a name. Each name that is held has its byte (held.h),
 * and the board says until when names are held at most. Where the side file was
 * deleted while in use, holders count as alive until their leases end. Thread:
 * any.
 */
#ifndef HF_BACKEND_FILE_HOLD_H
#define HF_BACKEND_FILE_HOLD_H

#include "src/backend/local/side.h"

#define HF__SIDE_NAME ".holdfast"

extern const struct hf__side_kind hf__file_side_kind;

/* Note how long a name is held at most. HF_OK, or HF_EUNAVAIL: it can't be, so
 * it must not be held. */
HF_MUST_CHECK int hf__file_hold(struct hf__side *side,
                                const struct hf__key *key, int64_t until_us);
/* Of a name without a record: until when is it perhaps held by another token
 * all the same (boot clock, µs)? 0: it is not. */
int64_t hf__file_held_until(struct hf__side *side, const struct hf__key *key,
                            const struct hf__token *mine, int64_t now_us);

#endif
