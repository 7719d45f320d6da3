/* SPDX-License-Identifier: MIT */
/*
 * Operations as scripts, and their replies as results: the same for one server
 * and for the members of a quorum. A script runs on the server as one step; its
 * text is lua/NAME.lua behind lua/common.lua. It is asked for by its hash; a
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
    HF__SCRIPT_SUBSCRIBE,    /* wait(): register, look */
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

/* EVALSHA (or EVAL, with_text) of it with the keys of that name, HF__KEYS of
 * them in this order: the record, :w (those who sleep), :q (the queue),
 * :b (those beside one another). Arguments are to be added. */
enum { HF__KEYS = 4 };
/* Room for their names: prefix:{name}, prefix:{name}:q … */
struct hf__script_keys {
    char bytes[HF__KEYS][HF__KEY_MAX + 6];
    size_t length[HF__KEYS];
};
/* The names alone. */
void hf__script_keys(const struct hf__key *, struct hf__script_keys *);
void hf__script_begin(struct hf__args *, enum hf__script, bool with_text,
                      const struct hf__key *, struct hf__script_keys *);

/* What an operation says beyond itself. */
struct hf__ask {
    uint64_t client;   /* whose session asks; see hf__head */
    uint64_t proposal; /* ACQUIRE, BREAK: the fence that it would like, if it is
                          not far from the server's clock; 0: none. A quorum's,
                          so that its members give the same */
    bool recreates;    /* of a quorum's member. RENEW: where nobody has it, it
                          is ours again, with op->fence. RELEASE: a renewal that
                          comes later does not do so */
    bool leaves_tombstone; /* RELEASE: as if it were unanswered */
    bool undoes;    /* RELEASE of what was granted by this one alone, and told
                       to nobody: as if it had not been */
    bool with_text; /* EVAL: the server does not know the script */
};

/* What one server answered. */
struct hf__answer {
    int result;         /* as hf__op.result */
    bool has_no_script; /* ask again with_text */
    bool is_elsewhere;  /* this server is no master any more */
    uint64_t fence;
    hf_reason reason;
    int slot;
    bool is_queued;
    bool took_over;
    struct hf__record record;
    hf_error err; /* text of a negative result */
};

/* By which the scripts know a client: 16 hexadecimal digits. */
#define HF__MARK_SIZE 17
void hf__mark_write(uint64_t client, char mark[HF__MARK_SIZE]);

/* Add the operation's command. */
void hf__ask_add(struct hf__bytes *, const struct hf__op *,
                 const struct hf__ask *);
/* Or that of several of one kind, which are one step of the server then. Others
 * wait for so long: what may have to read a thousand holders goes alone. */
enum { HF__MANY_MAX = 64 };
/* May it go with others of its kind? */
bool hf__many_can(const struct hf__op *);
void hf__many_add(struct hf__bytes *, struct hf__op *const ops[], int n,
                  const struct hf__ask *);
/* The reply of each. */
const redisReply *hf__many_reply(const redisReply *, int i, int n);
/* Read its reply, an error included. INSPECT adds to op->ret_crowd. */
void hf__answer_read(const redisReply *, const struct hf__op *,
                     struct hf__answer *);
/* The same of a cell's, which has its result then, unless a->has_no_script. */
void hf__answer_cell(const redisReply *, struct hf__cell_op *,
                     struct hf__answer *a);
/* What TIME answers, in microseconds; 0: it is no time. */
int64_t hf__answer_time(const redisReply *);
/* The answer is the operation's result. */
void hf__answer_give(const struct hf__answer *, struct hf__op *);

/* An error reply's status: HF__AGAIN (LOADING, BUSY: surely not applied),
 * HF_EAUTH (NOAUTH, NOPERM, WRONGPASS), HF_EUNAVAIL (READONLY, OOM, MISCONF,
 * MASTERDOWN, max number of clients), HF_EPROTO (HOLDFAST its key is …:
 * something else is there) …; errors.c has all of them, with text and remedy
 * for people. */
int hf__redis_error(const redisReply *, const struct hf__key *, hf_error *err);
/* What it says, without what is around an error in a script before Redis 7. */
const char *hf__redis_words(const redisReply *);
/* Is it among what servers say? */
bool hf__redis_knows(const redisReply *);
/* The same for what was said with a password: a server may repeat what it does
 * not understand, so only words that are known are told. */
int hf__redis_auth_error(const redisReply *, hf_error *err);

#endif
