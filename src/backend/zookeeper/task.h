/* SPDX-License-Identifier: MIT */
/*
 * One operation of a batch on its way. It goes by steps: a step asks for some
 * requests, those of all operations go out together and are awaited together,
 * and then each takes its answers and says which step is next. batch.c drives;
 * the steps are of who comes (acquire.c, again.c, try.c, vet.c, fair.c,
 * simple.c), of who stays or goes (renew.c, leave.c, simple_leave.c, break.c),
 * and of who looks (look.c).
 * Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_TASK_H
#define HF_BACKEND_ZOOKEEPER_TASK_H

#include "src/backend/zookeeper/ask.h"
#include "src/backend/zookeeper/line.h"
#include "src/backend/zookeeper/look.h"
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/zookeeper.h"

struct hf__zk_step {
    bool changes;                      /* it asks for more than a look */
    void (*ask)(struct hf__zk_task *); /* sends t->n_calls requests */
    /* All are answered, or will not be any more. */
    void (*take)(struct hf__zk_task *);
};

struct hf__zk_task {
    struct hf__zk *s;
    struct hf__op *op;
    const struct hf__zk_step *step; /* the next one; NULL: it is done */
    /* Of the next step: joins its first request to other tasks', whereupon
     * ask() leaves it out (is_joined). NULL: there is none that could be. */
    void (*join)(struct hf__zk_task *);
    bool is_joined;
    int n_calls;                /* of it */
    int n_asked;                /* of the one whose answers are taken */
    struct hf__zk_calls *calls; /* of this round, … */
    int first;                  /* … and where its own begin there */
    bool has_changed;           /* something in the tree, or perhaps */
    char *folder;               /* of the name */
    int verdict; /* the result, once all that goes before it is done */

    /* What is known of our own claim. */
    bool is_known;
    struct hf__zk_own own;
    int n_folders;        /* that are made before it */
    int n_attempts;       /* to make it */
    int n_looks;          /* at what may be over in a moment */
    int32_t foreseen;     /* of a try: the sequence that it will have if nobody
                             comes before it; −1: others are there */
    uint64_t foreseen_in; /* the same: folder_born */
    uint64_t born;        /* zxid of the claim, if it was made just now; or 0 */
    uint64_t mark;    /* zxid of its saying that it has entered, if it did so
                         already; or 0 */
    uint64_t entered; /* the fence, while the folder is being vetted */
    int slot;         /* that is being taken */
    int candidate;    /* in the line: may be ours */
    int place;        /* in the line: is ours */
    const struct hf__zk_task *proof; /* RENEW: whose write shows that the
                                        session lives */

    bool was_leaving;       /* RELEASE: it was told to go before */
    uint64_t broken;        /* BREAK: the fence that is meant; 0: all */
    struct hf__token alone; /* BREAK: of a "lock" that has no twin; or zero */

    /* What was seen at the name. */
    bool has_folder;
    uint64_t folder_born;         /* its zxid */
    uint64_t changed;             /* zxid of the last child made or deleted */
    struct hf__zk_line line;      /* its names are answers' of this batch */
    struct hf__zk_party *parties; /* or the one */
    int n_parties;
    struct hf__zk_party one;
};

/* ---- batch.c */

/* The next step, with so many requests. */
void hf__zk_next(struct hf__zk_task *, const struct hf__zk_step *, int n);
void hf__zk_finish(struct hf__zk_task *, int result);
/* The i-th answer of this round. */
const struct hf__zk_answer *hf__zk_answered(const struct hf__zk_task *, int i);
int hf__zk_rc(const struct hf__zk_task *, int i);
/* It ends so for want of memory; what may stand is given back later. */
void hf__zk_fail_memory(struct hf__zk_task *, const char *what);
/* Is the i-th answer none? Then it may have been applied. */
bool hf__zk_lacks(const struct hf__zk_task *, int i);
/* It ends with what is wrong with the i-th answer: HF_EUNKNOWN for what is not
 * known, if the operation may have changed anything. The folder's child is
 * named; NULL: the folder itself. */
void hf__zk_fail_at(struct hf__zk_task *, int i, const char *child);
/* The same by a whole path. */
void hf__zk_fail_path(struct hf__zk_task *, int i, const char *path);
/* The i-th answer is a listing: take it. On false the task has ended. */
bool hf__zk_see(struct hf__zk_task *, int i);
struct hf__zk_common *hf__zk_task_common(const struct hf__zk_task *);
/* None of those that were joined was done: the step is taken again, apart. */
bool hf__zk_is_undone(struct hf__zk_task *, const struct hf__zk_step *);
/* What is known of our own claim, to who shares the link. */
void hf__zk_remember(struct hf__zk_task *);
void hf__zk_forget(struct hf__zk_task *);

/* ---- the kinds: each sets the first step */

void hf__zk_acquire(struct hf__zk_task *); /* acquire.c */
void hf__zk_renew(struct hf__zk_task *);   /* renew.c */
void hf__zk_release(struct hf__zk_task *); /* leave.c */
void hf__zk_inspect(struct hf__zk_task *); /* look.c */
void hf__zk_break(struct hf__zk_task *);   /* break.c */

/* ---- acquire.c */

/* There is none: one is made. */
void hf__zk_make(struct hf__zk_task *);
/* The claim has that name, and stands. */
void hf__zk_note_name(struct hf__zk_task *, const char *name);
/* The same of the child that says which slot it has. */
void hf__zk_note_slot(struct hf__zk_task *, const char *name);
/* What was known to stand there does so no more. */
void hf__zk_start_anew(struct hf__zk_task *);
/* It is ours from now on. */
void hf__zk_granted(struct hf__zk_task *, uint64_t fence);

/* ---- again.c: something is known of the claim */

void hf__zk_again(struct hf__zk_task *);
/* It stands: it is decided anew by another listing. */
void hf__zk_look_again(struct hf__zk_task *);

/* ---- try.c: an acquire that will not wait, and has nothing there */

bool hf__zk_is_try(const struct hf__zk_task *);
void hf__zk_try(struct hf__zk_task *);

/* ---- fair.c: the claim stands, and t->line was seen after that */

void hf__zk_decide(struct hf__zk_task *);
/* Is the name used by the other recipe? The status of that and its text, or
 * HF_OK. */
int hf__zk_judge_lock(struct hf__zk_task *);

/* ---- simple.c: the same kinds by the simple recipe */

bool hf__zk_is_simple(const struct hf__zk_task *);
/* What makes "lock", from the i-th request on, and its answers. */
enum { HF__ZK_SIMPLE_CALLS = 3 };
void hf__zk_simple_ask_made(struct hf__zk_task *, int i);
void hf__zk_simple_take_made(struct hf__zk_task *, int i);
/* "lock" was made by us; t->line was seen after that. */
void hf__zk_simple_decide(struct hf__zk_task *);
/* The i-th answer is of "lock": is it the operation's? A release is also for
 * what a session of this client's before has left. */
bool hf__zk_simple_is_ours(const struct hf__zk_task *, int i);
/* It is known that it was made by us, or may have been. */
void hf__zk_simple_again(struct hf__zk_task *);
void hf__zk_simple_renew(struct hf__zk_task *); /* of a grant of ours */

/* ---- simple_leave.c */

void hf__zk_simple_release(struct hf__zk_task *);
/* Take away what was made, and end with t->verdict; HF__AGAIN: make it anew. */
void hf__zk_simple_leave(struct hf__zk_task *);

/* ---- renew.c */

/* The claim is there: the lease is begun anew if the session lives. */
void hf__zk_end_renewal(struct hf__zk_task *);

/* ---- over.c: the session is over */

bool hf__zk_is_renewal(const struct hf__op *);
/* Nothing of these was sent: they are asked in the next session; … */
void hf__zk_refuse_all(struct hf__zk *, struct hf__op *ops[], int n,
                       int status);
/* … what holds of it is lost. */
void hf__zk_end_grants(struct hf__zk *, struct hf__op *ops[], int n);

/* ---- leave.c */

/* What may be there of the operation's token: a listing behind a sync, which is
 * two requests. */
void hf__zk_search_ask(struct hf__zk_task *);
/* On false the task has ended. */
bool hf__zk_search_take(struct hf__zk_task *);
/* Is the i-th answer that it is gone, whoever took it away? If not, the task
 * has ended. */
bool hf__zk_is_gone(struct hf__zk_task *, int i, const char *child);
/* Our claim is gone: so goes its slot or twin, and ACQUIRE makes a new one. */
void hf__zk_clear_rest(struct hf__zk_task *);
/* The server said so; then whoever leaves a name last deletes its folder. */
bool hf__zk_has_no_containers(const struct hf__zk_task *);
/* Our claim is gone: do that, and end. */
void hf__zk_finish_leaving(struct hf__zk_task *, int result);
/* Take our claim away, tell who is in its way, and end with t->verdict. */
void hf__zk_withdraw(struct hf__zk_task *);
/* The same of a claim whose number, or its slot's, says nothing; if nobody else
 * is there, the numbers begin anew, and so does the claim. */
void hf__zk_leave_worn(struct hf__zk_task *);

#endif
