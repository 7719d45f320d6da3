/* SPDX-License-Identifier: MIT */
/*
 * What a session remembers of its connection, by which a lease is proven: what
 * that takes is said in evidence.c. Part of a session (internal.h), under its
 * mutex.
 */
#ifndef HF_BACKEND_ZOOKEEPER_EVIDENCE_H
#define HF_BACKEND_ZOOKEEPER_EVIDENCE_H

#include "src/base/time.h"

struct hf__zk_session;

/* One that was answered on the connection that there is. */
struct hf__zk_exchange {
    hf__time sent;
    hf__time answered;
};

enum { HF__ZK_EXCHANGES = 64 };

/* By which a lease is proven, see evidence.c. */
struct hf__zk_evidence {
    struct hf__zk_exchange exchanges[HF__ZK_EXCHANGES]; /* the last of n */
    unsigned n;
    hf__time newest; /* sent, of all connections */
    hf__time direct; /* the leader knew of the session later than that */
    hf__time connected_at;
    hf__time cut_at;
};

/* Thread: the library's. */

/* It is connected, anew. */
void hf__zk_note_connected(struct hf__zk_session *);
/* A server has answered what was sent then. */
void hf__zk_note_answer(struct hf__zk_session *, hf__time sent);

#endif
