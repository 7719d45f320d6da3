/* SPDX-License-Identifier: MIT */
/*
 * What these tests share: fronts of links to a server, as the store's sessions
 * have them, and calls that are sent and awaited in one line. The server is
 * the program's, unless a test starts one.
 */
#ifndef HF_TESTS_STORE_ZOOKEEPER_LINK_SIDE_H
#define HF_TESTS_STORE_ZOOKEEPER_LINK_SIDE_H

#include "src/backend/zookeeper/errors.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_client.h"

/* Sessions of these tests live so long, unless they say so. */
enum { LIFE_MS = 2000 };

struct side {
    struct hf__head head;
    struct hf__zk_ref ref;
    hf_error error; /* of the last call */
};

/* Closed at the end of the scope. */
#define SIDE(name) HF_AUTO(part) struct side name = {0}
void part(struct side *s);
#define AUTO_SERVER HF_AUTO(end_server) struct hf__zookeeper
void end_server(struct hf__zookeeper **);
#define CALLS(name) HF_AUTO(hf__zk_calls_drop_auto) struct hf__zk_calls *name
#define WATCH(name) HF_AUTO(hf__zk_watch_drop_auto) struct hf__zk_watch *name

/* The same, of client 1 with the program's server, and open. */
#define MET(name)                                                              \
    SIDE(name);                                                                \
    EXPECT_IS(meet(&name, hf__zookeeper_shared(), 1), HF_OK)

/* Open a front of that client; gives the status. */
int meet(struct side *s, const struct hf__zookeeper *to, uint64_t client);
int meet_at(struct side *s, const struct hf__zk_target *target, uint64_t client,
            int64_t within_ms);
/* The hosts of a target: till the next call. */
const char *hosts_of(const struct hf__zookeeper *to);
/* As an interrupt of the running call. */
void stop(struct side *s);

struct hf__zk_calls *calls_of(struct side *s, int n);
/* Expects them to be answered within ten seconds. */
void await(struct hf__zk_calls *calls);
int rc_of(struct hf__zk_calls *calls, int i);

/* One request, answered; gives its rc. */
int create(struct side *s, const char *path, int mode);
int look(struct side *s, const char *path);
/* An ephemeral node, which is noted as one that somebody counts on. */
void own(struct side *s, const char *path);

/* The path of a node under the test's own, till the fourth call after. */
const char *under(const char *name);

#endif
