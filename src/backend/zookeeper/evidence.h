/* SPDX-License-Identifier: MIT */
/*
 * What a ZooKeeper session remembers of its connection, to prove leases:
 * evidence.c says how. Part of a session (internal.h), under its mutex.
 */
#ifndef HF_BACKEND_ZOOKEEPER_EVIDENCE_H
#define HF_BACKEND_ZOOKEEPER_EVIDENCE_H

#include "src/base/time.h"

struct hf__zk_session;

/* A request that was answered on the current connection. */
struct hf__zk_exchange {
    hf__time sent;
    hf__time answered;
};

enum { HF__ZK_EXCHANGES = 64 };

/* The evidence that proves a lease, see evidence.c. */
struct hf__zk_evidence {
    struct hf__zk_exchange exchanges[HF__ZK_EXCHANGES]; /* the last of n */
    unsigned n;
    hf__time newest; /* when the newest was sent, on any connection */
    hf__time direct; /* the leader heard of the session after this */
    hf__time connected_at;
    hf__time cut_at;
};

/* Thread: the library's. */

/* The library has connected, or connected again. */
void hf__zk_note_connected(struct hf__zk_session *);
/* A server has answered a request that was sent then. */
void hf__zk_note_answer(struct hf__zk_session *, hf__time sent);

#endif
