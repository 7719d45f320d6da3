/* SPDX-License-Identifier: MIT */
/*
 * A session of the SQLite store, as the files of this folder share it.
 *
 *     sqlite.c   opening, closing, interrupting
 *     place.c    the folder and its files       sql.c     the connection
 *     door.c     one opener at a time           schema.c  the tables
 *     side.c     who lives                      row.c     a record
 *     gate.c     writers in order               batch.c   execute()
 *     wait.c     waiters                        apply.c   one operation
 *     held.c     what this process holds        fence.c   rising numbers
 *     inherit.c  connections that a fork leaves check.c   check()
 *     pool.c     idle connections               list.c    list()
 *     gc.c       gc()                           beside.c  grants side by side
 *     line.c     tickets                        entry.c   who may enter
 *     crowded.c  an operation where others are  vfs.c     what SQLite may open
 *     operate.c  inspecting, breaking           header.c  whose file it is
 *
 * Thread: the session's, except hf__sqlite_interrupt().
 */
#ifndef HF_BACKEND_SQLITE_SQLITE_H
#define HF_BACKEND_SQLITE_SQLITE_H

#include "src/backend/shared.h"
#include "src/backend/sqlite/place.h"
#include "src/backend/sqlite/side.h"
#include "src/backend/sqlite/sql.h"
#include "src/base/boot.h"

/* As many operations go into one transaction; more go into several. */
#define HF__SQLITE_BATCH 256

/* What became of an operation, until the commit is answered. */
struct hf__outcome {
    int result;
    uint64_t fence;   /* 0: leave the operation's as it is */
    uint64_t broken;  /* what a grant keeps of the record before it */
    hf_reason reason; /* of LOST */
    bool is_freed;    /* the name may be acquired now */
    bool is_opened;   /* the same, by several */
    bool is_taken;    /* it has another holder now */
    bool is_held;     /* `hold` was locked for this; undone if not applied */
    struct hf__token hold;
    struct hf__token let_go; /* to forget; zero: none */
    int64_t extend_us;       /* the token's new expiry; 0: unchanged */
    bool has_beside;         /* what a grant keeps of the name's record, too */
    bool has_line;
    bool is_queued; /* as in hf__op */
    bool took_over; /* the same */
    int slot;       /* the same */
};

/* Those at a name who were read last; room for them. */
struct hf__party_room {
    struct hf__stand *list;
    int n;
    int room;
};

/* Whose turn has come may be so many in a transaction; more look for
 * themselves. */
#define HF__RINGS_MAX 512

/* A grant that an operator ended. */
struct hf__broken_grant {
    struct hf__token token;
    uint64_t life; /* of its holder's process; 0: unknown */
};

struct hf__sqlite {
    struct hf__head head;
    struct hf__place place;
    struct hf__place_watch watch;
    struct hf__side *side;
    struct hf__connection *db; /* while it works; see pool.h */
    struct hf__nap nap;        /* its parker: sleeps of the busy handler */
    struct hf__heard heard;
    bool is_open;
    char boot[HF__BOOT_SIZE]; /* boot id ':' inode of the time namespace */

    /* Of the call that runs: */
    hf__time deadline;
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

    struct hf__outcome outcome[HF__SQLITE_BATCH];

    /* See entry.h. */
    struct hf__party_room holders;
    struct hf__party_room line;
    /* In line, to be woken once the commit is answered. */
    struct hf__token rings[HF__RINGS_MAX];
    int n_rings;
    /* Whose holders are to be told then; more find it at their renewals. */
    struct hf__broken_grant broken[HF__BREAKS];
    int n_broken;
};

/* At the start of each call: its limits. */
void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err);
/* Begin a transaction that writes, and read the clocks for it. SQLITE_OK; else
 * none runs: SQLITE_READONLY_DBMOVED (s->moved_file says which), or SQLite's
 * own reason. */
HF_MUST_CHECK int hf__sqlite_begin_write(struct hf__sqlite *s);

/* The transaction ends that grant. */
void hf__sqlite_note_broken(struct hf__sqlite *s, const struct hf__token *token,
                            uint64_t life);

/* Are the files no longer those that were opened? s->moved_file says which. */
HF_MUST_CHECK bool hf__sqlite_has_moved(struct hf__sqlite *s);
/* "PATH-wal was deleted, cut off or replaced while in use; …" */
HF_MUST_CHECK int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file,
                                        hf_error *err);

int hf__sqlite_execute(void *state, struct hf__op *ops[], int n,
                       hf__time deadline, hf_error *err);
int hf__sqlite_wait(void *state, struct hf__watch *w[], int n,
                    hf__time deadline, hf_error *err);
int hf__sqlite_listen(void *state, hf__broken_fn fn, void *arg,
                      hf__time deadline, hf_error *err);
int hf__sqlite_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                    void *arg, hf__time deadline, hf_error *err);
int hf__sqlite_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                  hf__time deadline, hf_error *err);
int hf__sqlite_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                     hf_error *err);

#endif
