/* SPDX-License-Identifier: MIT */
/*
 * Where memory: keeps its records. A store is shared by all sessions that
 * opened its name. It lives as long as one of them is open or a lease or a
 * keeping runs, so that a client whose only session died finds its grants
 * again, as on a server; then it is forgotten, and the fences go on rising by
 * the wall clock. With session_timeout in the URL grants and tickets live with
 * their client instead: while it has a session open, and for the timeout after
 * the last was closed, like one whose connection was cut. A forked child has
 * none of its parent's. Everything here is called under the mutex of
 * hf__mem_stores.
 */
#ifndef HF_BACKEND_MEMORY_STORE_H
#define HF_BACKEND_MEMORY_STORE_H

#include "src/backend/breaks.h"
#include "src/backend/name/engine.h"
#include "src/base/fork_list.h"
#include "src/base/list.h"
#include "src/base/map.h"

/* Of this process, the only one there is: to whom breaks are told. */
#define HF__MEM_LIFE 1

/* A client whose grants live with it. */
struct hf__mem_life {
    struct hf__link link; /* in the store's lives */
    uint64_t number;      /* by which its grants know it */
    uint64_t client;      /* 0: of one session alone */
    int64_t timeout_ms;
    unsigned sessions;
    hf__time until; /* once no session is left */
};

/* One name. */
struct hf__mem_entry {
    struct hf__map_link link;
    struct hf__name name;
    size_t length;
    char key[HF__KEY_MAX];
};

struct hf__mem_store {
    struct hf__link link;
    unsigned sessions;
    struct hf__link lives;
    uint64_t last_life;
    struct hf__map entries;
    struct hf__map cells;
    uint64_t cells_gone;  /* the highest version of one that was forgotten */
    struct hf__name none; /* of a name that nobody has had */
    struct hf__parker changed; /* of a record; the sleepers look again */
    struct hf__breaks breaks;
    struct hf__words words; /* the breaks */
    char name[];
};

extern struct hf__fork_list hf__mem_stores;

struct hf__mem_session {
    struct hf__engine_session engine_session;
    struct hf__mem_store *store; /* NULL: not opened */
    struct hf__mem_life *life;   /* NULL: grants have leases */
    bool has_changed;            /* a record, since the last begin */
    struct hf__sleep_slot sleep_slot;
    struct hf__breaks_seen heard;
};

/* The store of that name, made if there is none. NULL: out of memory. */
struct hf__mem_store *hf__mem_store(const char *name);
/* Forget every store that nobody uses and in which nothing runs. */
void hf__mem_sweep(void);

/* By the URL: HF_OK, and s->life if grants are to live with their client;
 * HF_EINVAL, HF_ENOMEM. */
HF_MUST_CHECK int hf__mem_begin_life(struct hf__mem_session *,
                                     const struct hf__url *, hf_error *);

/* As it stands now; NULL: nobody has had that name before. */
struct hf__mem_entry *hf__mem_find(struct hf__mem_store *,
                                   const struct hf__key *);
extern const struct hf__primitives hf__mem_primitives;

/* As backend.h has it. */
int hf__mem_cell(void *s, struct hf__cell_op *, hf__time deadline, hf_error *);
/* Delete the tombstones under that prefix. */
void hf__mem_clean_cells(struct hf__mem_store *, const struct hf__key *prefix,
                         struct hf__gc *);

#endif
