/* SPDX-License-Identifier: MIT */
/*
 * One thread and one connection that a client with grants has on stores that
 * tell of breaks (HF_CAP_PUSH). The thread sleeps until any grant in the store
 * is broken; if a grant of the client has the tag that the store names, the
 * client asks the store whether it is lost. So a holder learns of a break at
 * once without asking more often than it renews. When the connection fails,
 * renewals have to do until it is back. On stores that may move
 * (HF__CAP_MOVES), this connection is the first to reach the new server and
 * sends all others there. The thread starts before the first grant. Where
 * grants live with a session (HF_CAP_SESSION) it starts with the client, for
 * listening may be what keeps that session alive. It ends with the client.
 */
#ifndef HF_CORE_BREAK_LISTENER_H
#define HF_CORE_BREAK_LISTENER_H

#include "src/core/session.h"

struct hf_client;

struct hf__break_listener {
    struct hf_client *client;
    struct hf__mutex mutex;
    struct hf__conn conn; /* used by the thread alone */
    struct hf__thread thread;
    struct hf__parker parker;
    uint64_t server_id; /* server of its last connection; 0: none yet */
    bool is_closing;
};

void hf__break_listener_init(struct hf__break_listener *, struct hf_client *);
/* Start the thread if the store tells of breaks and the system grants one;
 * harmless if it runs. Thread: user. */
void hf__break_listener_start(struct hf__break_listener *);
/* A session that has just been connected found the locks on the server of that
 * id, so no claim goes to another server from now on. True: one might have
 * before. Thread: any. */
bool hf__break_listener_follow_server(struct hf_client *, uint64_t server_id);
/* The store may have forgotten any grant: renew them all now, and ask the store
 * about those that are not renewed. Thread: any. */
void hf__break_listener_check_all(struct hf_client *);
/* Interrupt and join the thread. Takes a listener that was never started. */
void hf__break_listener_close(struct hf__break_listener *);

#endif
