/* SPDX-License-Identifier: MIT */
/*
 * Histories written by hand for the oracles: what is done to a small world of
 * three clients and one store, and the bad ones by the rule that they break.
 */
#ifndef HF_TESTS_SIM_HISTORIES_H
#define HF_TESTS_SIM_HISTORIES_H

#include "tests/sim/oracles.h"

/* The world that the histories are of. */
struct hf__scene {
    unsigned watched;
    struct hf__oracle oracle;
    struct hf__plan plan;
    struct hf__store store;
    struct hf__view views[HF__SIM_CLIENTS];
};
extern struct hf__scene hf__scene;

/* A world in which nothing has happened, watched for the scene's rules. */
void hf__scene_begin(enum hf__model, int members);
void hf__scene_own(int member, uint64_t token);
void hf__scene_hold(int client, uint64_t token);
void hf__scene_let_go(int client, enum hf__phase);
void hf__scene_look(int64_t at_ms);
/* The grant of a fence has the token 100 + fence. */
void hf__scene_granted(int client, uint64_t fence, int64_t invoked, int64_t ok);
void hf__scene_wrote(uint64_t fence, bool is_lost);
/* A statement by token 7 on a row of `owner`, which may become 7's. */
void hf__scene_applied(enum hf__op_kind, int result, uint64_t owner,
                       bool changes);

/* On a member that has nobody: an attempt for that fence was undone, and it is
 * there still; a holder's renewal is refused. */
void hf__scene_undone(uint64_t fence);
void hf__scene_refused(int client, uint64_t fence);

struct hf__history {
    unsigned rule; /* the one that it breaks; 0: the end of the list */
    const char *name;
    void (*play)(void); /* in a world just begun: a row, one member */
};
extern const struct hf__history hf__bad_histories[];
extern const struct hf__history hf__bad_crowds[];

#endif
