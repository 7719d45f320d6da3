/* SPDX-License-Identifier: MIT */
/*
 * A small ZooKeeper client for tests, which speaks the protocol itself, so
 * that what a store has written is seen, and damaged, by other code than the
 * store's. Any process may call this, and each client's calls come from one
 * thread at a time.
 */
#ifndef HF_TESTS_SERVERS_ZOOKEEPER_CLIENT_H
#define HF_TESTS_SERVERS_ZOOKEEPER_CLIENT_H

#include "tests/servers/zookeeper.h"

/* Of ACLs; the administrator is "super". */
#define HF__ZOOKEEPER_ADMIN          "super"
#define HF__ZOOKEEPER_ADMIN_PASSWORD "whatever-the-test-forbids"

enum { HF__ZOOKEEPER_DATA = 4096 };

/* What a call gives back, besides 0. The server's own words for it. */
enum {
    HF__ZOOKEEPER_LOST = -4,
    HF__ZOOKEEPER_FAILED_INSIDE = -5, /* it threw what it did not foresee */
    HF__ZOOKEEPER_NO_NODE = -101,
    HF__ZOOKEEPER_NO_AUTH = -102,
    HF__ZOOKEEPER_NODE_EXISTS = -110,
    HF__ZOOKEEPER_NOT_EMPTY = -111,
    HF__ZOOKEEPER_EXPIRED = -112,
};
enum hf__zookeeper_mode {
    HF__ZOOKEEPER_PERSISTENT,
    HF__ZOOKEEPER_EPHEMERAL,
    HF__ZOOKEEPER_SEQUENTIAL,
    HF__ZOOKEEPER_EPHEMERAL_SEQUENTIAL,
};

struct hf__zookeeper_node {
    int64_t czxid; /* of its creation, of its last change */
    int64_t mzxid;
    int64_t created_ms;
    int64_t changed_ms;
    int version; /* of its data, of its children, of its ACL */
    int cversion;
    int aversion;
    int64_t owner; /* the session of an ephemeral node; 0: it is none */
    int length;    /* of its data */
    int children;
    int64_t pzxid;                     /* of the last change of its children */
    char data[HF__ZOOKEEPER_DATA + 1]; /* its beginning; ended by NUL */
};

/* ---- as the administrator, each on a session of its own that ends with the
 * call; it waits for a server that does not serve yet, or for now. A text that
 * is given back is valid until this thread's next call. */

/* False: there is none. */
bool hf__zookeeper_look(const struct hf__zookeeper *, const char *path,
                        struct hf__zookeeper_node *ret_node);
/* The names of its children in the order of the alphabet, a line each, without
 * an end of the last; "": none, or no such node. */
const char *hf__zookeeper_list(const struct hf__zookeeper *, const char *path);
/* How many there are; −1: no such node. */
int hf__zookeeper_count(const struct hf__zookeeper *, const char *path);
/* A persistent one, with those above it, or its data if it is there. */
void hf__zookeeper_put(const struct hf__zookeeper *, const char *path,
                       const char *data);
/* It and all beneath. False: there was none. */
bool hf__zookeeper_remove(const struct hf__zookeeper *, const char *path);
/* "SCHEME:ID:PERMISSIONS", a line each; all permissions are "rwcda". */
const char *hf__zookeeper_acl(const struct hf__zookeeper *, const char *path);
/* One entry, in the place of all. */
void hf__zookeeper_set_acl(const struct hf__zookeeper *, const char *path,
                           const char *entry);

/* The number that the next sequential node beneath gets, all others before it
 * being used up. The server is stopped and started, by who started it; it is no
 * member of an ensemble. */
void hf__zookeeper_set_sequence(struct hf__zookeeper *, const char *path,
                                int32_t next);

/* ---- sessions */

/* Ends a session as if the server had: its client is told that it has expired
 * when it comes next, and its ephemeral nodes are gone on return. False: there
 * was no such session. */
bool hf__zookeeper_expire(const struct hf__zookeeper *, int64_t session);
/* How many there are in the store; what connections there are is another
 * number. Our own calls' are over. */
int hf__zookeeper_sessions(const struct hf__zookeeper *);
/* A four-letter word's answer; "": the server does not listen. */
const char *hf__zookeeper_word(const struct hf__zookeeper *, const char *word);
/* The value of a field in an answer, of a line FIELD<tab>VALUE, FIELD=VALUE or
 * FIELD: VALUE; "" if there is none. */
const char *hf__zookeeper_value(const struct hf__zookeeper *, const char *field,
                                const char *word);

/* ---- a client whose session lasts */

struct hf__zookeeper_client;

/* Opens a session at that port of 127.0.0.1. NULL: the server does not serve,
 * also if it does not within that time. */
struct hf__zookeeper_client *hf__zookeeper_dial(int port, int session_ms);
/* Ends its session. NULL is fine. */
void hf__zookeeper_hang_up(struct hf__zookeeper_client *);
/* Leaves its session to the server. */
void hf__zookeeper_drop(struct hf__zookeeper_client *);

/* Each gives back 0 or an error of the server's, or HF__ZOOKEEPER_LOST. */
int hf__zookeeper_auth(struct hf__zookeeper_client *, const char *user,
                       const char *password);
/* Open to all; ret_path: the name that it got; or NULL. */
int hf__zookeeper_create(struct hf__zookeeper_client *, const char *path,
                         const char *data, enum hf__zookeeper_mode,
                         char ret_path[HF__ZOOKEEPER_DATA]);
int hf__zookeeper_delete(struct hf__zookeeper_client *, const char *path);
int hf__zookeeper_get(struct hf__zookeeper_client *, const char *path,
                      struct hf__zookeeper_node *ret_node);
int hf__zookeeper_set(struct hf__zookeeper_client *, const char *path,
                      const char *data);
/* The names as of hf__zookeeper_list(). */
int hf__zookeeper_children(struct hf__zookeeper_client *, const char *path,
                           const char **ret_names);
/* Leaves a watch; its event is pushed once. */
int hf__zookeeper_watch(struct hf__zookeeper_client *, const char *path);
/* All that was written before, by anybody, is seen by what is read after. */
int hf__zookeeper_sync(struct hf__zookeeper_client *, const char *path);
/* Says that it lives. */
int hf__zookeeper_ping(struct hf__zookeeper_client *);

#endif
