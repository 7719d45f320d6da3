/* SPDX-License-Identifier: MIT */
/*
 * A session of the SQLite store, as the files of this folder share it.
 *
 *     sqlite.c   opening, closing               sql.c     the connection
 *     place.c    the folder and its files       schema.c  the tables
 *     door.c     one opener at a time           name.c    reading a name
 *     gate.c     writers in order               row.c     a row
 *     batch.c    execute()                      commit.c  what was decided
 *     store.c    what the engine asks           write.c   into a row
 *     inherit.c  connections that a fork leaves deeds.c   beside the database
 *     pool.c     idle connections               fence.c   rising numbers
 *     check.c    check()                        survey.c  list(), gc()
 *     header.c   whose file it is               vfs.c     what SQLite may open
 *     cells.c    values with versions           space.c   blocks on the disk
 *     texts.c    the statements
 *
 * Thread: the session's, except hf__local_interrupt().
 */
#ifndef HF_BACKEND_SQLITE_SQLITE_H
#define HF_BACKEND_SQLITE_SQLITE_H

#include "src/backend/local/local.h"
#include "src/backend/sqlite/deeds.h"
#include "src/backend/sqlite/place.h"
#include "src/backend/sqlite/side.h"
#include "src/backend/sqlite/sql.h"

#define HF__LIFE_DIGITS 16

/* As many operations go into one transaction; more go into several. */
#define HF__SQLITE_BATCH 256

struct hf__sqlite {
    struct hf__local local; /* its parker: sleeps of the busy handler */
    struct hf__place place;
    struct hf__place_watch watch;
    struct hf__connection *db; /* while it works; see pool.h */
    bool is_open;
    char life[64]; /* "dev:ino:" and HF__LIFE_DIGITS, as records name it */

    /* Of the call that runs: */
    hf_error *err;
    int moved_file;    /* enum hf__place_file, −1: none */
    bool has_no_queue; /* at the gate when it began */
    bool is_hasty;     /* the next BEGIN does not wait */

    /* Of the transaction that runs: */
    int64_t now_us;  /* CLOCK_BOOTTIME */
    int64_t wall_us; /* since 1970 */

    /* See fence.h. */
    uint64_t fence_base;
    uint64_t fence_ceiling;
    uint64_t fence_wanted; /* above the ceiling; 0: none */

    /* Of its operations; told once the commit is answered. */
    struct hf__outcome outcome[HF__SQLITE_BATCH];
    struct hf__deeds deeds;
    struct hf__deed first[2 * HF__SQLITE_BATCH]; /* of these, without memory */
    int rc;                                      /* why it has to be undone */

    /* The name in hand. */
    struct hf__name name;
    struct hf__few few;
    bool is_unfit;    /* the connection failed while waiting */
    bool has_row;     /* of its own in holdfast_lock, */
    bool has_beside;  /* perhaps some in holdfast_beside, */
    bool has_line;    /* … and in holdfast_ticket */
    uint64_t highest; /* fence of what was cleaned away */
};

/* At the start of each call: its limits. */
void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err);
/* Begin a transaction that writes, and read the clocks for it. SQLITE_OK; else
 * none runs: SQLITE_READONLY_DBMOVED (s->moved_file says which), or SQLite's
 * own reason. */
HF_MUST_CHECK int hf__sqlite_begin_write(struct hf__sqlite *s);

/* Are the files no longer those that were opened? s->moved_file says which. */
HF_MUST_CHECK bool hf__sqlite_has_moved(struct hf__sqlite *s);
/* "PATH-wal was deleted, cut off or replaced while in use; …" */
HF_MUST_CHECK int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file,
                                        hf_error *err);

extern const struct hf__primitives hf__sqlite_primitives; /* store.c */

int hf__sqlite_execute(void *state, struct hf__op *ops[], int n,
                       hf__time deadline, hf_error *err);
int hf__sqlite_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                  hf__time deadline, hf_error *err);
/* survey.c, for the engine. */
int hf__sqlite_scan(void *state, struct hf__scan *, hf_error *err);
int hf__sqlite_forget(void *state, const struct hf__key *, struct hf__name *,
                      int64_t idle_us);
int hf__sqlite_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                    hf_error *err);
/* cells.c, for gc(): a slice, in the transaction that runs. SQLITE_OK, or what
 * went wrong. */
HF_MUST_CHECK int hf__sqlite_clean_cells(struct hf__sqlite *s,
                                         const struct hf__key *prefix,
                                         struct hf__gc *g);
int hf__sqlite_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                     hf_error *err);

#endif
