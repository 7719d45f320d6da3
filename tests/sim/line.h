/* SPDX-License-Identifier: MIT */
/*
 * A server whose locks belong to sessions: who asks stands in line, first
 * come first served, and keeps its place as long as its session lives. The
 * session that owns the name must speak at least once a lease; one that
 * waits may be silent, and its death is seen only after a while, or never.
 */
#ifndef HF_TESTS_SIM_LINE_H
#define HF_TESTS_SIM_LINE_H

#include "tests/sim/row.h"

enum { HF__SEATS_MAX = 256 };

struct hf__seat {
    uint64_t session;
    uint64_t token;
    int client;
    int life;
    bool owns;
    bool has_spoken; /* since it owns */
    bool is_left;    /* the client closed it; the server has not looked yet */
    int64_t heard;   /* true time of its last statement, or of its grant */
};

/* seats[0] is the first in line. Token, end of lease and fence are in the
 * row of the member that it is the face of. */
struct hf__line {
    struct hf__member *member;
    int count;
    struct hf__seat seats[HF__SEATS_MAX];
    uint64_t ended[HF__SEATS_MAX]; /* the last sessions that are no more */
    uint64_t ended_count;
    uint64_t served; /* session: just became the owner by waiting; else 0 */
};

void hf__line_init(struct hf__line *, struct hf__member *);
/* As hf__row_apply. m->session says whose it is. */
void hf__line_apply(struct hf__line *, struct hf__message *, int64_t true_ns);
/* NULL: no such session. */
const struct hf__seat *hf__line_find(const struct hf__line *, uint64_t session);
/* The client's end is closed. */
void hf__line_leave(struct hf__line *, uint64_t session, int64_t true_ns);
/* The server ends a session, as it does with one that is found dead. */
void hf__line_end(struct hf__line *, uint64_t session, int64_t true_ns);
/* When a session that owns has been silent too long; INT64_MAX: it does not
 * own. */
int64_t hf__line_silent_at(const struct hf__line *, uint64_t session);
/* The server stops: no session is left. */
void hf__line_stop(struct hf__line *);

#endif
