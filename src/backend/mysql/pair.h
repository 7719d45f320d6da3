/* SPDX-License-Identifier: MIT */
/*
 * Several servers that replicate each other, mysql://h1,h2/db. The primary is
 * the one that may be written to. Each server has rows of its own in all
 * tables, which no other ever writes: a lock's key begins with its server's
 * tag. So replication never meets a row that both sides have changed.
 *
 * A primary has the highest known epoch (holdfast_server), and keeps showing
 * that it is in use. A server that became writable gets the next epoch from the
 * first client that comes (promote.c), and takes over the locks of the others
 * (takeover.c). Then it grants nothing new for longest_lease, unless the others
 * show that it has all their grants (peer.c). Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_PAIR_H
#define HF_BACKEND_MYSQL_PAIR_H

#include "src/backend/backend.h"
#include "src/backend/mysql/wire.h"

struct hf__mysql;
struct hf__report;
struct hf__view;

/* A tag is ';', which begins no key of a store by itself, and the server's
 * number in hexadecimal. */
enum { HF__TAG_SIZE = 9, HF__MYSQL_KEY_MAX = HF__KEY_MAX + HF__TAG_SIZE };
#define HF__SQL_TAG_OF "LEFT(name_key,9)"
/* A key without a tag. Each session asks for these, so it is written as ranges
 * of the key. */
#define HF__SQL_PLAIN "(name_key<x'3b' OR name_key>=x'3c')"

struct hf__pair {
    bool is_on; /* the session is connected to such a primary */
    int64_t longest_ms;
    uint32_t server_id;
    uint64_t epoch;
    hf__time grants_at; /* until then new grants are BUSY */
    hf__time shown_at;  /* when we last showed that the epoch is in use */

    /* While open() tries the URL's hosts: */
    bool is_proven;   /* as in hf__view */
    size_t candidate; /* the last one that could become the primary */
    int n_candidates;
    uint64_t unreached; /* bit i: no connection to host i */
    hf_error passed;    /* why the last host was passed over */
};

/* Read the URL's longest_lease, which needs several hosts. HF_OK or
 * HF_EINVAL. */
HF_MUST_CHECK int hf__pair_option(struct hf__mysql *s, const struct hf__url *);

/* Connected to one of several hosts: is it the primary? HF_OK: it is, and
 * s->pair is on. HF_EUNAVAIL: it is not, but may have been counted as a
 * candidate. HF_EINVAL: its clients have another longest_lease. */
HF_MUST_CHECK int hf__primary_meet(struct hf__mysql *s, size_t host);
/* Connected to the only candidate: make it the primary. HF_OK; HF_EUNSAFE: the
 * servers' state forbids it; HF_EUNAVAIL: not now. */
HF_MUST_CHECK int hf__primary_take(struct hf__mysql *s,
                                   const struct hf__url *url,
                                   const struct hf__wire_target *target);
/* Set s->pair once the server was made the primary, by us or another client. */
HF_MUST_CHECK int hf__primary_enter(struct hf__mysql *s);
/* HF_EINVAL if clients that lock here have another longest_lease. */
HF_MUST_CHECK int hf__primary_refuse_other(struct hf__mysql *s,
                                           const struct hf__view *v);
/* Was the server shown to be in use just now? */
bool hf__primary_is_fresh(const struct hf__mysql *s, const struct hf__view *v);
/* Has it run without a restart since it was last shown to be in use? */
bool hf__primary_has_run(const struct hf__mysql *s, const struct hf__view *v);
/* For a client that names one host: HF_EUNSAFE if the server is one of
 * several. */
HF_MUST_CHECK int hf__primary_refuse_alone(struct hf__mysql *s);
HF_MUST_CHECK int hf__primary_check(struct hf__mysql *s, struct hf__report *to);

/* The server's errors: there is no such table, no such column. */
enum { HF__NO_TABLE = 1146, HF__NO_COLUMN = 1054 };

/* Add the statements that begin each packet and end it there, unless the server
 * is still the primary. Returns the number of their replies. */
int hf__pair_guard(struct hf__mysql *s);
/* How often the server is shown to be in use, in ms, from longest_lease. */
#define SHOWN_PARTS(ms) ((ms) / 8)
/* How long it may go unused and still be the primary, in µs. */
int64_t hf__pair_idle_max_us(const struct hf__pair *p);

/* ---- what a server knows of itself and of another */

struct hf__view {
    uint32_t id;
    bool is_writable;
    int64_t now_us;
    hf__time asked; /* the clock was read at or after this time */

    /* From its own row: */
    uint64_t epoch; /* 0: it has no row */
    uint64_t prior; /* its epoch before that one */
    bool is_settled;
    int64_t idle_us;  /* since it was last shown to be in use */
    int64_t waits_us; /* until it may grant */
    int64_t longest_us;
    char mark[33]; /* in hexadecimal */

    /* From all rows: */
    bool is_proven; /* all servers were seen to be one system */
    int64_t longest_of_all_us;
    int64_t latest_longest_us; /* of the server with the highest epoch */
    int64_t latest_idle_us;
    int64_t others_shown_at; /* when another server was last in use */

    uint64_t other_epoch; /* in the row of the server that was asked for */
    uint64_t top;         /* highest of all rows but that one; NULL: but its
                             own */
};

/* *other is the server whose row to look for; NULL: none. Without the table, no
 * rows are known. */
HF_MUST_CHECK int hf__view_read(struct hf__mysql *s,
                                const struct hf__view *other,
                                struct hf__view *ret_view);

/* Another host of the URL. */
struct hf__peer {
    bool is_reached;
    bool is_known; /* it has our server's row: they are one system */
    bool has_all;  /* ours has all its grants, and it grants no more */
    struct hf__view view;
    int64_t ahead_us; /* its clock minus ours, at least */
};

enum { HF__PEERS_MAX = 8 };

/* Read the other server until it shows that ours has all its grants, or until
 * `until`. HF_OK, or the connection to ours is dead. */
HF_MUST_CHECK int hf__peer_look(struct hf__mysql *s,
                                const struct hf__wire_target *target,
                                const struct hf__view *ours, hf__time until,
                                struct hf__peer *ret_peer);

/* ---- keys */

/* The tag of that server, as an SQL literal and as text. */
void hf__pair_add_tag(struct hf__text *t, uint32_t server_id);
void hf__pair_write_tag(uint32_t server_id, char to[HF__TAG_SIZE + 1]);

/* Add statements for a transaction that copy the other servers' locks into the
 * server's own rows. They do nothing unless @hf is 1. */
void hf__takeover_add(struct hf__mysql *s, const struct hf__view *ours,
                      const struct hf__peer *peers, int n);

/* The store's calls as backend.h has them, for one server or several. */
int hf__pair_execute(void *state, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err);
int hf__pair_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                  hf_error *err);

#endif
