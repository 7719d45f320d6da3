/* SPDX-License-Identifier: MIT */
/*
 * What the oracles remember of the fences of a quorum's member, and the rule
 * about them: a renewal by the token of `mine` is taken where nobody has the
 * name, and nobody but those whose attempts came to nothing was given a higher
 * fence; see oracle_mending.c.
 */
#ifndef HF_TESTS_SIM_TRAIL_H
#define HF_TESTS_SIM_TRAIL_H

#include <stdint.h>

struct hf__oracle;
struct hf__applied;
struct hf__grant_fact;

struct hf__trail {
    uint64_t seen;   /* in its row, after the last statement */
    uint64_t valid;  /* the highest of those that were not undone */
    uint64_t token;  /* of the last grant, if its fence was not raised since */
    uint64_t before; /* what was valid before it */
};

/* A statement of a quorum's member was applied; `mine` is the grant of its
 * token that a client believed, NULL: none. */
void hf__oracle_followed(struct hf__oracle *, const struct hf__applied *,
                         const struct hf__grant_fact *mine);

#endif
