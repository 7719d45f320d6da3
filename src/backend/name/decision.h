/* SPDX-License-Identifier: MIT */
/*
 * One decision under way: what it may do to the name in memory, each change
 * marked, and the results it may have. Thread: the session's.
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
/* Takes NULL. */
void hf__decision_drop(struct hf__decision *, struct hf__participant *);
/* The name was granted or freed now. */
void hf__decision_touch(struct hf__decision *);
/* Nobody else may have it for so long, whatever becomes of the grant. */
void hf__decision_keep(struct hf__decision *, int64_t for_us);
/* The lease begins anew. */
void hf__decision_prolong(struct hf__decision *, struct hf__participant *);
/* Bound to the session's life, unless it is to live by its lease alone. */
void hf__decision_bind(struct hf__decision *, struct hf__participant *,
                       bool is_detached);
/* The next fence is the name's. */
void hf__decision_raise(struct hf__decision *);
/* A grant for that token, and its result. */
void hf__decision_grant(struct hf__decision *, const struct hf__token *,
                        struct hf__lock_mode, int slot);

/* ---- results */

void hf__decision_finish(struct hf__decision *, int result);
void hf__decision_fail_memory(struct hf__decision *);
/* The name, or (unless NULL) that one, makes no sense: then it is the result.
 */
bool hf__decision_is_damaged(struct hf__decision *,
                             const struct hf__participant *);
/* The lease of that one (NULL: none) runs by a clock that is not to be had: the
 * same. */
bool hf__decision_is_foreign(struct hf__decision *,
                             const struct hf__participant *);
/* The token has no grant that could do it; `own` is what is left of its. */
void hf__decision_lose(struct hf__decision *,
                       const struct hf__participant *own);
/* The lease of the token's own grant runs. What lives with its client is that
 * client's alone. */
bool hf__decision_runs(const struct hf__decision *,
                       const struct hf__participant *own);

#endif
