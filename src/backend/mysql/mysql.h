/* SPDX-License-Identifier: MIT */
/*
 * A session of the MySQL store, as the files of this folder share it:
 * schemes.c chooses the store by the URL, mysql.c opens and closes that of the
 * table; wire connect auth errors settings target galera are the connection,
 * pair primary promote view peer takeover that to one of several that replicate
 * each other, sql what goes into a statement, schema shape row the tables;
 * batch is execute(), fast_path for names with one holder, slow_path for those
 * with more, which src/backend/name/ decides (name commit); wait is waiting,
 * scan list() and gc(), cells cell(), check check().
 *
 * Thread: the session's, except hf__mysql_interrupt().
 */
#ifndef HF_BACKEND_MYSQL_MYSQL_H
#define HF_BACKEND_MYSQL_MYSQL_H

#include "src/backend/mysql/name.h"
#include "src/backend/mysql/pair.h"
#include "src/backend/mysql/sql.h"
#include "src/backend/mysql/wire.h"
#include "src/backend/table/session.h"

/* The server's clock: microseconds since 1970 in UTC, at the start of the
 * statement. UNIX_TIMESTAMP() would depend on a time zone. */
#define HF__SQL_NOW "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"

/* A token of nobody. It is as long as any other: a row whose length stays the
 * same is changed where it is, in half the time. */
#define HF__SQL_NOBODY "x'00000000000000000000000000000000'"

/* What was found when the session was opened. */
struct hf__server {
    char version[64];
    bool
        has_wake_locks; /* a session can hold several user locks, seen by all */
    bool has_inner_wake_locks; /* … and take them in a statement that writes: a
                             replica would do so, too, if it got statements */
    bool has_pair_table;       /* seen by this user: see pair.h */
    bool logs_statements;      /* for replicas, instead of what they change */
    bool has_zero_wait;        /* innodb_lock_wait_timeout=0 is taken */
    bool is_galera;
    bool has_compounds;  /* a transaction must be one: see commit.c */
    bool has_desynced;   /* one of the hosts was passed by for that: galera.c */
    bool takes_desynced; /* as no other is fit */
    bool is_verified;    /* by TLS it has shown that it is the one we meant */
    uint64_t connection_id;
    uint64_t packet_max; /* bytes that may be sent as one */
    uint64_t server_id;  /* which server it is */
    int64_t uptime_s;    /* when we came; up to a second too much */
    uint64_t mark;       /* names a user lock of this session's life; 0: none */
};

struct hf__mysql {
    struct hf__table_head t;
    struct hf__wire wire;
    struct hf__server server;
    struct hf__pair pair;
    struct hf__text sql;   /* the packet under construction */
    struct hf__text stale; /* wake locks of tokens that did not win, see
                              sql.h */
    int lock_wait_s; /* for rows that others have locked; −1: not known */
    struct hf__reply reply; /* the one that hf__wire_next() gave last */
    hf__time scanned;       /* when the chunk in hand had been read */
    hf__time sent_at;       /* the last packet of the call that runs */
    unsigned n_slow;        /* batches, by which the first one changes */
};

extern const struct hf__backend hf__mysql_table_backend;
extern const struct hf__wait_ops hf__mysql_wait_ops; /* wait.c */

/* Send s->sql; its last reply stays. The server's refusal is a failure, with
 * s->t.err told. */
HF_MUST_CHECK int hf__mysql_run(struct hf__mysql *s);
/* HF_EUNAVAIL or worse, with s->t.err told why: the session is of no use. */
HF_MUST_CHECK int hf__mysql_dead(struct hf__mysql *s);

/* One operation on a name that several hold or wait for, or of a kind that
 * needs all that is known of it: its result and all that goes with it. HF_OK,
 * or the session is dead. */
HF_MUST_CHECK int hf__mysql_slow(struct hf__mysql *s, struct hf__op *op);

int hf__mysql_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err);
int hf__mysql_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err);
int hf__mysql_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err);
int hf__mysql_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err);
int hf__mysql_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                   hf_error *err);
/* That there are none, but for scheme=table. */
int hf__mysql_no_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                      hf_error *err);
struct hf__schema;
struct hf__report;
/* What any lock on that server rests on, and the tables, if there are some. */
HF_MUST_CHECK int hf__mysql_check_server(struct hf__mysql *s,
                                         const struct hf__schema *schema,
                                         struct hf__report *to);
void hf__mysql_interrupt(void *state);
int hf__mysql_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err);

#endif
