/* SPDX-License-Identifier: MIT */
/*
 * One thread and one connection of a client that has grants, on stores that
 * tell of breaks (HF_CAP_PUSH). It sleeps until somebody broke a grant of the
 * store; if one of the client's has that tag, it asks the store whether it is
 * lost. So a holder learns of a break at once, without asking more often than
 * its renewals. When the connection fails, renewals must do until it is back.
 * On stores that may move (HF__CAP_MOVES) it is the first to be on the new
 * server, and has all others go there, too.
 * The thread starts before the first grant, or, where grants live with a
 * session (HF_CAP_SESSION), with the client, for who listens may have to see to
 * that session; and it ends with the client.
 */
#ifndef HF_CORE_BREAK_LISTENER_H
#define HF_CORE_BREAK_LISTENER_H

#include "src/core/session.h"

struct hf_client;

struct hf__break_listener {
    struct hf_client *client;
    struct hf__mutex mutex;
    struct hf__conn conn; /* the thread's */
    struct hf__thread thread;
    struct hf__parker parker;
    uint64_t
        server_id; /* the thread's: where its last session was; 0: none yet */
    bool is_closing;
};

void hf__break_listener_init(struct hf__break_listener *, struct hf_client *);
/* Start the thread, if the store tells of breaks and the system gives one;
 * harmless if it runs. Thread: user. */
void hf__break_listener_start(struct hf__break_listener *);
/* The locks are on the server of that id, as a session that was connected
 * just now has found: no claim goes to another any more. True: one might have.
 * Thread: any. */
bool hf__break_listener_follow_server(struct hf_client *, uint64_t server_id);
/* The store may have forgotten any grant: all are renewed now, and those that
 * are not to be are asked for. Thread: any. */
void hf__break_listener_check_all(struct hf_client *);
/* Interrupts and joins. Takes one that was never started. */
void hf__break_listener_close(struct hf__break_listener *);

#endif
