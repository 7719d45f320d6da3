/* SPDX-License-Identifier: MIT */
/*
 * The store zookeeper://, as the files of this folder share it. struct hf__zk
 * is one backend session; several of one client share one ZooKeeper session by
 * references (session.h). zookeeper.c opens and closes, reads the URL and
 * executes, session.c has the ZooKeeper session, request.c and send.c send
 * requests, errors.c says what codes mean, check.c judges the server.
 *
 * Thread: the backend session's, except interrupt().
 */
#ifndef HF_BACKEND_ZOOKEEPER_ZOOKEEPER_H
#define HF_BACKEND_ZOOKEEPER_ZOOKEEPER_H

#include "src/backend/cell.h"
#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/errors.h"
#include "src/backend/zookeeper/url.h"

struct hf__zk_listened;
struct hf__zk_waits;

/* The last request that was sent only to have evidence of life (listen.c). */
struct hf__zk_keepalive {
    hf__time sent;
    unsigned connection;
};

struct hf__zk {
    struct hf__head head;
    struct hf__zk_ref ref;
    struct hf__zk_url url;
    int members;   /* voting members of the ensemble; 1 also if not known */
    bool is_alone; /* its configuration says that the server stands alone */
    struct hf__zk_keepalive keepalive;
    struct hf__zk_waits *waits;       /* NULL until wait() */
    struct hf__zk_listened *listened; /* NULL until listen() */
};

/* ---- wait.c, listen.c, list.c, cells.c: as backend.h says */

int hf__zk_wait(void *state, struct hf__watch *requests[], int n,
                hf__time deadline, hf_error *err);
int hf__zk_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err);
int hf__zk_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err);
int hf__zk_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err);
int hf__zk_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                hf_error *err);
/* Reads the state of a cell from the answer to a "get". False: the node's data
 * is no cell's. A deleted cell is a tombstone: its data is exactly
 * HF__ZK_TOMBSTONE bytes long. */
#define HF__ZK_TOMBSTONE 45
bool hf__zk_cell_read(const struct hf__zk_answer *, struct hf__cell_state *);
/* Free s->waits and s->listened. The reference must still be open, if it was
 * ever opened. */
void hf__zk_wait_fini(struct hf__zk *s);
void hf__zk_listen_fini(struct hf__zk *s);
/* Sleep until that time, or an interrupt. */
void hf__zk_pause(struct hf__zk *s, hf__time until);

/* ---- own.c */

/* The ZooKeeper session is over: abandon it, so that it times out at a server
 * that does not know yet; but not while somebody still believes in one of its
 * grants. */
void hf__zk_leave_session(struct hf__zk *s);
/* The ZooKeeper session is over: mark the grants of these operations as
 * lost. */
void hf__zk_end_grants(struct hf__zk *, struct hf__op *ops[], int n);
bool hf__zk_is_renewal(const struct hf__op *);

/* ---- check.c */

/* Fills head.server_info, members and is_alone. */
HF_MUST_CHECK int hf__zk_data(struct hf__zk *s, hf__time deadline,
                              hf_error *err);
/* How many voting members the ensemble of that configuration has; 1 for a
 * server that stands alone. Pure. */
int hf__zk_count_members(const char *config);

/* ---- zookeeper.c */

/* For the operations of a batch that gained or renewed a lease: fail them
 * unless the leader has surely heard of the session late enough. HF_OK, or as
 * hf__zk_is_over(). */
HF_MUST_CHECK int hf__zk_prove(struct hf__zk *s, struct hf__op *ops[], int n,
                               hf__time deadline, hf_error *err);

/* ---- check.c */

int hf__zk_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err);

#endif
