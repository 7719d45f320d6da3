/* SPDX-License-Identifier: MIT */
/*
 * What a store keeps and reports of a name: the owner, token, lock mode and
 * remaining lease of its grant; also what open() found of the server, and what
 * a dead session may have left in the store.
 */
#ifndef HF_BACKEND_RECORD_H
#define HF_BACKEND_RECORD_H

#include "include/holdfast.h"
#include "src/base/base.h"
#include "src/base/time.h"

/* The secret of a claim: random, new for each; all zero means "nobody". */
struct hf__token {
    unsigned char bytes[16];
};

HF_MODULE_API bool hf__token_is_zero(const struct hf__token *);
HF_MODULE_API bool hf__token_equal(const struct hf__token *,
                                   const struct hf__token *);
/* As text: 32 lower-case hex digits, and NUL. */
enum { HF__TOKEN_DIGITS = 32, HF__TOKEN_TEXT_SIZE = HF__TOKEN_DIGITS + 1 };
void hf__token_format(const struct hf__token *, char text[HF__TOKEN_TEXT_SIZE]);
/* False if text is NULL, not such a text, or all zero. */
HF_MUST_CHECK bool hf__token_parse(const char *text,
                                   struct hf__token *ret_token);
/* Write and read the digits alone, within a longer text. Reading stops at the
 * first byte that is no digit and gives false unless all digits are there. It
 * accepts zero. */
HF_MODULE_API void hf__token_write(const struct hf__token *,
                                   char digits[HF__TOKEN_DIGITS]);
HF_MODULE_API HF_MUST_CHECK bool hf__token_read(const char *digits,
                                                struct hf__token *ret_token);
/* Copies as much of text as fits, without tokens: a run of hex digits, of
 * either case, that has most of a token's length becomes a star. */
HF_MODULE_API void hf__token_hide(const char *text, size_t length, char *to,
                                  size_t size);
/* A number that tells tokens apart without revealing them. */
HF_MODULE_API uint64_t hf__token_tag(const struct hf__token *);

/* Labels for people; never compared. All are valid UTF-8. Without padding, so
 * that the struct can be stored in a file as it is. */
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

/* A session waits well for one name only, so the core gives each awaited name
 * its own session, while there are some; docs/decisions.md says why the core
 * must know. This bit of hf__backend.caps and the next three are not shown
 * outside. */
#define HF__CAP_WAIT_ONE (1U << 30)
/* The store counts a session as the waiter of a watch until a wait() without
 * it, or with n == 0. The store tells it when its turn has come, so it may
 * sleep on when another holder has the name than it saw. */
#define HF__CAP_WAIT_LEAVES (1U << 29)
/* All waiters are in the queue, whether they asked for `fair` or not. */
#define HF__CAP_QUEUES (1U << 28)
/* The locks may be on another server later (server_info.server_id). listen()
 * ends, with a negative status, as soon as its session's server no longer has
 * them. Sentinels alone need it: a replaced primary goes on granting, and what
 * Sentinels say of it counts for all sessions of the client, which the core
 * has. */
#define HF__CAP_MOVES (1U << 27)
#define HF__CAPS_INTERNAL                                                      \
    (HF__CAP_WAIT_ONE | HF__CAP_WAIT_LEAVES | HF__CAP_QUEUES | HF__CAP_MOVES)

/* Which grants of one name may exist at the same time (compatibility.h has the
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

/* What the store reports of a name: of its grant or, if there are several, of
 * the one whose lease ends first. */
struct hf__record {
    bool is_held;     /* a token owns it and the lease runs */
    bool is_kept;     /* free, but closed until keep_us have passed */
    bool is_promised; /* free, but a waiter in the queue goes first */
    struct hf__lock_mode lock_mode;
    int slot;         /* of HF__MODE_SLOTS */
    int holder_lives; /* 1, 0, or −1: the store can't tell */
    uint64_t fence; /* the highest given so far; 0 if none. In a list of grants:
                       each one's own */
    struct hf__token token; /* of the holder; zero when free */
    int64_t remaining_us;   /* of the lease, or of the keeping; −1 unknown */
    int64_t acquired_us;    /* wall clock of the holder; 0 unknown */
    struct hf__owner owner;
};

/* Found by open(). */
struct hf__server_info {
    char grade; /* of the server found: 'A' 'B' 'C' 'S' 'D' */
    /* What the grade rests on, in words for people, if that is not the usual
     * for the grade; else NULL. Never freed. */
    const char *rests_on;
    hf_reach reach;
    /* HF_CAP_SESSION: the lease of each grant, whatever was asked for: for so
     * long after a grant or a renewal was sent, nobody else gets the name. A
     * session to which its server promises less than before is dead. 0: the
     * caller chooses leases. */
    int64_t lease_us;
    /* Which of several servers answers. Another may not know what this one has
     * granted: once the id differs, the core checks all that is held. 0:
     * there is one only. */
    uint64_t server_id;
};

/*
 * What a session that ended in the middle of a call may have left under way in
 * the store: a stale connection, whose request may yet be applied. The next
 * session of the same conn is given it, so that it ends the stale connection
 * before it does anything else. All zero: nothing.
 */
struct hf__stale_session {
    uint64_t mark;      /* the store's id of that session; 0: unknown */
    uint64_t server_id; /* which server it was on */
    hf__time until;     /* its request can't be applied after this */
};

#endif
