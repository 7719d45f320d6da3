/* SPDX-License-Identifier: MIT */
/*
 * A decision under way: the changes that it may make to the name in memory,
 * each of them marked, and the results that it may have. Thread: the session's.
 */
#ifndef HF_BACKEND_NAME_DECISION_H
#define HF_BACKEND_NAME_DECISION_H

#include "src/backend/name/decide.h"

struct hf__decision {
    struct hf__name *name;
    const struct hf__rules *rules;
    struct hf__op *op;
    struct hf__outcome *out;
};

/* ---- changes of the name in memory, marked */

void hf__decision_mark(struct hf__decision *, struct hf__participant *,
                       unsigned marks);
void hf__decision_mark_name(struct hf__decision *, unsigned marks);
/* Mark it as gone; NULL is allowed. */
void hf__decision_drop(struct hf__decision *, struct hf__participant *);
/* Note that the name was granted or freed now. */
void hf__decision_touch(struct hf__decision *);
/* Keep the name closed to others for so long, even if the grant ends; 0: no
 * longer. */
void hf__decision_keep(struct hf__decision *, int64_t for_us);
/* Start the lease again. */
void hf__decision_prolong(struct hf__decision *, struct hf__participant *);
/* Bind the grant to the session's life, or detach it: then only its lease
 * counts. */
void hf__decision_bind(struct hf__decision *, struct hf__participant *,
                       bool is_detached);
/* Give the name the next fence. */
void hf__decision_raise(struct hf__decision *);
/* Grant the name to that token, with the result for it. */
void hf__decision_grant(struct hf__decision *, const struct hf__token *,
                        struct hf__lock_mode, int slot);

/* ---- results */

void hf__decision_finish(struct hf__decision *, int result);
void hf__decision_fail_memory(struct hf__decision *);
/* Does the name, or the participant (unless NULL), make no sense? Then that
 * becomes the result. */
bool hf__decision_is_damaged(struct hf__decision *,
                             const struct hf__participant *);
/* Does the participant's lease (NULL: none) run by a clock that can't be read?
 * Then that becomes the result. */
bool hf__decision_is_foreign(struct hf__decision *,
                             const struct hf__participant *);
/* The result if the token has no grant for this operation; `own` is what is
 * left of its grant, or NULL. */
void hf__decision_lose(struct hf__decision *,
                       const struct hf__participant *own);
/* Does the lease of the token's own grant run? A grant that ends with its
 * client's life counts for that client only. */
bool hf__decision_runs(const struct hf__decision *,
                       const struct hf__participant *own);

#endif
