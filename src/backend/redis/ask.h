/* SPDX-License-Identifier: MIT */
/*
 * Operations as scripts, and their replies as results; used for one server and
 * for the members of a quorum. A script runs on the server as one step; its
 * text is lua/NAME.lua behind lua/common.lua. A script is called by its hash; a
 * server that does not know it (restarted, SCRIPT FLUSH) is sent its text in
 * the same attempt. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_ASK_H
#define HF_BACKEND_REDIS_ASK_H

#include "src/backend/cell.h"
#include "src/backend/compatibility.h"
#include "src/backend/redis/wire.h"

#include <hiredis/hiredis.h>

enum hf__script {
    HF__SCRIPT_ACQUIRE,
    HF__SCRIPT_RENEW,
    HF__SCRIPT_RELEASE,
    HF__SCRIPT_HANDOVER,
    HF__SCRIPT_RAISE,
    HF__SCRIPT_BREAK,
    HF__SCRIPT_INSPECT,
    HF__SCRIPT_SUBSCRIBE,    /* wait(): register a waiter, look at the name */
    HF__SCRIPT_UNSUBSCRIBE,  /* wait() is over */
    HF__SCRIPT_COLLECT,      /* gc(): delete one record if it is idle */
    HF__SCRIPT_CELL,         /* cell(), and gc() of one */
    HF__SCRIPT_ACQUIRE_MANY, /* several at once, see lua/many.lua */
    HF__SCRIPT_RENEW_MANY,
    HF__SCRIPT_RELEASE_MANY
};
#define HF__SCRIPTS 14

const char *hf__script_text(enum hf__script);
/* 40 hexadecimal digits. */
const char *hf__script_hash(enum hf__script);

/* Begin the EVALSHA (or EVAL, with_text) of a script. Its keys are those of the
 * name, HF__KEYS of them in this order: the record, :w (waiters that sleep), :q
 * (the queue), :b (grants beside one another). The caller adds the
 * arguments. */
enum { HF__KEYS = 4 };
/* Room for the names of the keys: prefix:{name}, prefix:{name}:q … */
struct hf__script_keys {
    char bytes[HF__KEYS][HF__KEY_MAX + 6];
    size_t length[HF__KEYS];
};
/* Write the names of the keys only. */
void hf__script_keys(const struct hf__key *, struct hf__script_keys *);
void hf__script_begin(struct hf__args *, enum hf__script, bool with_text,
                      const struct hf__key *, struct hf__script_keys *);

/* Arguments of a script that are not in the operation. */
struct hf__ask {
    uint64_t client;   /* of the asking session; see hf__head */
    uint64_t proposal; /* ACQUIRE, BREAK: the fence to give, if it is above the
                          server's own and not far ahead of its clock; 0: none.
                          A quorum proposes one, so that its members give the
                          same */
    bool recreates; /* of a quorum's member. RENEW: where nobody has the name,
                       make it ours again, with op->fence. RELEASE: keep a later
                       renewal from doing so */
    bool leaves_tombstone; /* RELEASE: as for op->is_unanswered */
    bool undoes; /* RELEASE of a grant of this member alone that nobody was told
                    of: restore what was before */
    bool with_text; /* EVAL: the server does not know the script */
};

/* The answer of one server. */
struct hf__answer {
    int result;         /* as hf__op.result */
    bool has_no_script; /* ask again with_text */
    bool is_elsewhere;  /* this server is no longer the master */
    uint64_t fence;
    hf_reason reason;
    int slot;
    bool is_queued;
    bool took_over;
    struct hf__record record;
    hf_error err; /* the text of a negative result */
};

/* The client's name in the scripts: 16 hexadecimal digits. */
#define HF__MARK_SIZE 17
void hf__mark_write(uint64_t client, char mark[HF__MARK_SIZE]);

/* Add the operation's command. */
void hf__ask_add(struct hf__bytes *, const struct hf__op *,
                 const struct hf__ask *);
/* The most operations of one kind in one command, which the server runs as one
 * step. Other clients wait meanwhile, so an operation that may read a thousand
 * holders is sent alone. */
enum { HF__MANY_MAX = 64 };
/* May this operation share a command with others of its kind? */
bool hf__many_can(const struct hf__op *);
void hf__many_add(struct hf__bytes *, struct hf__op *const ops[], int n,
                  const struct hf__ask *);
/* The reply of the i-th of n operations. */
const redisReply *hf__many_reply(const redisReply *, int i, int n);
/* Read an operation's reply, which may be an error. INSPECT adds to
 * op->ret_participants. */
void hf__answer_read(const redisReply *, const struct hf__op *,
                     struct hf__answer *);
/* Read a cell operation's reply. It then has its result, unless
 * a->has_no_script. */
void hf__answer_cell(const redisReply *, struct hf__cell_op *,
                     struct hf__answer *a);
/* Read a reply to TIME, in microseconds; 0: it is not a time. */
int64_t hf__answer_time(const redisReply *);
/* Store the answer as the operation's result. */
void hf__answer_give(const struct hf__answer *, struct hf__op *);

/* An error reply's status: HF__AGAIN (LOADING, BUSY: surely not applied),
 * HF_EAUTH (NOAUTH, NOPERM, WRONGPASS), HF_EUNAVAIL (READONLY, OOM, MISCONF,
 * MASTERDOWN, max number of clients), HF_EPROTO (HOLDFAST its key is …:
 * something else is there) …; errors.c has all of them, with text and remedy
 * for people. */
int hf__redis_error(const redisReply *, const struct hf__key *, hf_error *err);
/* The text of an error reply, without what Redis before 7 adds to an error in a
 * script. */
const char *hf__redis_words(const redisReply *);
/* Is the error one that a Redis server is known to give? */
bool hf__redis_knows(const redisReply *);
/* As hf__redis_error() for a reply to AUTH. A server may repeat what it does
 * not understand, the password included, so only known texts are quoted. */
int hf__redis_auth_error(const redisReply *, hf_error *err);

#endif
