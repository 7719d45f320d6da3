/* SPDX-License-Identifier: MIT */
/*
 * A proxy between a store and its server that cuts, silences and delays where
 * a test says: at a certain statement or reply, so that each failure of a
 * network can be had at will and again. It is a process of its own; a command
 * is in force when its call returns. What a statement is, the framing knows.
 *
 *     struct hf__proxy *p = hf__proxy_start(port, &hf__framing_mysql);
 *
 *     hf__proxy_rule(p, &(struct hf__proxy_rule){
 *         .what = HF__REPLY, .n = 3, .where = HF__BEFORE});
 *
 * Called by one thread at a time, of the process that started it; it ends
 * with the thread that did.
 */
#ifndef HF_TESTS_SERVERS_PROXY_H
#define HF_TESTS_SERVERS_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf__proxy;
struct hf__framing;

/* Bytes only: nothing is counted. */
extern const struct hf__framing hf__framing_none;
/* MySQL and MariaDB, unless the connection turns to TLS. A statement is any
 * command that gets a reply. */
extern const struct hf__framing hf__framing_mysql;
/* PostgreSQL, unless the connection turns to TLS. A statement is a Query, or
 * all up to a Sync; a notification is a push, unless it comes within a reply.
 * What a rule finds in a statement that was prepared before is its name. */
extern const struct hf__framing hf__framing_postgres;
/* Redis in RESP2, unless the connection begins with TLS. Each command is a
 * statement, AUTH and SELECT too, in a pipeline as alone; there is no
 * handshake. */
extern const struct hf__framing hf__framing_redis;
/* ZooKeeper. Each request but a ping is a statement, each event a push; the
 * answer to who wants a session is the handshake. What a rule finds in a
 * statement is its type, a space and its path, such as "create2 /a/b"; the type
 * as the protocol has it: create, getChildren, setWatches, closeSession … */
extern const struct hf__framing hf__framing_zookeeper;

/* Listens on a port of 127.0.0.1 and forwards to another. */
struct hf__proxy *hf__proxy_start(int server_port, const struct hf__framing *);
/* Ends its connections too. NULL is fine. */
void hf__proxy_free(struct hf__proxy *);
int hf__proxy_port(const struct hf__proxy *);

/* ---- at a certain message */

enum hf__proxy_what {
    HF__HANDSHAKE, /* from the server's first byte until it lets a client in */
    HF__STATEMENT,
    HF__REPLY,
    HF__PUSH, /* what no statement asked for: a message to a subscriber */
};
enum hf__proxy_where {
    HF__BEFORE, /* none of its bytes is passed on, but all were received */
    HF__INSIDE, /* so many are; at most all but one */
    HF__AFTER,  /* all are */
};
enum hf__proxy_action {
    HF__CLOSE,    /* both sides of its connection, in order */
    HF__RESET,    /* both sides, with RST */
    HF__SILENCE,  /* nothing passes any more on this connection, until healed */
    HF__DISGUISE, /* a statement, BEFORE: it passes as one that no server knows,
                   * as it were to one too old for it; ZooKeeper's only */
};
enum { HF__PROXY_TEXT = 64 };

struct hf__proxy_rule {
    enum hf__proxy_what what;
    enum hf__proxy_where where;
    enum hf__proxy_action action;
    int n;        /* the n-th from now on, of all connections; 0 is 1 */
    size_t bytes; /* for HF__INSIDE */
    bool always;  /* and at each after it; else once */
    char text[HF__PROXY_TEXT]; /* only statements with this in their first
                                * 1024 bytes, the replies to such, and pushes
                                * with it; "": any */
};

/* Up to eight at a time. A message is hit by one at most, the first given that
 * it is due for; another waits for the next. */
void hf__proxy_rule(struct hf__proxy *, const struct hf__proxy_rule *);

/* ---- at once */

enum hf__proxy_way {
    HF__TO_SERVER,
    HF__TO_CLIENT,
    HF__PROXY_WAYS,
};

/* Ends all connections. */
void hf__proxy_cut(struct hf__proxy *, enum hf__proxy_action);
/* Nothing passes that way, on no connection; what comes meanwhile passes when
 * it is healed. */
void hf__proxy_hold(struct hf__proxy *, enum hf__proxy_way);
/* What comes from now on passes so much later. */
void hf__proxy_delay(struct hf__proxy *, enum hf__proxy_way, int64_t ms);
/* New connections are accepted, and nothing comes of it. */
void hf__proxy_accept_silently(struct hf__proxy *);
/* New connections are refused; those that are stay. */
void hf__proxy_refuse(struct hf__proxy *);
/* Ends all of the above but what was cut: no rules, no silence, no delay. A
 * connection that was accepted silently is closed. */
void hf__proxy_heal(struct hf__proxy *);

/* ---- what was seen, since it started */

struct hf__proxy_counts {
    int connections; /* accepted */
    int open;        /* of them, now */
    int handshakes;  /* completed */
    int statements;  /* passed on in full */
    int replies;     /* passed on in full */
    int pushes;      /* passed on in full */
    int hits;        /* of rules */
};

struct hf__proxy_counts hf__proxy_counts(struct hf__proxy *);
/* Waits until rules hit so often, at most ms. False: they did not. */
bool hf__proxy_wait_hits(struct hf__proxy *, int hits, int64_t ms);

#endif
