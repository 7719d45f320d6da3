/* SPDX-License-Identifier: MIT */
/*
 * Where memory: keeps its records. A store is shared by all sessions that
 * opened its name. It lives as long as one of them is open or a lease or a
 * keeping runs, so that a client whose only session died finds its grants
 * again, as on a server; then it is forgotten, and the fences go on rising by
 * the wall clock. With session_timeout in the URL grants and tickets live with
 * their client instead (life.c). A forked child has none of its parent's.
 * Everything here is called under the mutex of hf__mem_stores.
 */
#ifndef HF_BACKEND_MEMORY_STORE_H
#define HF_BACKEND_MEMORY_STORE_H

#include "src/backend/breaks.h"
#include "src/backend/crowd.h"
#include "src/base/family.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/wake.h"

/* A client whose grants live with it: while a session of it is open, and for
 * the timeout after the last one was closed, unless nothing was left by then.
 * It is freed once nothing refers to it. */
struct hf__mem_life {
    struct hf__link link; /* in the store's lives */
    uint64_t client;      /* 0: of one session alone */
    int64_t timeout_ms;
    unsigned sessions;
    unsigned stands; /* grants and tickets of it */
    hf__time until;  /* once no session is left */
};

/* One who was granted the name. The record stays until its release, or until
 * a later grant finds that its lease has ended: the owner can learn why it
 * is not the owner any more. */
struct hf__mem_grant {
    struct hf__link link;
    struct hf__token token;
    struct hf__manner manner;
    int slot; /* −1: none */
    uint64_t fence;
    struct hf__mem_life *life; /* NULL: it has a lease */
    hf__time lease_end;
    int64_t acquired_us;
    bool is_broken; /* the token owns nothing now */
    struct hf__owner owner;
};

/* One who waits in line. */
struct hf__mem_ticket {
    struct hf__link link;
    struct hf__token token;
    struct hf__manner manner;
    struct hf__mem_life *life; /* as of a grant */
    hf__time seen; /* when its claim last asked, or was seen to wait */
    int64_t since_us;
    struct hf__owner owner;
};

/* One name. */
struct hf__mem_entry {
    struct hf__map_link link;
    uint64_t fence; /* the highest given so far */
    hf__time keep_end;
    hf__time touched;       /* the last time it was granted or freed */
    struct hf__link grants; /* by slot, then by age */
    struct hf__link line;   /* in order of arrival */
    size_t length;
    char key[HF__KEY_MAX];
};

struct hf__mem_store {
    struct hf__link link;
    unsigned sessions;
    struct hf__link lives;
    struct hf__map entries;
    struct hf__parker changed; /* of a record; the sleepers look again */
    struct hf__breaks breaks;
    struct hf__words words;   /* the breaks */
    struct hf__stand *stands; /* for hf__mem_stands() */
    int stands_room;
    char name[];
};

extern struct hf__family hf__mem_stores;

struct hf__mem_session {
    struct hf__head head;
    struct hf__mem_store *store; /* NULL: not opened */
    struct hf__mem_life *life;   /* NULL: grants have leases */
    struct hf__nap nap;
    struct hf__heard heard;
};

/* Of the element that a link of a list is in. */
#define HF__MEM_GRANT(it)  HF__ELEMENT(it, struct hf__mem_grant, link)
#define HF__MEM_TICKET(it) HF__ELEMENT(it, struct hf__mem_ticket, link)

/* ---- clients whose grants live with them (life.c) */

/* By the URL: HF_OK, and s->life if they are to; HF_EINVAL, HF_ENOMEM. */
HF_MUST_CHECK int hf__mem_begin_life(struct hf__mem_session *,
                                     const struct hf__url *, hf_error *);
/* The session is closed. */
void hf__mem_end_life(struct hf__mem_session *);
/* A grant or a ticket begins or ends. Both take NULL and give it. */
struct hf__mem_life *hf__mem_join(struct hf__mem_life *);
void hf__mem_quit(struct hf__mem_life *);
/* When what is of that life will end; HF__NEVER while it has a session. */
hf__time hf__mem_life_end(const struct hf__mem_life *);

/* ---- what counts (store.c) */

/* When the lease will end, or that which stands for it. */
hf__time hf__mem_ends(const struct hf__mem_grant *);
/* The token owns the name and the lease runs. */
bool hf__mem_runs(const struct hf__mem_grant *, hf__time now);
/* Any grant runs. */
bool hf__mem_is_held(const struct hf__mem_entry *, hf__time now);
/* Free, but closed for a while. */
bool hf__mem_is_kept(const struct hf__mem_entry *, hf__time now);
/* Its claim still waits. */
bool hf__mem_waits(const struct hf__mem_ticket *, hf__time now);
/* Anybody in line still waits. */
bool hf__mem_is_awaited(const struct hf__mem_entry *, hf__time now);

/* What is known of a record (NULL: there is none); ret_record may be NULL. */
void hf__mem_describe(const struct hf__mem_entry *, hf__time now,
                      struct hf__record *ret_record);
/* The same of one of its grants. */
void hf__mem_describe_grant(const struct hf__mem_grant *, hf__time now,
                            struct hf__record *ret_record);

/* ---- names (store.c) */

/* NULL: nobody has had that name before. */
struct hf__mem_entry *hf__mem_find(struct hf__mem_store *,
                                   const struct hf__key *);
/* Adds it: free, without a fence. NULL: out of memory. */
struct hf__mem_entry *hf__mem_add(struct hf__mem_store *,
                                  const struct hf__key *);
/* Forget a record. */
void hf__mem_remove(struct hf__mem_store *, struct hf__mem_entry *);

/* The store of that name, made if there is none. NULL: out of memory. */
struct hf__mem_store *hf__mem_store(const char *name);
/* Forget every store that nobody uses and in which nothing runs. */
void hf__mem_sweep(void);

/* ---- those at a name (crowd.c) */

/* NULL: none is of that token. */
struct hf__mem_grant *hf__mem_grant_of(const struct hf__mem_entry *,
                                       const struct hf__token *);
struct hf__mem_ticket *hf__mem_ticket_of(const struct hf__mem_entry *,
                                         const struct hf__token *);
/* Put it among the grants of the name. */
void hf__mem_put(struct hf__mem_entry *, struct hf__mem_grant *);
/* Out of its list, and freed. Both take NULL. */
void hf__mem_drop_grant(struct hf__mem_grant *);
void hf__mem_drop_ticket(struct hf__mem_ticket *);
/* Those whose lease has ended; nobody can learn of them any more. True: one of
 * them nobody had given back, nor broken. */
bool hf__mem_drop_ended(struct hf__mem_entry *, hf__time now);
/* Tickets that nobody has waited on for long. */
void hf__mem_drop_forgotten(struct hf__mem_entry *, hf__time now);
/* All that count, for hf__may_enter(); until the next call for the store.
 * HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__mem_stands(struct hf__mem_store *,
                                 const struct hf__mem_entry *, hf__time now,
                                 struct hf__stands *ret_stands);
/* Tell all who count, as INSPECT does: HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__mem_tell_crowd(const struct hf__mem_entry *, hf__time now,
                                     struct hf__crowd *);

/* ---- calls of the store; they take the mutex themselves */

int hf__mem_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                 hf_error *); /* wait.c */
int hf__mem_list(void *session, const struct hf__key *prefix, hf__list_fn,
                 void *arg, hf__time deadline, hf_error *); /* survey.c */
int hf__mem_gc(void *session, const struct hf__key *prefix, struct hf__gc *,
               hf__time deadline, hf_error *); /* survey.c */
int hf__mem_check(void *session, hf__check_fn, void *arg, hf__time deadline,
                  hf_error *); /* survey.c */

#endif
