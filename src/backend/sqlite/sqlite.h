/* SPDX-License-Identifier: MIT */
/*
 * A session of the SQLite store, as the files of this folder share it. Each
 * uses those below it:
 *
 *     sqlite.c       opening, closing, check()
 *     batch.c        execute()
 *     store.c        what the engine asks, list(), gc()
 *     cells.c        values with versions
 *     read.c         a name: who is there
 *     commit.c       a name: what was decided
 *     connect.c      opening a connection, and the tables
 *     vfs.c          whose file it is, and what SQLite may open
 *     transaction.c  its clocks, blocks and fences
 *     sql.c          the statements
 *     dir.c          the directory, its files, the open lock
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

/* As many operations go into one transaction; more go into several. */
#define HF__SQLITE_BATCH 256

/* What a transaction does beside the database: grants that this process
 * remembers, sleepers to be woken, holders to be told of a break. Noted while
 * it runs; done once the commit is answered, or undone. Room for what most need
 * is there from the start: to renew and to release takes no memory. */
enum hf__side_effect_kind {
    HF__EFFECT_HELD,   /* the grant was remembered; undone: it is forgotten */
    HF__EFFECT_LET_GO, /* it is to be forgotten */
    HF__EFFECT_EXTEND, /* its lease ends later */
    HF__EFFECT_BROKEN, /* its holder is to hear of it */
    HF__EFFECT_NOTIFY, /* the claim of that ticket may enter */
    HF__EFFECT_FREED,  /* somebody who sleeps on the name may enter */
    HF__EFFECT_OPENED, /* all who sleep there may */
    HF__EFFECT_TAKEN   /* nobody may; in order to claim, or not */
};

struct hf__side_effect {
    enum hf__side_effect_kind kind;
    struct hf__token token;
    const struct hf__op *op; /* of FREED, OPENED, TAKEN */
    int64_t ends_us;         /* of EXTEND */
    uint64_t life;           /* of BROKEN: its process's; 0: unknown */
};

struct hf__side_effects {
    struct hf__side_effect *list;
    int n;
    int room;
};

struct hf__sqlite {
    struct hf__local local; /* its parker: sleeps of the busy handler */
    struct hf__sqlite_dir sqlite_dir;
    struct hf__sqlite_dir_watch watch;
    struct hf__connection *db; /* while it works; see sql.h */
    bool is_open;
    char life[64]; /* "dev:ino:" and HF__LIFE_DIGITS, as records name it */

    /* Of the call that runs: */
    hf_error *err;
    int moved_file;    /* enum hf__sqlite_file, −1: none */
    bool has_no_queue; /* in the write queue when it began */
    bool is_hasty;     /* the next BEGIN does not wait */

    /* Of the transaction that runs: */
    int64_t now_us;  /* CLOCK_BOOTTIME */
    int64_t wall_us; /* since 1970 */

    /* See transaction.h. */
    uint64_t fence_base;
    uint64_t fence_ceiling;
    uint64_t fence_wanted; /* above the ceiling; 0: none */

    /* Of its operations; told once the commit is answered. */
    struct hf__outcome outcome[HF__SQLITE_BATCH];
    struct hf__side_effects effects;
    int rc; /* why it has to be undone */

    /* The name in hand. */
    struct hf__name name;
    struct hf__inline_participants inline_one;
    bool is_unfit;    /* the connection failed while waiting */
    bool has_row;     /* of its own in holdfast_lock, */
    bool has_holders; /* perhaps some in holdfast_beside, */
    bool has_waiters; /* … and in holdfast_ticket */
    uint64_t highest; /* fence of what was cleaned away */
};

/* ---- read.c */

/* Two primitives of the engine. */
int hf__sqlite_load(void *s, const struct hf__key *, const struct hf__op *,
                    bool to_change, struct hf__name **ret_name, hf_error *);
void hf__sqlite_put_down(void *s);

/* How much of a name is read. A name without others costs what its own row
 * does, whatever is asked for. */
enum hf__extent {
    HF__ALL_OF_IT,
    HF__WHAT_MATTERS /* to that operation, if all goes well: then the name is
                        marked as partial */
};

/* Into s->name, which is empty. op may be NULL: somebody waits, or cleans.
 * SQLITE_OK also if there is no such name. */
HF_MUST_CHECK int hf__sqlite_read(struct hf__sqlite *s,
                                  const struct hf__key *key,
                                  const struct hf__op *op, enum hf__extent);

/* ---- commit.c */

/* The engine's commit: HF_OK, or HF__ABORTED with the reason in s->rc. */
int hf__sqlite_commit(void *s, const struct hf__op *op, struct hf__name *,
                      struct hf__outcome *);
/* What one statement does without reading: the renewal, or the release where
 * nobody waits in the queue, of one who has the name alone. SQLITE_OK, also if
 * it was not that and nothing is done; or why not. */
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
/* cells.c, for gc(): a slice, in the transaction that runs. SQLITE_OK, or what
 * went wrong. */
HF_MUST_CHECK int hf__sqlite_clean_cells(struct hf__sqlite *s,
                                         const struct hf__key *prefix,
                                         struct hf__gc *g);

#endif
