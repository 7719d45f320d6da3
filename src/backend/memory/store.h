/* SPDX-License-Identifier: MIT */
/*
 * Where memory: keeps its records. A store is shared by all sessions that
 * opened its name. It lives as long as one of them is open or a lease or a
 * keeping runs, so that a client whose only session died finds its grants
 * again, as on a server; then it is forgotten, and the fences go on rising by
 * the wall clock. Everything here is called under hf__mem_mutex.
 */
#ifndef HF_BACKEND_MEMORY_STORE_H
#define HF_BACKEND_MEMORY_STORE_H

#include "src/backend/backend.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

/* One name. The token is the owner's until release, break or the next grant
 * clears it; whether it still counts is a question of the time. */
struct hf__mem_entry {
    struct hf__map_link link;
    struct hf__token token;
    uint64_t fence;
    uint64_t broken; /* fence of the last grant that was broken; 0: none */
    hf__time lease_end;
    hf__time keep_end;
    hf__time touched; /* the last time it was granted or freed */
    int64_t acquired_us;
    struct hf__owner owner;
    size_t length;
    char key[HF__KEY_MAX];
};

struct hf__mem_store {
    struct hf__link link;
    unsigned sessions;
    struct hf__map entries;
    struct hf__parker changed; /* of a record; the sleepers look again */
    char name[];
};

extern struct hf__mutex hf__mem_mutex;

struct hf__mem_session {
    struct hf__head head;
    struct hf__mem_store *store; /* NULL: not opened */
};

/* A token owns it and the lease runs. */
bool hf__mem_is_held(const struct hf__mem_entry *, hf__time now);
/* Free, but closed for a while. */
bool hf__mem_is_kept(const struct hf__mem_entry *, hf__time now);

/* NULL: nobody has had that name before. */
struct hf__mem_entry *hf__mem_find(struct hf__mem_store *,
                                   const struct hf__key *);
/* Adds it: free, without a fence. NULL: out of memory. */
struct hf__mem_entry *hf__mem_add(struct hf__mem_store *,
                                  const struct hf__key *);

/* What is known of a record (NULL: there is none); ret_record may be NULL. */
void hf__mem_describe(const struct hf__mem_entry *, hf__time now,
                      struct hf__record *ret_record);
/* Forget a record. */
void hf__mem_remove(struct hf__mem_store *, struct hf__mem_entry *);

/* The store of that name, made if there is none. NULL: out of memory. */
struct hf__mem_store *hf__mem_store(const char *name);
/* Forget every store that nobody uses and in which nothing runs. */
void hf__mem_sweep(void);

/* list() and gc(); they take the mutex themselves. */
int hf__mem_list(void *session, const struct hf__key *prefix, hf__list_fn,
                 void *arg, hf__time deadline, hf_error *);
int hf__mem_gc(void *session, const struct hf__key *prefix, struct hf__gc *,
               hf__time deadline, hf_error *);

#endif
