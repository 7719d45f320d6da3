/* SPDX-License-Identifier: MIT */
/*
 * Where memory: keeps its records. A store is shared by all sessions that
 * opened its name. It lives as long as one of them is open, a lease runs or a
 * name is kept, so that a client whose only session died finds its grants
 * again, as on a server. Then it is freed, and fences go on rising by the wall
 * clock. With session_timeout in the URL, grants and tickets instead end with
 * their client: they last while it has a session open, and for the timeout
 * after the last was closed, as if its connection was cut. A forked child has
 * none of its parent's stores. Everything here is called under the mutex of
 * hf__mem_stores, except begin() of the primitives and the calls for cells,
 * which lock it.
 */
#ifndef HF_BACKEND_MEMORY_STORE_H
#define HF_BACKEND_MEMORY_STORE_H

#include "src/backend/breaks.h"
#include "src/backend/name/engine.h"
#include "src/base/fork_list.h"
#include "src/base/list.h"
#include "src/base/map.h"

/* The life to which breaks are told: this process, the only one there is. */
#define HF__MEM_LIFE 1

/* A client whose grants end with it. */
struct hf__mem_life {
    struct hf__link link; /* in the store's lives */
    uint64_t number;      /* its grants have this as their life */
    uint64_t client;      /* 0: of one session alone */
    int64_t timeout_ms;
    unsigned sessions;
    hf__time until; /* set once no session is left */
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
    uint64_t cells_gone;       /* highest version of a forgotten cell */
    struct hf__name none;      /* stands for a name without a record */
    struct hf__parker changed; /* unparked at a change: sleepers look again */
    struct hf__breaks breaks;
    struct hf__words words; /* mapped onto breaks */
    char name[];
};

extern struct hf__fork_list hf__mem_stores;

struct hf__mem_session {
    struct hf__engine_session engine_session;
    struct hf__mem_store *store; /* NULL: not opened */
    struct hf__mem_life *life;   /* NULL: grants have leases */
    bool has_changed;            /* a record changed since the last begin */
    struct hf__sleep_slot sleep_slot;
    struct hf__breaks_seen heard;
};

/* Find the store of that name, or create it. NULL: out of memory. */
struct hf__mem_store *hf__mem_store(const char *name);
/* Free every store that has no session and no running lease, keep or wait. */
void hf__mem_sweep(void);

/* Set s->life if the URL says that grants end with their client. HF_OK,
 * HF_EINVAL, HF_ENOMEM. */
HF_MUST_CHECK int hf__mem_begin_life(struct hf__mem_session *,
                                     const struct hf__url *, hf_error *);

/* Find the name with its present state; NULL: it has no record. */
struct hf__mem_entry *hf__mem_find(struct hf__mem_store *,
                                   const struct hf__key *);
extern const struct hf__primitives hf__mem_primitives;

/* As backend.h says; called without the mutex, as is the next. */
int hf__mem_cell(void *s, struct hf__cell_op *, hf__time deadline, hf_error *);
/* Delete the tombstones under that prefix. */
void hf__mem_clean_cells(struct hf__mem_store *, const struct hf__key *prefix,
                         struct hf__gc *);

#endif
