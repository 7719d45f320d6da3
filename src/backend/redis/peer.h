/* SPDX-License-Identifier: MIT */
/*
 * One server as a session knows it, in steps, so that one thread serves
 * several: dial.c connects, peer.c goes from state to state, handshake.c says
 * what is sent first. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_PEER_H
#define HF_BACKEND_REDIS_PEER_H

#include "src/backend/redis/target.h"
#include "src/backend/redis/wire.h"
#include "src/base/wake.h"

#include <sys/socket.h>

/* How a session sleeps. */
struct hf__rest {
    struct hf__waker waker; /* ends it */
    int grace_ms;           /* so long may go on what is interrupted */
    unsigned ending;        /* the generation whose grace runs; 0: none */
    hf__time ending_until;
};

enum hf__peer_state {
    HF__PEER_IDLE,       /* not connected */
    HF__PEER_CONNECTING, /* connect() is under way */
    HF__PEER_SECURING,   /* the TLS handshake is */
    HF__PEER_HANDSHAKE,  /* it is asked what it is */
    HF__PEER_READY,
    HF__PEER_DEAD /* with status and text; hf__peer_close() makes it IDLE */
};

/* What it said of itself. */
struct hf__redis_server {
    char version[32];
    char run_id[41];
    char replid[41];  /* of its history of writes, the same on its replicas */
    char replid2[41]; /* of the one that it went on from when it stopped being
                         a replica; zeros: none */
    char mode[16];    /* "standalone", "cluster", "sentinel" */
    char role[16];    /* "master", "slave" */
    char policy[32];  /* maxmemory-policy; "" if it is not told */
    char fsync[16];   /* appendfsync; "" if it may not be asked */
    bool has_aof;
    bool is_loading;
    /* By ROLE, which a door to several servers does not let through. */
    bool has_told_role;
    int replicas; /* connected */
    int64_t uptime_s;
    uint64_t server_id; /* a hash of run_id, never 0 */
    uint64_t id;        /* of this connection; 0: it is not told */
};

/* What a quorum's member said of its past; see redlock/memory.c. */
struct hf__past {
    bool is_unseen; /* we may not look at its mark */
    char since[24]; /* of the mark: a time of the server, µs; "": none is there
                     */
    char replid[41]; /* … the name of its history then */
    int64_t server_us;
    bool is_lax; /* it does not flush while it rewrites its file */
};

/* What a Sentinel said of the service. */
struct hf__sentinel_reply {
    char id[41];    /* its own; "": before 6.2 it is not told */
    char host[256]; /* of the primary */
    int port;       /* 0: it did not say */
    int64_t epoch;  /* of that configuration: higher is newer */
    int quorum;     /* so many must hold it for down */
    int others;     /* Sentinels of the service, besides this one */
    bool is_down;   /* so many do */
    int down_port;  /* … or did, of the one there */
};

/* A connection that ended with commands that were not answered: they may still
 * be before the server, or on their way. The next one to the same server ends
 * it first, and with it what it has not done yet. */
struct hf__stale_conn {
    uint64_t id;        /* as CLIENT ID told it; 0: none */
    uint64_t server_id; /* of its server */
};

/* What a name was looked up to, to be had again without looking. */
enum { HF__ADDRESSES_MAX = 16 };
struct hf__addresses {
    int n;  /* 0: never */
    int at; /* the one that is tried; once it answers it is the first */
    struct hf__address {
        socklen_t length;
        struct sockaddr_storage to;
    } list[HF__ADDRESSES_MAX];
};

#define HF__HANDSHAKE_MAX 32 /* the most commands of a greeting */

struct hf__peer {
    struct hf__resp resp;
    enum hf__peer_state state;
    struct hf__target target;
    struct hf__redis_server server;
    struct hf__past past;           /* of one with target.mark_key */
    struct hf__sentinel_reply said; /* of one with target.service */
    struct hf__stale_conn stale;    /* outlives hf__peer_close() */
    const char *allow;              /* overrides; lent by who opens */
    struct hf__addresses known;     /* outlive it, too */
    hf__time address_until;         /* of known.at; HF__NEVER: it is the last */
    unsigned char handshake[HF__HANDSHAKE_MAX]; /* what was said, in order */
    int n_handshake;
    int n_answered; /* replies of the greeting that have come */
    int status;     /* of one that is DEAD, negative */
    hf_error err;   /* what happened, naming target.shown */
};

void hf__peer_init(struct hf__peer *);
/* Begin to connect: the first step is done. `secret` is used up (wiped by the
 * caller). Looking a name up blocks; who may not has what is known since the
 * last time. What fails shows as DEAD. */
void hf__peer_start(struct hf__peer *, const struct hf__target *,
                    const struct hf__secret *, const char *allow,
                    bool may_look_up);
/* A Sentinel that is READY, and sends no news: all but who we are once more. */
void hf__peer_ask_again(struct hf__peer *);
/* After poll(): what can be done now. READY: bytes are sent and received, and
 * hf__resp_next() has the replies. */
void hf__peer_advance(struct hf__peer *, short events);
/* After poll(), of one that had no events: if its address has had its time,
 * on to the next one, or it is DEAD; true then. */
bool hf__peer_tick(struct hf__peer *);
/* Known addresses stay. */
void hf__peer_close(struct hf__peer *);
/* It is of no use any more: DEAD, with that text unless it has one. */
void hf__peer_fail(struct hf__peer *, int status, const char *why);
/* Why there is no reply, after hf__resp_next(): for hf__peer_fail(). */
const char *hf__peer_why(int status);

/* Sleep until one of them has something to do (and let it), until `until`, or
 * until interrupted and the grace is over: false then, and at `until`. */
HF_MUST_CHECK bool hf__peers_poll(struct hf__peer *const peers[], int n,
                                  struct hf__rest *, struct hf__head *,
                                  hf__time until);

/* ---- with one server */

/* Connect and greet. HF_OK; else its status, with err told why; HF_EUNAVAIL at
 * the deadline and when interrupted. */
HF_MUST_CHECK int hf__peer_open(struct hf__peer *, struct hf__rest *,
                                struct hf__head *, hf__time deadline,
                                hf_error *err);
/* Wait for the next reply; the caller frees it. HF_OK; HF_EUNAVAIL and worse:
 * the peer is DEAD. */
HF_MUST_CHECK int hf__peer_reply(struct hf__peer *, struct hf__rest *,
                                 struct hf__head *, hf__time deadline,
                                 redisReply **ret_reply);

/* ---- dial.c, for peer.c */

/* Begin to connect: to the host; to the unix socket. True: connected; false:
 * under way, or DEAD. */
HF_MUST_CHECK bool hf__dial_host(struct hf__peer *, bool may_look_up);
HF_MUST_CHECK bool hf__dial_socket(struct hf__peer *);
/* What was under way has ended, one way or the other: the same. */
HF_MUST_CHECK bool hf__dial_finish(struct hf__peer *);
/* The address has had its time, on to the next one: the same. */
HF_MUST_CHECK bool hf__dial_next(struct hf__peer *);

/* ---- handshake.c, for peer.c */

/* Queue what is said first: AUTH, INFO, ROLE, CONFIG GET (may be refused),
 * SELECT, a member's past, CLIENT SETNAME and ID, and which scripts it knows;
 * those that it does not know are loaded then, and the stale one ended. HF_OK,
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__handshake_queue(struct hf__peer *,
                                      const struct hf__secret *);
/* Of a Sentinel, what comes behind AUTH: the same. */
HF_MUST_CHECK int hf__handshake_again(struct hf__peer *);
/* One of its replies. HF_BUSY: more are to come; HF_OK: it is fit; else why it
 * is not (an override in `allow` lets it through), with p->err told: HF_EAUTH,
 * HF_EUNSAFE (it evicts, is a replica, a cluster), HF_EUNAVAIL (LOADING …),
 * HF_EINVAL (a sentinel, no such database), HF_EPROTO, HF_ENOMEM. */
HF_MUST_CHECK int hf__handshake_take(struct hf__peer *, const redisReply *);

/* ---- sentinel_reply.c, for handshake.c: what a Sentinel answers */

/* To what it is; the last only of one that did not know the service. */
enum { HF__ASK_ID, HF__ASK_MASTER, HF__ASK_ADDRESS, HF__ASK_NAMES };
/* One of its replies. HF_OK; HF_BUSY: it does not know the service, ask for the
 * names of those that it knows; else p->err is told: HF_EINVAL (it is no
 * Sentinel; the names), HF_EAUTH … */
HF_MUST_CHECK int hf__sentinel_take(struct hf__peer *, int which,
                                    const redisReply *);

/* ---- handshake.c, for others */

/* Is it surely a server of its own, no door to several? */
bool hf__handshake_is_one(const struct hf__redis_server *);
/* 'B', 'C' or 'D', by what was found. */
char hf__handshake_grade(const struct hf__redis_server *);

#endif
