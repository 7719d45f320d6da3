/* SPDX-License-Identifier: MIT */
/*
 * A session of the MySQL store, as the files of this folder share it. schemes.c
 * chooses the store by the URL, mysql.c opens and closes that of scheme=table.
 * The connection: wire connect auth errors settings target galera; to one of
 * several servers that replicate each other: pair primary promote view peer
 * takeover. Parts of statements: sql. The tables: schema shape row. The calls:
 * batch is execute(), with fast_path for names with one holder and slow_path
 * for the rest, which src/backend/name/ decides (name commit); wait is wait(),
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

/* The token of no claim. It is as long as any other, because a row whose length
 * stays the same is changed in place, in half the time. */
#define HF__SQL_NOBODY "x'00000000000000000000000000000000'"

/* What open() found out about the server. */
struct hf__server {
    char version[64];
    bool has_wake_locks; /* a session can hold several user locks, visible to
                            all sessions */
    bool has_inner_wake_locks; /* … and a statement that writes can take them; a
                                  replica that replays statements would take
                                  them, too */
    bool has_pair_table;       /* this user can see it: see pair.h */
    bool logs_statements;      /* its log for replicas has statements instead of
                                  changed rows */
    bool has_zero_wait;        /* it accepts innodb_lock_wait_timeout=0 */
    bool is_galera;
    bool has_compounds;  /* a transaction must be a compound statement: see
                            commit.c */
    bool has_desynced;   /* a host was passed over as desynced: see galera.c */
    bool takes_desynced; /* a desynced host will do, as no other is fit */
    bool is_verified;    /* TLS has verified that it is the server we meant */
    uint64_t connection_id;
    uint64_t packet_max; /* the largest packet it takes, in bytes */
    uint64_t server_id;  /* identifies the server */
    int64_t uptime_s;    /* when we connected; up to a second too much */
    uint64_t mark;       /* names the user lock held as long as this session
                            lives; 0: none */
};

struct hf__mysql {
    struct hf__table_head t;
    struct hf__wire wire;
    struct hf__server server;
    struct hf__pair pair;
    struct hf__text sql;    /* the packet under construction */
    struct hf__text stale;  /* drops wake locks of tokens that did not win, see
                               sql.h */
    int lock_wait_s;        /* wait for locked rows; −1: not known */
    struct hf__reply reply; /* the last one from hf__wire_next() */
    hf__time scanned;       /* when the chunk of the scan had been read */
    hf__time sent_at;       /* when the last packet of the running call was
                               sent */
    unsigned n_slow;        /* batches with slow operations: rotates which one
                               is first */
};

extern const struct hf__backend hf__mysql_table_backend;
extern const struct hf__wait_ops hf__mysql_wait_ops; /* wait.c */

/* Send s->sql and keep its last reply. If the server refuses, s->t.err says why
 * and the status is negative. */
HF_MUST_CHECK int hf__mysql_run(struct hf__mysql *s);
/* HF_EUNAVAIL or worse, and s->t.err says why: the session can't be used any
 * more. */
HF_MUST_CHECK int hf__mysql_dead(struct hf__mysql *s);

/* Do one operation on a name with several holders or with waiters, or one of a
 * kind that needs everything known about the name. Sets its result and outputs.
 * HF_OK, or the session is dead. */
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
/* Says that only scheme=table has cells. */
int hf__mysql_no_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                      hf_error *err);
struct hf__schema;
struct hf__report;
/* Check what any lock on that server relies on, and the tables of the schema,
 * unless that is NULL. */
HF_MUST_CHECK int hf__mysql_check_server(struct hf__mysql *s,
                                         const struct hf__schema *schema,
                                         struct hf__report *to);
void hf__mysql_interrupt(void *state);
int hf__mysql_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err);

#endif
