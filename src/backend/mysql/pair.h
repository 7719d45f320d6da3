/* SPDX-License-Identifier: MIT */
/*
 * Several servers that replicate each other, one of which may be written to:
 * mysql://h1,h2/db. That one is the primary. Each has rows of its own in all
 * tables, which no other ever writes: a lock's key begins with its server's
 * tag. So replication never meets a row that both sides have changed.
 *
 * A primary has an epoch, the highest that is known (holdfast_server), and
 * shows again and again that it is used. A server that became writable gets
 * the next epoch from whoever comes first (promote.c), takes over the locks of
 * the others (takeover.c), and grants nothing new for longest_lease, unless the
 * others show that it has all that they have granted (peer.c). Thread: the
 * session's.
 */
#ifndef HF_BACKEND_MYSQL_PAIR_H
#define HF_BACKEND_MYSQL_PAIR_H

#include "src/backend/backend.h"
#include "src/backend/mysql/wire.h"

struct hf__mysql;
struct hf__report;
struct hf__view;

/* ';', which begins no key of a store by itself, and the server's number in
 * hexadecimal. */
enum { HF__TAG_SIZE = 9, HF__MYSQL_KEY_MAX = HF__KEY_MAX + HF__TAG_SIZE };
#define HF__SQL_TAG_OF "LEFT(name_key,9)"
/* A key without one; by ranges of the key, for each session asks it. */
#define HF__SQL_PLAIN "(name_key<x'3b' OR name_key>=x'3c')"

struct hf__pair {
    bool is_on; /* the session is one of such a system */
    int64_t longest_ms;
    uint32_t server_id;
    uint64_t epoch;
    hf__time grants_at; /* until then new grants are BUSY */
    hf__time shown_at;  /* the last time that the epoch was shown to be used */

    /* While it opens: of the URL's hosts */
    bool is_proven;   /* see hf__view */
    size_t candidate; /* the last one that could become the primary */
    int n_candidates;
    uint64_t unreached; /* bits: no connection */
    hf_error passed;    /* of the last one that was passed by */
};

/* The URL's option, which needs several hosts. HF_OK or HF_EINVAL. */
HF_MUST_CHECK int hf__pair_option(struct hf__mysql *s, const struct hf__url *);

/* Connected to one of several hosts: is it the primary? HF_OK, and s->pair is
 * on; HF_EUNAVAIL: it is not, though it may have been counted as a candidate;
 * HF_EINVAL: its clients have another longest_lease. */
HF_MUST_CHECK int hf__primary_meet(struct hf__mysql *s, size_t host);
/* Connected to the only candidate: make it the primary. HF_OK; HF_EUNSAFE:
 * what was found refuses it; HF_EUNAVAIL: not now. */
HF_MUST_CHECK int hf__primary_take(struct hf__mysql *s,
                                   const struct hf__url *url,
                                   const struct hf__wire_target *target);
/* The same after that, by whoever did it. */
HF_MUST_CHECK int hf__primary_enter(struct hf__mysql *s);
/* Do those who lock have another longest_lease? HF_EINVAL. */
HF_MUST_CHECK int hf__primary_refuse_other(struct hf__mysql *s,
                                           const struct hf__view *v);
/* Was it shown to be used just now? */
bool hf__primary_is_fresh(const struct hf__mysql *s, const struct hf__view *v);
/* Has it run since it was last shown to be used? */
bool hf__primary_has_run(const struct hf__mysql *s, const struct hf__view *v);
/* A client that names one host: HF_EUNSAFE if the server is one of several. */
HF_MUST_CHECK int hf__primary_refuse_alone(struct hf__mysql *s);
HF_MUST_CHECK int hf__primary_check(struct hf__mysql *s, struct hf__report *to);

/* Told by the server: there is no such table. */
enum { HF__NO_TABLE = 1146, HF__NO_COLUMN = 1054 };

/* What each packet begins with, after which nothing of it is done unless the
 * server is still the primary. Gives how many replies that is. */
int hf__pair_guard(struct hf__mysql *s);
/* It is shown to be used that often: of longest_lease, ms. */
#define SHOWN_PARTS(ms) ((ms) / 8)
/* So long may it be unused and still be the primary: µs. */
int64_t hf__pair_idle_max_us(const struct hf__pair *p);

/* ---- what a server says of itself and of another */

struct hf__view {
    uint32_t id;
    bool is_writable;
    int64_t now_us;
    hf__time asked; /* not before that was the clock read */

    /* Of its own row: */
    uint64_t epoch; /* 0: it has none */
    uint64_t prior; /* its epoch before that one */
    bool is_settled;
    int64_t idle_us;  /* since it was shown to be used */
    int64_t waits_us; /* until it grants */
    int64_t longest_us;
    char mark[33]; /* in hexadecimal */

    /* Of all rows: */
    bool is_proven; /* that they are one system */
    int64_t longest_of_all_us;
    int64_t latest_longest_us; /* of who has the highest epoch */
    int64_t latest_idle_us;
    int64_t others_shown_at; /* the last time that another was used */

    uint64_t other_epoch; /* of the row of whom was asked for */
    uint64_t top;         /* of all but that one, or itself */
};

/* *other is whose row is looked for; NULL: nobody's. Where there is no table
 * nothing is known. */
HF_MUST_CHECK int hf__view_read(struct hf__mysql *s,
                                const struct hf__view *other,
                                struct hf__view *ret_view);

/* Another host of the URL. */
struct hf__peer {
    bool is_reached;
    bool is_known; /* it has the row of our server: they are one system */
    bool has_all;  /* what it has granted, ours has; it grants no more */
    struct hf__view view;
    int64_t ahead_us; /* its clock, of ours: at least so much */
};

enum { HF__PEERS_MAX = 8 };

/* Look at it until it shows that it has granted nothing that `ours` lacks, or
 * `until`. HF_OK, or the connection to ours is dead. */
HF_MUST_CHECK int hf__peer_look(struct hf__mysql *s,
                                const struct hf__wire_target *target,
                                const struct hf__view *ours, hf__time until,
                                struct hf__peer *ret_peer);

/* ---- keys */

/* The tag of that server, as SQL. */
void hf__pair_add_tag(struct hf__text *t, uint32_t server_id);
void hf__pair_write_tag(uint32_t server_id, char to[HF__TAG_SIZE + 1]);

/* Statements of a transaction, which do nothing unless @hf is 1: what the
 * others have of locks becomes the server's own. */
void hf__takeover_add(struct hf__mysql *s, const struct hf__view *ours,
                      const struct hf__peer *peers, int n);

/* The store's calls, as backend.h has them, for one server or several. */
int hf__pair_execute(void *state, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err);
int hf__pair_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                  hf_error *err);

#endif
