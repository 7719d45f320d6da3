/* SPDX-License-Identifier: MIT */
/*
 * What the tests of this folder need to know of a store's server: each store's
 * world.c has these words, so that one body shows for all of them that a cut
 * connection, a killed server, a server that stands still costs nobody what was
 * promised. The other words are those of tests/contract/api.h.
 */
#ifndef HF_TESTS_STORE_SERVER_SERVER_H
#define HF_TESTS_STORE_SERVER_SERVER_H

#include "tests/contract/api.h"
#include "tests/servers/proxy.h"

/* From now on the store is on a server of this test, empty, which ends with
 * the scope. Durable: what it has confirmed outlives its end. Before the test
 * starts threads. */
struct own_server {
    bool is_own;
};
#define OWN_SERVER(is_durable)                                                 \
    __attribute__((cleanup(end_own_server), unused)) struct own_server own_ =  \
        begin_own_server(is_durable)
struct own_server begin_own_server(bool is_durable);
void end_own_server(struct own_server *);

/* Of that server: */
void stop_server(void); /* as a service manager does */
void kill_server(void);
void restart_server(void);
void pause_server(void);
void resume_server(void);

/* Of whichever the store is on: */
int server_port(void);
const struct hf__framing *server_framing(void);
/* From now on the store's URL has this port of 127.0.0.1; 0: its own. */
void reach_by_port(int port);
/* An administrator deletes all that is stored. */
void forget_all(void);

#endif
