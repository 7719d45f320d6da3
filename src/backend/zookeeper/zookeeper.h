/* SPDX-License-Identifier: MIT */
/*
 * A session of the store zookeeper://, as the files of this folder share it.
 * zookeeper.c opens and closes, reads the URL and executes, session.c has the
 * session with the server, which all sessions of one client share, request.c
 * and send.c ask, errors.c says what codes mean, check.c judges the server.
 *
 * Thread: the session's, except interrupt().
 */
#ifndef HF_BACKEND_ZOOKEEPER_ZOOKEEPER_H
#define HF_BACKEND_ZOOKEEPER_ZOOKEEPER_H

#include "src/backend/cell.h"
#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/errors.h"
#include "src/backend/zookeeper/url.h"

struct hf__zk_listened;
struct hf__zk_waits;

/* The last that was asked so that there is evidence (listen.c). */
struct hf__zk_keepalive {
    hf__time sent;
    unsigned connection;
};

struct hf__zk {
    struct hf__head head;
    struct hf__zk_ref ref;
    struct hf__zk_url url;
    int members;   /* of the ensemble; 1: or not known */
    bool is_alone; /* it is, and said so */
    struct hf__zk_keepalive keepalive;
    struct hf__zk_waits *waits;       /* wait.c's; NULL: none */
    struct hf__zk_listened *listened; /* listen.c's; NULL: none */
};

/* ---- zookeeper.c, wait.c, listen.c, list.c, cells.c: as backend.h says */

int hf__zk_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err);
int hf__zk_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *err);
int hf__zk_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err);
int hf__zk_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err);
int hf__zk_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err);
int hf__zk_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                hf_error *err);
/* Is the answer to a "get" a cell's, or, with that much data alone, a deleted
 * one's? Reads its state. */
#define HF__ZK_TOMBSTONE 45
bool hf__zk_cell_read(const struct hf__zk_answer *, struct hf__cell_state *);
/* Free s->waits and s->listened; the reference is still open, if it ever
 * was. */
void hf__zk_wait_fini(struct hf__zk *s);
void hf__zk_listen_fini(struct hf__zk *s);
/* Sleep until then, or an interrupt. */
void hf__zk_pause(struct hf__zk *s, hf__time until);

/* ---- own.c */

/* The session is over, and leaves a server that does not know so, unless one
 * of its grants is believed in still. */
void hf__zk_leave_session(struct hf__zk *s);
/* The session is over: what holds of these is lost. */
void hf__zk_end_grants(struct hf__zk *, struct hf__op *ops[], int n);
bool hf__zk_is_renewal(const struct hf__op *);

/* ---- check.c */

/* Fills head.facts and members. */
HF_MUST_CHECK int hf__zk_data(struct hf__zk *s, hf__time deadline,
                              hf_error *err);
/* How many members the ensemble of that configuration has that vote; 1 for a
 * server that stands alone. Pure. */
int hf__zk_count_members(const char *config);

/* ---- zookeeper.c */

/* Of what a batch gave with a lease: doubt it unless the leader has surely
 * heard of the session late enough. HF_OK, or as hf__zk_is_over(). */
HF_MUST_CHECK int hf__zk_prove(struct hf__zk *s, struct hf__op *ops[], int n,
                               hf__time deadline, hf_error *err);

/* ---- check.c */

int hf__zk_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err);

#endif
