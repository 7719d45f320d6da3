/* SPDX-License-Identifier: MIT */
/*
 * The connection of a session to one server, in steps, so that one thread
 * serves several: dial.c connects, peer.c changes the state, handshake.c has
 * the first commands. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_PEER_H
#define HF_BACKEND_REDIS_PEER_H

#include "src/backend/redis/target.h"
#include "src/backend/redis/wire.h"
#include "src/base/wake.h"

#include <sys/socket.h>

/* How a session sleeps, and what ends its sleep. */
struct hf__rest {
    struct hf__waker waker; /* interrupts the sleep */
    int grace_ms;           /* how long an interrupted command may go on */
    unsigned ending;        /* the generation whose grace runs; 0: none */
    hf__time ending_until;
};

enum hf__peer_state {
    HF__PEER_IDLE,       /* not connected */
    HF__PEER_CONNECTING, /* connect() is in progress */
    HF__PEER_SECURING,   /* the TLS handshake is in progress */
    HF__PEER_HANDSHAKE,  /* the first commands are being answered */
    HF__PEER_READY,
    HF__PEER_DEAD /* status and err are set; hf__peer_close() makes it IDLE */
};

/* What the server reported about itself. */
struct hf__redis_server {
    char version[32];
    char run_id[41];
    char replid[41];  /* id of its replication history, as on its replicas */
    char replid2[41]; /* id of the history that it continued when it stopped
                         being a replica; zeros: none */
    char mode[16];    /* "standalone", "cluster", "sentinel" */
    char role[16];    /* "master", "slave" */
    char policy[32];  /* maxmemory-policy; "" if it is unknown */
    char fsync[16];   /* appendfsync; "" if the user may not ask */
    bool has_aof;
    bool is_loading;
    /* It answered ROLE; a proxy to several servers does not let it through. */
    bool has_told_role;
    int replicas; /* connected */
    int64_t uptime_s;
    uint64_t server_id; /* a hash of run_id, never 0 */
    uint64_t id;        /* of this connection; 0: unknown */
};

/* What a quorum's member reported of its past; see redlock/durability.c. */
struct hf__past {
    bool is_unseen;  /* the user may not read its mark */
    char since[24];  /* from the mark: a time of the server, µs; "": no mark */
    char replid[41]; /* from the mark: its replication id then */
    int64_t server_us;
    bool is_lax; /* it does not flush while it rewrites its file */
};

/* What a Sentinel reported about the service. */
struct hf__sentinel_reply {
    char id[41];    /* its own id; "": unknown, before 6.2 */
    char host[256]; /* the primary's */
    int port;       /* 0: it did not tell */
    int64_t epoch;  /* of that configuration: higher is newer */
    int quorum;     /* so many must consider the primary down */
    int others;     /* other Sentinels of the service */
    bool is_down;   /* so many consider it down */
    int down_port;  /* the port that is_down is about */
};

/* A connection that ended while commands were unanswered: they may still be
 * queued at the server, or on their way. The next connection to the same server
 * kills it first, so that they are not run later. */
struct hf__stale_conn {
    uint64_t id;        /* from CLIENT ID; 0: none */
    uint64_t server_id; /* of its server */
};

/* Addresses of a name, kept so that it need not be looked up again. */
enum { HF__ADDRESSES_MAX = 16 };
struct hf__addresses {
    int n;  /* 0: not looked up yet */
    int at; /* the one being tried; moved to the front once it answers */
    struct hf__address {
        socklen_t length;
        struct sockaddr_storage to;
    } list[HF__ADDRESSES_MAX];
};

#define HF__HANDSHAKE_MAX 32 /* the most commands of a handshake */

struct hf__peer {
    struct hf__resp resp;
    enum hf__peer_state state;
    struct hf__target target;
    struct hf__redis_server server;
    struct hf__past past;           /* if target.mark_key is set */
    struct hf__sentinel_reply said; /* if target.service is set */
    struct hf__stale_conn stale;    /* kept by hf__peer_close() */
    const char *allow; /* overrides; owned by the caller of hf__peer_start() */
    struct hf__addresses known; /* kept by hf__peer_close() */
    hf__time address_until;     /* of known.at; HF__NEVER: it is the last */
    unsigned char handshake[HF__HANDSHAKE_MAX]; /* commands sent */
    int n_handshake;
    int n_answered; /* how many of them were answered */
    int status;     /* if it is DEAD: negative */
    hf_error err;   /* if it is DEAD: why, naming target.shown */
};

void hf__peer_init(struct hf__peer *);
/* Begin to connect, and do the first step. `secret` is not kept; the caller
 * wipes it. A lookup blocks; without may_look_up the addresses of the last time
 * are used. On failure the peer is DEAD. */
void hf__peer_start(struct hf__peer *, const struct hf__target *,
                    const struct hf__secret *, const char *allow,
                    bool may_look_up);
/* Send a Sentinel's commands again, except for AUTH. It must be READY, and not
 * one that sends news. */
void hf__peer_ask_again(struct hf__peer *);
/* Call after poll(): does what can be done now. In READY, sends and receives
 * bytes; hf__resp_next() then has the replies. */
void hf__peer_advance(struct hf__peer *, short events);
/* Call after poll() for a peer without events. If the time of its address is
 * over, tries the next one, or the peer is DEAD; true then. */
bool hf__peer_tick(struct hf__peer *);
/* Close the connection; addresses are kept. */
void hf__peer_close(struct hf__peer *);
/* Make the peer DEAD, with that text unless it has one. */
void hf__peer_fail(struct hf__peer *, int status, const char *why);
/* Why hf__resp_next() failed: a text for hf__peer_fail(). */
const char *hf__peer_why(int status);

/* Sleep until a peer has something to do, and let it do that. False: `until`
 * passed, or interrupted and the grace is over. */
HF_MUST_CHECK bool hf__peers_poll(struct hf__peer *const peers[], int n,
                                  struct hf__rest *, struct hf__head *,
                                  hf__time until);

/* ---- with one server */

/* Connect and do the handshake. HF_OK; else the peer's status, with err set;
 * HF_EUNAVAIL at the deadline and when interrupted. */
HF_MUST_CHECK int hf__peer_open(struct hf__peer *, struct hf__rest *,
                                struct hf__head *, hf__time deadline,
                                hf_error *err);
/* Wait for the next reply; the caller frees it. HF_OK; HF_EUNAVAIL or worse:
 * the peer is DEAD. */
HF_MUST_CHECK int hf__peer_reply(struct hf__peer *, struct hf__rest *,
                                 struct hf__head *, hf__time deadline,
                                 redisReply **ret_reply);

/* ---- dial.c, for peer.c */

/* Begin to connect to the host, or to the unix socket. True: connected; false:
 * in progress, or DEAD. */
HF_MUST_CHECK bool hf__dial_host(struct hf__peer *, bool may_look_up);
HF_MUST_CHECK bool hf__dial_socket(struct hf__peer *);
/* connect() has ended, with or without success. As above. */
HF_MUST_CHECK bool hf__dial_finish(struct hf__peer *);
/* The time of the address is over: try the next one. As above. */
HF_MUST_CHECK bool hf__dial_next(struct hf__peer *);

/* ---- handshake.c, for peer.c */

/* Queue the first commands: AUTH, INFO, ROLE, CONFIG GET (may be refused),
 * SELECT, a member's past, CLIENT SETNAME and ID, and which scripts the server
 * knows; later the scripts that it does not know, and the end of the stale
 * connection. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__handshake_queue(struct hf__peer *,
                                      const struct hf__secret *);
/* Queue a Sentinel's commands again, except for AUTH. As above. */
HF_MUST_CHECK int hf__handshake_again(struct hf__peer *);
/* Handle one of the replies. HF_BUSY: more are to come; HF_OK: the server is
 * fit; else why it is not (an override in `allow` admits it), with p->err set:
 * HF_EAUTH, HF_EUNSAFE (it evicts, is a replica, a cluster), HF_EUNAVAIL
 * (LOADING …), HF_EINVAL (Sentinel, no such database), HF_EPROTO, HF_ENOMEM. */
HF_MUST_CHECK int hf__handshake_take(struct hf__peer *, const redisReply *);

/* ---- sentinel_reply.c, for handshake.c: what a Sentinel answers */

/* Questions to a Sentinel; the last only if it does not know the service. */
enum { HF__ASK_ID, HF__ASK_MASTER, HF__ASK_ADDRESS, HF__ASK_NAMES };
/* Handle one of its replies. HF_OK; HF_BUSY: it does not know the service, ask
 * for the names that it knows; else p->err is set: HF_EINVAL (it is not a
 * Sentinel; the names), HF_EAUTH … */
HF_MUST_CHECK int hf__sentinel_take(struct hf__peer *, int which,
                                    const redisReply *);

/* ---- handshake.c, for others */

/* Is it surely a single server, not a proxy to several? */
bool hf__handshake_is_one(const struct hf__redis_server *);
/* 'B', 'C' or 'D', from what the server reported. */
char hf__handshake_grade(const struct hf__redis_server *);

#endif
