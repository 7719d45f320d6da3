/* SPDX-License-Identifier: MIT */
/*
 * What a store keeps of a name and tells of it: whose the grant is, by which
 * token, beside which others, for how long still; what it found of itself when
 * it was opened, and what a dead session may have left in it.
 */
#ifndef HF_BACKEND_RECORD_H
#define HF_BACKEND_RECORD_H

#include "include/holdfast.h"
#include "src/base/base.h"
#include "src/base/time.h"

/* Secret, random, new for each claim; all zero means "nobody". */
struct hf__token {
    unsigned char bytes[16];
};

HF_MODULE_API bool hf__token_is_zero(const struct hf__token *);
HF_MODULE_API bool hf__token_equal(const struct hf__token *,
                                   const struct hf__token *);
/* As text: 32 lower-case hex digits, and NUL. */
enum { HF__TOKEN_DIGITS = 32, HF__TOKEN_TEXT_SIZE = HF__TOKEN_DIGITS + 1 };
void hf__token_format(const struct hf__token *, char text[HF__TOKEN_TEXT_SIZE]);
/* False unless it is such a text, and not all zero; NULL is none. */
HF_MUST_CHECK bool hf__token_parse(const char *text,
                                   struct hf__token *ret_token);
/* The digits alone, inside of what goes on. False unless they are all there;
 * what is no digit ends the reading. Zero may be read. */
HF_MODULE_API void hf__token_write(const struct hf__token *,
                                   char digits[HF__TOKEN_DIGITS]);
HF_MODULE_API HF_MUST_CHECK bool hf__token_read(const char *digits,
                                                struct hf__token *ret_token);
/* The text's first bytes, as many as fit, without tokens: what is most of one,
 * in letters of either case, becomes a star. */
HF_MODULE_API void hf__token_hide(const char *text, size_t length, char *to,
                                  size_t size);
/* A number that tells tokens apart and says nothing of them. */
HF_MODULE_API uint64_t hf__token_tag(const struct hf__token *);

/* Labels for people; never compared. All are valid UTF-8. Without padding, so
 * that it may stand in a file as it is. */
struct hf__owner {
    char label[HF_NOTE_MAX + 1];
    char host[65];
    char thread[24]; /* its id, a blank, its name */
    char note[HF_NOTE_MAX + 1];
    char zero[7]; /* instead of padding */
    int64_t pid;
};
_Static_assert(sizeof(struct hf__owner) ==
                   2 * (HF_NOTE_MAX + 1) + 65 + 24 + 7 + sizeof(int64_t),
               "no padding");

/* A session waits well for one name only: the core gives each that is waited
 * for its own, while there are some. Why the core must know is told in
 * docs/decisions.md. A bit of hf__backend.caps that is not told outside. */
#define HF__CAP_WAIT_ONE (1U << 30)
/* A session is known to the store as a waiter until it says that it is none:
 * by its next wait(), or by one for nobody. Not told outside. Its turn is told
 * it, so it may sleep on when another holds the name than it saw. */
#define HF__CAP_WAIT_LEAVES (1U << 29)
/* All who wait there stand in the queue, asked for as fair or not. */
#define HF__CAP_QUEUES (1U << 28)
/* What has the locks may be another server later (server_info.place). listen()
 * ends, with a negative status, as soon as that of its session has them no
 * more. It serves Sentinels alone: a replaced primary goes on granting, and
 * what they say of it counts for all sessions of the client, which the core
 * has. */
#define HF__CAP_MOVES (1U << 27)
#define HF__CAPS_INTERNAL                                                      \
    (HF__CAP_WAIT_ONE | HF__CAP_WAIT_LEAVES | HF__CAP_QUEUES | HF__CAP_MOVES)

/* Which grants of one name may stand side by side (compatibility.h has the
 * rule). */
enum hf__mode {
    HF__MODE_EXCLUSIVE, /* alone */
    HF__MODE_SHARED,    /* beside other shared ones; HF_CAP_SHARED */
    HF__MODE_SLOTS      /* at most `slots` of them; HF_CAP_SLOTS */
};

struct hf__lock_mode {
    enum hf__mode mode;
    int slots; /* of HF__MODE_SLOTS */
};

/* What the store says of a name: of the grant that holds it or, if there are
 * several, of the one whose lease ends first. */
struct hf__record {
    bool is_held;     /* a token owns it and the lease runs */
    bool is_kept;     /* free, but closed until keep_us have passed */
    bool is_promised; /* free, but somebody in the queue goes first */
    struct hf__lock_mode lock_mode;
    int slot;               /* of HF__MODE_SLOTS */
    int holder_lives;       /* 1, 0, or −1: the store can't tell */
    uint64_t fence;         /* the highest given so far; 0 if none. Where
                               each grant is told of: its own */
    struct hf__token token; /* of the holder; zero when free */
    int64_t remaining_us;   /* of the lease, or of the keeping; −1 unknown */
    int64_t acquired_us;    /* wall clock of the holder; 0 unknown */
    struct hf__owner owner;
};

/* Found by open(). */
struct hf__server_info {
    char grade; /* of the server found: 'A' 'B' 'C' 'S' 'D' */
    /* In words for people, where it is not what others of that grade rest on;
     * else NULL. Never freed. */
    const char *rests_on;
    hf_reach reach;
    /* HF_CAP_SESSION: for so long after a grant or a renewal was sent, nobody
     * else has it; the lease of each, whatever was asked for. A session to
     * which its server promises less than before is dead. 0: leases are the
     * caller's to choose. */
    int64_t lease_us;
    /* Which of several servers answers, that may not know what another has
     * granted: once it differs, all that is held is asked for. 0: there is one
     * only. */
    uint64_t server_id;
};

/*
 * What a session that ended in the middle of a call may have left under way in
 * the store: a stale connection, which may yet be applied. The next session of
 * the same conn is given it, so that it ends the stale connection before it
 * does anything else. All zero: nothing.
 */
struct hf__stale_session {
    uint64_t mark;      /* by which the store knows that session; 0: it can't */
    uint64_t server_id; /* which server it was on */
    hf__time until;     /* no longer than that can it be applied */
};

#endif
