/* SPDX-License-Identifier: MIT */
/*
 * A quorum in the made world: redlock: as it is, from the core down to its
 * calls of sockets (sockets.c), over servers that are made. wires.c has the
 * connections and what happens to bytes on their way, members.c the servers,
 * rows.c what a script does with a name's record there, quorum.c the store as
 * the core sees it, what happens to members, and what is asked of all this. For
 * the thread whose turn it is.
 */
#ifndef HF_TESTS_SIM_MADE_H
#define HF_TESTS_SIM_MADE_H

#include "src/backend/backend.h"
#include "src/backend/redis/ask.h"
#include "tests/sim/scene.h"

enum { HF__MADE_MOST = 5, HF__MADE_PORT = 7000 };

struct hf__reply {
    char *at;
    size_t length;
    size_t room;
};
void hf__reply_add(struct hf__reply *, const void *bytes, size_t n);
/* As replies have them. */
void hf__reply_array(struct hf__reply *, int n);
void hf__reply_number(struct hf__reply *, int64_t);
void hf__reply_string(struct hf__reply *, const char *);
void hf__reply_line(struct hf__reply *, const char *);

/* ---- rows.c */

enum { HF__PAST_MOST = 6, HF__VOIDS_MOST = 1024 };

/* What an attempt found: the fence, and whose the name was. */
struct hf__past {
    uint64_t gave;
    uint64_t fence;
    char owner[HF__TOKEN_TEXT_SIZE];
};

/* A token that was given back. */
struct hf__void {
    char token[HF__TOKEN_TEXT_SIZE];
    int64_t till;
};

/* record.lua's, of a name that one holds alone. Times are µs by the member's
 * clock. */
struct hf__made_row {
    bool is_there;
    char owner[HF__TOKEN_TEXT_SIZE]; /* "": nobody's */
    uint64_t fence;
    uint64_t top;
    uint64_t broken;
    int64_t expires;
    int64_t acquired;
    char whose[512]; /* JSON */
    struct hf__past was[HF__PAST_MOST];
    int n_was;
    struct hf__void *voids; /* room for HF__VOIDS_MOST */
    int n_voids;
};

/* A script that runs. */
struct hf__step {
    enum hf__script script;
    int host; /* who asks */
    int member;
    int name;
    struct hf__made_row *row;
    int64_t now;
    int n;
    const char *const *words; /* ARGV */
    struct hf__reply *reply;
    int result;        /* out: HF_OK, HF_BUSY, HF_LOST … */
    const char *token; /* out: ARGV[1] */
    bool is_mended;    /* out: a renewal made it anew */
    bool is_undone;    /* out */
    struct hf__made_row before;
};
void hf__made_row_run(struct hf__step *);
bool hf__made_row_is_held(const struct hf__made_row *, int64_t now);
/* What the JSON says of it; "": nothing. */
void hf__made_row_whose(const struct hf__made_row *, const char *what, char *to,
                        size_t size);

/* ---- wires.c */

/* A connection. */
struct hf__wire {
    struct hf__wire *next;
    int fd; /* the host's end: an eventfd that is readable when it would be */
    int host;
    int member;
    unsigned life;   /* of the member, when it was made */
    uint64_t id;     /* by which the member knows it */
    bool is_closed;  /* by its host */
    bool is_ended;   /* by the member */
    bool is_reset;   /* which its host finds when it has read all */
    bool is_lost[2]; /* nothing comes through any more, there or back */
    int64_t last[2]; /* what is sent later does not come before */
    struct hf__reply asked;
    struct hf__reply told;
    size_t taken; /* of that */
};
/* The thread that brings all. */
void *hf__wires_bring(void *);
void hf__wires_add(struct hf__wire *);
bool hf__wires_is_cut(const struct hf__wire *);
/* late: in that time; 0: as usual. */
void hf__wires_send(struct hf__wire *, enum hf__fault fate, const char *bytes,
                    size_t n, int64_t late);
/* Nothing is sent any more, whatever the host thinks. */
void hf__wires_lose(struct hf__wire *);
/* Its descriptor is to be read. */
void hf__wire_ring(const struct hf__wire *);
void hf__wires_bury(int host);
/* Those to a member that has gone down. */
void hf__wires_end(int member);
/* CLIENT KILL ID. */
bool hf__wires_kill(int member, uint64_t id);
/* That host and that member can't talk until then. */
void hf__wires_cut(int host, int member, int64_t until);
void hf__wires_heal(void);

/* ---- members.c */

void hf__members_begin(void);
bool hf__member_is_up(int member);
unsigned hf__member_life(int member);
uint64_t hf__member_connect(int member); /* gives the id */
const struct hf__made_row *hf__member_row(int member, int name);
int64_t hf__member_now(int member);
int64_t hf__member_ppm(int member);
/* Bytes have come; those of whole commands are answered. is_loading: with no
 * more than that. */
void hf__member_hear(struct hf__wire *, const char *bytes, size_t n,
                     bool is_loading, struct hf__reply *reply);
/* It knows no scripts any more. */
void hf__member_flush(int member);
/* It is down until then, and what it does not keep is gone; false: all that
 * could tell of it would be. */
bool hf__member_restart(int member, bool forgets, int64_t until);

/* ---- quorum.c */

const struct hf__backend *hf__made_store(void);
void hf__made_url(char *to, size_t size);
int hf__made_majority(void);
void hf__made_cut(int host, int64_t until);
void hf__made_restart(bool forgets);
void hf__made_expect_empty(int host);
/* As hf__ledger_end(): until when a majority lets it have the name. */
int64_t hf__made_end(const struct hf__token *);
/* That fence is told of that grant: a majority must know. */
void hf__made_expect_known(const struct hf__token *, uint64_t fence);
/* That member has forgotten all. */
void hf__made_forgot(int member);
/* What a script did. */
void hf__made_applied(const struct hf__step *);

#endif
