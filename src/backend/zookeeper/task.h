/* SPDX-License-Identifier: MIT */
/*
 * One operation of a batch in progress. It goes by steps: a step adds some
 * requests and names the function that takes their answers. The requests of all
 * operations go out together and are awaited together (round.c); then each
 * operation takes its answers and adds its next requests (task.c). The steps
 * are in steps.h. Thread: the backend session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_TASK_H
#define HF_BACKEND_ZOOKEEPER_TASK_H

#include "src/backend/zookeeper/inspect.h"
#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/queue.h"
#include "src/backend/zookeeper/zookeeper.h"

/* Kinds of requests, about a child of the folder, or about the folder itself if
 * no child is named. */
enum hf__zk_ask {
    HF__ZK_SYNC,
    HF__ZK_LIST,
    HF__ZK_GET,
    HF__ZK_EXISTS,
    HF__ZK_ACL,
    HF__ZK_DELETE,
    HF__ZK_WRITE, /* write to our own claim: hf__zk_write() */
    /* A write that always fails: by ZBADVERSION if the node is there, else by
     * ZNONODE. Either answer shows that the session lives, which answers to
     * reads and a sync do not, for a deposed leader would give those, too. */
    HF__ZK_PROOF,
    HF__ZK_MAKE_FOLDER, /* the i-th request makes the i-th of t->n_folders */
    HF__ZK_MAKE_CLAIM,
    HF__ZK_MAKE_SLOT,  /* makes the child of t->slot */
    HF__ZK_MAKE_LOCK,  /* makes "lock" and its marker, both or none */
    HF__ZK_DELETE_LOCK /* deletes both; part 0 is t->marker */
};

struct hf__zk_task;

typedef void hf__zk_begin_fn(struct hf__zk_task *);

struct hf__zk_request {
    enum hf__zk_ask what;
    bool changes;                  /* the request may change the tree */
    enum hf__zk_claim_state state; /* of WRITE: what our claim is to say */
    const char *child;             /* lent until answered; NULL: folder */
};

enum { HF__ZK_FEW = 4 }; /* enough for a release, or a renewal */

struct hf__zk_task {
    struct hf__zk *s;
    struct hf__op *op;
    hf__zk_begin_fn *begin;
    /* The next requests, and the function that takes their answers; no
     * requests: the task is done. The first few need no memory. */
    struct hf__zk_request *requests;
    struct hf__zk_request few[HF__ZK_FEW];
    int n_requests;
    int room;
    bool is_short;   /* there was no memory for one of them */
    bool may_join;   /* the first may be joined with other tasks' first */
    bool will_leave; /* on sending these, note it as leaving */
    void (*take)(struct hf__zk_task *);
    int n_asked;                /* how many answers are being taken */
    struct hf__zk_calls *calls; /* of this round, … */
    int first;                  /* … and where this task's own begin */
    bool has_changed;           /* some request may have changed the tree */
    char *folder;               /* path of the name's folder */
    int verdict; /* the result, if the steps that are left succeed */

    /* What we know of our own claim. */
    bool is_known;
    struct hf__zk_own own;
    int n_folders;    /* folders to make before it */
    int n_attempts;   /* how often we tried to make it */
    int n_looks;      /* looks at a state that may pass in a moment */
    int32_t expected; /* of a try: the sequence it gets if nobody comes before;
                         −1: others are there */
    uint64_t expected_in;  /* of a try: folder_zxid at that time */
    uint64_t created_zxid; /* of the claim, if made just now; or 0 */
    uint64_t mark;         /* zxid of its write of HOLDS; or 0 */
    uint64_t entered; /* the fence to grant, while the folder's ACL is read */
    int slot;         /* the slot to take */
    int candidate;    /* index in the queue of a claim that may be ours */
    int position;     /* index in the queue of our claim */
    const struct hf__zk_task *proof; /* RENEW: its write proves life */

    bool was_leaving;       /* RELEASE: the claim was leaving before */
    uint64_t broken;        /* BREAK: the fence to break; 0: all */
    int lock_at;            /* BREAK: index of its DELETE_LOCK; −1: none */
    struct hf__token lock;  /* BREAK: token of the "lock" to delete */
    struct hf__token alone; /* BREAK: of a "lock" without marker; or zero */
    char marker[HF__ZK_CHILD_MAX]; /* marker of the "lock" to delete */

    /* What the last listing showed. */
    bool has_folder;
    uint64_t folder_zxid;      /* czxid of the folder */
    uint64_t changed;          /* its pzxid, of its last new or deleted child */
    struct hf__zk_queue queue; /* its names belong to answers of this batch */
    struct hf__zk_participant *participants; /* allocated, or &one */
    int n_participants;
    int looked; /* index of the first request that reads them */
    struct hf__zk_participant one;
};

/* ---- task.c: the next requests */

/* Add a request; returns its index. */
int hf__zk_add(struct hf__zk_task *, enum hf__zk_ask, const char *child);
/* Add a write by which our claim tells its state. */
void hf__zk_write(struct hf__zk_task *, enum hf__zk_claim_state);
/* Add a sync, and a listing behind it. */
void hf__zk_add_search(struct hf__zk_task *);
/* `take` gets the answers once all are there, or will not come any more. With
 * no request added it is called at once. */
void hf__zk_then(struct hf__zk_task *, void (*take)(struct hf__zk_task *));
void hf__zk_task_path(const struct hf__zk_task *, const char *child,
                      char to[HF__ZK_PATH_MAX]);
/* Path of the i-th of the folders to make; −1 is the one above them. */
const char *hf__zk_task_folder(const struct hf__zk_task *, int i,
                               char to[HF__ZK_FOLDER_MAX]);

/* ---- task.c: what was answered, and what is known */

void hf__zk_finish(struct hf__zk_task *, int result);
/* The i-th answer to this task in this round. */
const struct hf__zk_answer *hf__zk_answered(const struct hf__zk_task *, int i);
int hf__zk_rc(const struct hf__zk_task *, int i);
/* Finish for want of memory; a claim that may be in the tree is deleted by a
 * later release. */
void hf__zk_fail_memory(struct hf__zk_task *, const char *what);
/* Is the i-th answer missing, so that the request may have been applied? */
bool hf__zk_lacks(const struct hf__zk_task *, int i);
/* Finish with the error of the i-th answer: HF_EUNKNOWN for an unknown one, if
 * the operation may have changed anything. The text names the folder's child;
 * NULL: the folder itself. */
void hf__zk_fail_at(struct hf__zk_task *, int i, const char *child);
/* The same, with the path to name. */
void hf__zk_fail_path(struct hf__zk_task *, int i, const char *path);
/* Take the i-th answer as a listing. False: the task has ended. */
bool hf__zk_see(struct hf__zk_task *, int i);
struct hf__zk_common *hf__zk_task_common(const struct hf__zk_task *);
/* Take answers 0 and 1 as those of hf__zk_add_search(). False: the task has
 * ended. */
bool hf__zk_see_search(struct hf__zk_task *);
/* Is the i-th answer ZOK or ZNONODE? After a delete that means that the node is
 * gone, whoever deleted it. False: the task has ended. */
bool hf__zk_is_gone(struct hf__zk_task *, int i, const char *child);
/* The same for the first n answers. */
bool hf__zk_are_gone(struct hf__zk_task *, int n);
/* Tell the ZooKeeper session what we know of our own claim; or that it is
 * gone. */
void hf__zk_remember(struct hf__zk_task *);
void hf__zk_forget(struct hf__zk_task *);
/* Our claim is gone: delete its slot or marker, if it has one; then forget the
 * claim. False: the task has ended. */
void hf__zk_clear(struct hf__zk_task *);
bool hf__zk_has_cleared(struct hf__zk_task *);
/* The same for ACQUIRE, which then starts over, up to a limit. */
void hf__zk_start_anew(struct hf__zk_task *);
/* Others may delete an empty folder as often as we make it, so tries are
 * limited. */
enum { HF__ZK_ATTEMPTS_MAX = 6 };

static inline bool hf__zk_is_simple(const struct hf__zk_task *t)
{
    return t->s->url.recipe == HF__ZK_SIMPLE;
}

/* Is it an acquire that will not wait? */
static inline bool hf__zk_is_try(const struct hf__zk_task *t)
{
    return t->op->queueing == HF__QUEUE_NEVER;
}

/* The server said that it knows no containers: then the last to leave a name
 * deletes its folder. */
static inline bool hf__zk_has_no_containers(const struct hf__zk_task *t)
{
    return atomic_load(&hf__zk_task_common(t)->has_no_containers);
}

/* ---- round.c */

/* Run all operations, each starting with `begin`, until they are done. HF_OK;
 * negative: the session is over, and err says why. */
HF_MUST_CHECK int hf__zk_run(struct hf__zk *s, hf__zk_begin_fn *begin,
                             struct hf__op *ops[], int n, hf__time deadline,
                             hf_error *err);
/* The same for one operation that starts with at most HF__ZK_FEW requests: it
 * needs no memory but what is kept for it. */
HF_MUST_CHECK int hf__zk_run_alone(struct hf__zk *s, hf__zk_begin_fn *begin,
                                   struct hf__op *op, hf__time deadline,
                                   hf_error *err);

#endif
