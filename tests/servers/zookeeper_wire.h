/* SPDX-License-Identifier: MIT */
/*
 * What the files of the small ZooKeeper client share, and nobody else sees:
 * its connection, and a call before it is asked and after it was answered.
 */
#ifndef HF_TESTS_SERVERS_ZOOKEEPER_WIRE_H
#define HF_TESTS_SERVERS_ZOOKEEPER_WIRE_H

#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_jute.h"

enum { HF__WIRE_PASSWORD = 16, HF__WIRE_ROOM = 65536 };

/* Types of requests. */
enum {
    HF__WIRE_CREATE = 1,
    HF__WIRE_DELETE = 2,
    HF__WIRE_GET = 4,
    HF__WIRE_SET = 5,
    HF__WIRE_GET_ACL = 6,
    HF__WIRE_SET_ACL = 7,
    HF__WIRE_CHILDREN = 8,
    HF__WIRE_SYNC = 9,
    HF__WIRE_PING = 11,
    HF__WIRE_AUTH = 100,
    HF__WIRE_CLOSE = -11,
};

struct hf__zookeeper_client {
    int fd;
    int32_t last_xid; /* that was counted */
    int32_t xid;      /* of the call that is under way */
    int session_ms;   /* 0: there is no such session any more */
    int64_t session;
    struct hf__jute message; /* what is asked, then what was answered */
};

/* A connection that waits so long at most; −1: nobody listens. */
int hf__wire_reach(int port, int64_t patience_ms);

/* Opens a session, or goes on with that one; NULL: the server does not serve.
 * It may be that there is no such session. */
struct hf__zookeeper_client *
hf__wire_open(int port, int session_ms, int64_t id,
              const uint8_t password[HF__WIRE_PASSWORD]);

/* Begins a request of that type in `message`. */
void hf__wire_ask(struct hf__zookeeper_client *, int32_t type);
/* One of those that have a number of their own. */
void hf__wire_ask_as(struct hf__zookeeper_client *, int32_t xid, int32_t type);
/* Sends it and waits for the answer, whose body can be read from `message`. 0,
 * or the server's error, or HF__ZOOKEEPER_LOST. */
int hf__wire_call(struct hf__zookeeper_client *);

#endif
