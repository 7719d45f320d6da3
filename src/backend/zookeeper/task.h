/* SPDX-License-Identifier: MIT */
/*
 * One operation of a batch on its way. It goes by steps: a step writes down
 * some requests and who takes their answers; those of all operations go out
 * together and are awaited together (round.c), and then each takes its answers
 * and writes down what is next (task.c). The steps are in steps.h.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_TASK_H
#define HF_BACKEND_ZOOKEEPER_TASK_H

#include "src/backend/zookeeper/inspect.h"
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/queue.h"
#include "src/backend/zookeeper/zookeeper.h"

/* What may be asked of the folder's child, or of the folder where there is
 * none. */
enum hf__zk_ask {
    HF__ZK_SYNC,
    HF__ZK_LIST,
    HF__ZK_GET,
    HF__ZK_EXISTS,
    HF__ZK_ACL,
    HF__ZK_DELETE,
    HF__ZK_WRITE, /* to our own claim: hf__zk_write() */
    /* A write that fails if it is there, by ZBADVERSION, and if it is not;
     * either shows that the session lives, which reads and a sync do not, for
     * an old leader would answer those, too. */
    HF__ZK_PROOF,
    HF__ZK_MAKE_FOLDER, /* the i-th request that of t->n_folders */
    HF__ZK_MAKE_CLAIM,
    HF__ZK_MAKE_SLOT,  /* t->slot */
    HF__ZK_MAKE_LOCK,  /* and its marker: both, or none */
    HF__ZK_DELETE_LOCK /* the same, where t->marker is part 0 */
};

struct hf__zk_task;

typedef void hf__zk_begin_fn(struct hf__zk_task *);

struct hf__zk_request {
    enum hf__zk_ask what;
    bool changes;                  /* more than a look */
    enum hf__zk_claim_state state; /* WRITE */
    const char *child;             /* lent until the answers are taken */
};

enum { HF__ZK_FEW = 4 }; /* a release has no more, nor a renewal */

struct hf__zk_task {
    struct hf__zk *s;
    struct hf__op *op;
    hf__zk_begin_fn *begin;
    /* The next requests, and who takes their answers; none: it is done. The
     * first few need no memory. */
    struct hf__zk_request *requests;
    struct hf__zk_request few[HF__ZK_FEW];
    int n_requests;
    int room;
    bool is_short;   /* of memory for one of them */
    bool may_join;   /* the first of them, to other tasks' */
    bool will_leave; /* what is sent with them says that the claim goes */
    void (*take)(struct hf__zk_task *);
    int n_asked;                /* whose answers are taken */
    struct hf__zk_calls *calls; /* of this round, … */
    int first;                  /* … and where its own begin there */
    bool has_changed;           /* something in the tree, or perhaps */
    char *folder;               /* of the name */
    int verdict; /* the result, once all that goes before it is done */

    /* What is known of our own claim. */
    bool is_known;
    struct hf__zk_own own;
    int n_folders;         /* that are made before it */
    int n_attempts;        /* to make it */
    int n_looks;           /* at what may be over in a moment */
    int32_t expected;      /* of a try: the sequence that it will have if nobody
                              comes before it; −1: others are there */
    uint64_t expected_in;  /* the same: folder_born */
    uint64_t created_zxid; /* of the claim, if it was made just now; or 0 */
    uint64_t mark;    /* zxid of its saying that it has entered, if it did so
                         already; or 0 */
    uint64_t entered; /* the fence, while the folder is being checked */
    int slot;         /* that is being taken */
    int candidate;    /* in the queue: may be ours */
    int position;     /* in the queue: is ours */
    const struct hf__zk_task *proof; /* RENEW: whose write shows that the
                                        session lives */

    bool was_leaving; /* RELEASE: it was told to go before */
    uint64_t broken;  /* BREAK: the fence that is meant; 0: all */
    int lock_at; /* BREAK: the request that deletes "lock" and its marker; −1 */
    struct hf__token lock;  /* BREAK: of a "lock" that is meant */
    struct hf__token alone; /* BREAK: of a "lock" that has no marker; or zero */
    char marker[HF__ZK_CHILD_MAX]; /* of the "lock" that is to be deleted */

    /* What was seen at the name. */
    bool has_folder;
    uint64_t folder_zxid;      /* its zxid */
    uint64_t changed;          /* zxid of the last child made or deleted */
    struct hf__zk_queue queue; /* its names are answers' of this batch */
    struct hf__zk_participant *participants; /* or the one */
    int n_participants;
    int looked; /* the first of the requests that read them */
    struct hf__zk_participant one;
};

/* ---- task.c: the next requests */

/* One more; gives its index. */
int hf__zk_add(struct hf__zk_task *, enum hf__zk_ask, const char *child);
/* The same, that our claim says so. */
void hf__zk_write(struct hf__zk_task *, enum hf__zk_claim_state);
/* A listing behind a sync. */
void hf__zk_add_search(struct hf__zk_task *);
/* Their answers, all there or not to come any more, are for `take`: which is
 * called at once if nothing was added. */
void hf__zk_then(struct hf__zk_task *, void (*take)(struct hf__zk_task *));
void hf__zk_task_path(const struct hf__zk_task *, const char *child,
                      char to[HF__ZK_PATH_MAX]);
/* The i-th of the folders that are made; −1 is the one above all. */
const char *hf__zk_task_folder(const struct hf__zk_task *, int i,
                               char to[HF__ZK_FOLDER_MAX]);

/* ---- task.c: what was answered, and what is known */

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
/* Answers 0 and 1 are those of a search. On false the task has ended. */
bool hf__zk_see_search(struct hf__zk_task *);
/* Is the i-th answer that it is gone, whoever took it away? If not, the task
 * has ended. */
bool hf__zk_is_gone(struct hf__zk_task *, int i, const char *child);
/* The same of the first n. */
bool hf__zk_are_gone(struct hf__zk_task *, int n);
/* What is known of our own claim, to who shares the session. */
void hf__zk_remember(struct hf__zk_task *);
void hf__zk_forget(struct hf__zk_task *);
/* Our claim is gone: so goes its slot or marker, if it has one. Once it has,
 * the claim is forgotten; on false the task has ended. */
void hf__zk_clear(struct hf__zk_task *);
bool hf__zk_has_cleared(struct hf__zk_task *);
/* The same of ACQUIRE, which begins anew then, but not for ever. */
void hf__zk_start_anew(struct hf__zk_task *);
/* A folder may be taken away, empty, as often as it is made. */
enum { HF__ZK_ATTEMPTS_MAX = 6 };

static inline bool hf__zk_is_simple(const struct hf__zk_task *t)
{
    return t->s->url.recipe == HF__ZK_SIMPLE;
}

/* An acquire that will not wait. */
static inline bool hf__zk_is_try(const struct hf__zk_task *t)
{
    return t->op->queueing == HF__QUEUE_NEVER;
}

/* The server said so; then whoever leaves a name last deletes its folder. */
static inline bool hf__zk_has_no_containers(const struct hf__zk_task *t)
{
    return atomic_load(&hf__zk_task_common(t)->has_no_containers);
}

/* ---- round.c */

/* All of them, as they begin by themselves, until each is done. HF_OK;
 * negative: the session is over, and err says why. */
HF_MUST_CHECK int hf__zk_run(struct hf__zk *s, hf__zk_begin_fn *begin,
                             struct hf__op *ops[], int n, hf__time deadline,
                             hf_error *err);
/* One that begins with few requests: it needs no memory but what is kept. */
HF_MUST_CHECK int hf__zk_run_alone(struct hf__zk *s, hf__zk_begin_fn *begin,
                                   struct hf__op *op, hf__time deadline,
                                   hf_error *err);

#endif
