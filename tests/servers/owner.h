/* SPDX-License-Identifier: MIT */
/*
 * What is left of a server whose owner is killed: the same test for each kind
 * of server.
 */
#ifndef HF_TESTS_SERVERS_OWNER_H
#define HF_TESTS_SERVERS_OWNER_H

#include "tests/servers/servers.h"

struct owned {
    pid_t server;
    char folder[HF__SERVERS_PATH];
};

/* Starts a server in a process of its own, which is killed with the group it
 * is in, as a test past its limit. Fails the test if anything is left. */
void owner_is_killed(struct owned (*start)(void));

#endif
