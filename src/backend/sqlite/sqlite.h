/* SPDX-License-Identifier: MIT */
/*
 * A session of the SQLite store, as the files of this folder share it. Each
 * uses those below it:
 *
 *     sqlite.c       opening, closing, check()
 *     batch.c        execute()
 *     store.c        what the engine asks, list(), gc()
 *     cells.c        values with versions
 *     read.c         loading a name
 *     commit.c       writing what was decided of a name
 *     connect.c      opening a connection, and the tables
 *     vfs.c          whose file it is, and what SQLite may open
 *     transaction.c  a transaction: clocks, disk blocks, fences
 *     sql.c          the statements
 *     dir.c          the folder, its files, the open lock
 *     write_queue.c  writers in order
 *
 * Thread: the session's, except hf__local_interrupt().
 */
#ifndef HF_BACKEND_SQLITE_SQLITE_H
#define HF_BACKEND_SQLITE_SQLITE_H

#include "src/backend/local/local.h"
#include "src/backend/sqlite/dir.h"
#include "src/backend/sqlite/sql.h"

#define HF__LIFE_DIGITS 16

/* One transaction takes this many operations; a longer batch takes several. */
#define HF__SQLITE_BATCH 256

/* What a transaction does outside the database: it remembers grants in this
 * process, wakes waiters, and tells holders of a break. These effects are noted
 * while it runs, and done or undone once the commit is answered. The list
 * starts with room for what most batches need, so that renewals and releases
 * allocate no memory. */
enum hf__side_effect_kind {
    HF__EFFECT_HELD,   /* the grant was remembered; undo forgets it */
    HF__EFFECT_LET_GO, /* the grant is to be forgotten */
    HF__EFFECT_EXTEND, /* the grant's lease ends later */
    HF__EFFECT_BROKEN, /* the grant's holder is told of the break */
    HF__EFFECT_NOTIFY, /* the claim of that ticket may enter */
    HF__EFFECT_FREED,  /* one waiter of the name may enter */
    HF__EFFECT_OPENED, /* all waiters of the name may enter */
    HF__EFFECT_TAKEN   /* sleepers on the name may not enter now */
};

struct hf__side_effect {
    enum hf__side_effect_kind kind;
    struct hf__token token;
    const struct hf__op *op; /* of FREED, OPENED, TAKEN */
    int64_t ends_us;         /* of EXTEND */
    uint64_t life;           /* of BROKEN: the holder's life; 0: unknown */
};

struct hf__side_effects {
    struct hf__side_effect *list;
    int n;
    int room;
};

struct hf__sqlite {
    struct hf__local local; /* its parker also sleeps for the busy handler */
    struct hf__sqlite_dir sqlite_dir;
    struct hf__sqlite_dir_watch watch;
    struct hf__connection *db; /* of the running, or a failed call; see sql.h */
    bool is_open;
    char life[64]; /* this process as records name it: "dev:ino:" of the side
                      file and HF__LIFE_DIGITS digits of its life */

    /* Of the running call: */
    hf_error *err;
    int moved_file;    /* enum hf__sqlite_file, −1: none */
    bool has_no_queue; /* the write queue was empty when it began */
    bool is_hasty;     /* the next BEGIN does not wait for the lock */

    /* Of the running transaction: */
    int64_t now_us;  /* CLOCK_BOOTTIME */
    int64_t wall_us; /* since 1970 */

    /* See transaction.h. */
    uint64_t fence_base;
    uint64_t fence_ceiling;
    uint64_t fence_wanted; /* a fence above the ceiling; 0: none */

    /* Of its operations; reported once the commit is answered. */
    struct hf__outcome outcome[HF__SQLITE_BATCH];
    struct hf__side_effects effects;
    int rc; /* why the transaction has to be undone */

    /* The name being worked on. */
    struct hf__name name;
    struct hf__inline_participants inline_one;
    bool is_unfit;    /* the connection failed while waiting */
    bool has_row;     /* the name has a row in holdfast_lock, */
    bool has_holders; /* perhaps some in holdfast_beside, */
    bool has_waiters; /* and perhaps some in holdfast_ticket */
    uint64_t highest; /* highest fence of the deleted records */
};

/* ---- read.c */

/* Primitives of the engine. */
int hf__sqlite_load(void *s, const struct hf__key *, const struct hf__op *,
                    bool to_change, struct hf__name **ret_name, hf_error *);
void hf__sqlite_put_down(void *s);

/* How much of a name is read. A name without a queue that is free, or has one
 * exclusive grant, costs one row, whatever is asked for. */
enum hf__extent {
    HF__ALL_OF_IT,
    HF__WHAT_MATTERS /* only what the operation needs if all goes well; the name
                        is then marked as partial */
};

/* Read the name into s->name, which must be empty. op is NULL for a wait or a
 * cleaning. SQLITE_OK also if there is no such name. */
HF_MUST_CHECK int hf__sqlite_read(struct hf__sqlite *s,
                                  const struct hf__key *key,
                                  const struct hf__op *op, enum hf__extent);

/* ---- commit.c */

/* The engine's commit: HF_OK, or HF__ABORTED with the reason in s->rc. */
int hf__sqlite_commit(void *s, const struct hf__op *op, struct hf__name *,
                      struct hf__outcome *);
/* Try to renew or release in one statement, without reading first. This works
 * for the renewal of a grant that has the name alone, and for its release when
 * the queue is empty. SQLITE_OK also if it did not apply and nothing was done;
 * else the reason for the failure. */
HF_MUST_CHECK int hf__sqlite_commit_fast(struct hf__sqlite *s,
                                         const struct hf__op *op,
                                         struct hf__outcome *out,
                                         bool *ret_is_done);

/* ---- calls of backend.h, and their parts */

extern const struct hf__primitives hf__sqlite_primitives; /* store.c */

int hf__sqlite_execute(void *state, struct hf__op *ops[], int n,
                       hf__time deadline, hf_error *err);
int hf__sqlite_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                  hf__time deadline, hf_error *err);
int hf__sqlite_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                    hf_error *err);
/* Clean one slice of the cells, for gc(), in the running transaction (cells.c).
 * SQLITE_OK, or what went wrong. */
HF_MUST_CHECK int hf__sqlite_clean_cells(struct hf__sqlite *s,
                                         const struct hf__key *prefix,
                                         struct hf__gc *g);

#endif
