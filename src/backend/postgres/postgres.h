/* SPDX-License-Identifier: MIT */
/*
 * The session of the PostgreSQL store, which the files of this folder share.
 * postgres.c opens and closes it; target, timeline, connect, auth and settings
 * lead to the right server; ask, wire and errors are the connection; schema has
 * the tables. batch is execute(): it tries the statements of fast_path, with
 * their wake locks (wake_lock), and where those apply nothing,
 * src/backend/name/ decides (decide, name, commit). wait waits, listen hears of
 * breaks, scan is list() and gc(), cells is cell(), check is check().
 *
 * Thread: the session's; any thread may interrupt it.
 */
#ifndef HF_BACKEND_POSTGRES_POSTGRES_H
#define HF_BACKEND_POSTGRES_POSTGRES_H

#include "src/backend/name/engine.h"
#include "src/backend/postgres/wire.h"
#include "src/backend/table/session.h"

/* The server's clock, microseconds since 1970; with OFFSET 0 a statement reads
 * it once. */
#define HF__PG_NOW   "(extract(epoch FROM clock_timestamp())*1000000)::bigint"
#define HF__PG_CLOCK "(SELECT " HF__PG_NOW " AS n OFFSET 0) c"

/* Selects the keys of the wake locks that any session holds. */
#define HF__PG_HEARD                                                           \
    "SELECT classid::bigint<<32|objid::bigint FROM pg_locks WHERE "            \
    "locktype='advisory' AND objsubid=1 AND granted AND database="             \
    "(SELECT oid FROM pg_database WHERE datname=current_database())"
/* Selects all that the tables have of some names, as rows for
 * hf__pg_name_read(). `which` is a condition on name_key. pg_locks is read only
 * if there is a ticket, and once for all tickets: else each look of a waiter
 * would take time in proportion to the tickets times the server's locks. */
#define HF__PG_RECORDS(which)                                                  \
    "WITH c AS MATERIALIZED (SELECT " HF__PG_NOW " AS n)"                      \
    "SELECT 0::bigint,name_key,fence,token,greatest(expires,0)-n,acquired_at," \
    "greatest(keep_until,0)-n,broken,revision,crowd::bigint,0::bigint,n,"      \
    "label,host,pid,thread,note,changed_at FROM holdfast_lock,c WHERE " which
#define HF__PG_NAMES(which)                                                    \
    HF__PG_RECORDS(which)                                                      \
    " UNION ALL SELECT 1,name_key,fence,token,greatest(expires,0)-n,"          \
    "acquired_at,mode,slots,slot,ended,0,n,"                                   \
    "label,host,pid,thread,note,0 FROM holdfast_beside,c WHERE " which         \
    " UNION ALL SELECT 2,name_key,seq,token,greatest(asked,0)-n,since,mode,"   \
    "slots,0,0,(('x'||encode(substr(token,1,8),'hex'))::bit(64)::bigint"       \
    "#92673638352212=ANY(ARRAY(" HF__PG_HEARD ")))::int,n,"                    \
    "label,host,pid,thread,note,0 FROM holdfast_ticket,c WHERE " which

/* Numbers of the prepared statements. */
enum hf__pg_number {
    HF__PG_UNPREPARED,
    HF__PG_RENEW,
    HF__PG_RENEW_ONE_OF_SEVERAL,
    HF__PG_RELEASE,
    HF__PG_RELEASE_ONE_OF_SEVERAL,
    HF__PG_HANDOVER,
    HF__PG_ACQUIRE,
    HF__PG_MAKE,
    HF__PG_LOOK,
    HF__PG_GLANCE,
    HF__PG_COMMIT,
    HF__PG_SHOW,
    HF__PG_UNLOCK,
    HF__PG_QUESTION,
    HF__PG_PATIENCE,
    HF__PG_SEEN,
    HF__PG_CELL_GET,
    HF__PG_CELL_PUT,
    HF__PG_CELL_NEW,
    HF__PG_FORGET
};

/* A session takes at most so many wake locks, one for each grant: advisory
 * locks fill the lock table that all sessions of the server share. */
#define HF__PG_WAKE_LOCKS 32
/* The wake lock of a ticket has the key of its token XOR this number, which
 * HF__PG_NAMES repeats. */
#define HF__PG_TICKET INT64_C(92673638352212)

/* What the session found out about its server when it was opened. */
struct hf__pg_server {
    int version;      /* PQserverVersion(): 150018 */
    bool is_pooled;   /* each transaction may run on another connection */
    bool is_verified; /* its certificate was verified */
    bool is_standby;
    bool is_waited_for; /* each commit waits for a standby */
    uint64_t system;    /* its identifier, which copies of a server share */
    uint32_t timeline;  /* rises with each promotion */
    int64_t started_us; /* when the server started */
    uint64_t mark; /* this session's own number in application_name; 0: none */
    uint64_t server_id; /* hash of system, timeline and started_us */
    uint64_t schema;    /* hash of database and schema, for keys of turns */
};

struct hf__pg {
    struct hf__table_head t;
    struct hf__pg_wire wire;
    struct hf__pg_server server;
    struct hf__pg_reply reply;              /* what hf__pg_next() gave last */
    uint64_t wake_locks[HF__PG_WAKE_LOCKS]; /* keys of those it has; 0: a free
                                               slot */
    bool is_listening;                      /* listen.c has sent LISTEN */

    /* State of the running call: */
    int64_t own_ends_us; /* when the operation's own grant ends; INT64_MAX: it
                            has none */
    PGresult *seen;      /* rows that were read for the batch; NULL: none */
    bool sees_others;    /* the last records told of other grants or tickets */
    bool has_glanced;    /* only records were asked for */
    bool hurries;        /* a locked row is hardly waited for (batch.c) */
    uint64_t busy;       /* hash of the name that was busy last; 0: none */
};

extern const struct hf__wait_ops hf__pg_wait_ops; /* wait.c */

/* ---- wake locks (wake_lock.c) */

/* Keep a slot for the wake lock of this grant and give its key. 0: take none,
 * for the session has enough, has this one already, or the server is pooled. */
int64_t hf__pg_wake_lock_take(struct hf__pg *s, const struct hf__token *token);
/* The wake lock was not taken, or is being released: free its slot. Gives
 * whether it had one. */
bool hf__pg_wake_lock_forget(struct hf__pg *s, const struct hf__token *token);
bool hf__pg_wake_lock_is_had(const struct hf__pg *s,
                             const struct hf__token *token);
int64_t hf__pg_wake_lock_of(const struct hf__token *token);

/* ---- schema.c */

/* Look at the tables, of locks or of cells, and make those that are missing.
 * HF_OK; HF_EAUTH naming the DDL; HF_EPROTO naming the column. */
HF_MUST_CHECK int hf__pg_schema_ready(struct hf__pg *s, bool of_cells);
const char *hf__pg_ddl(const struct hf__url *url);

/* ---- name.c */

/* Ask, without sending it, for all rows of those keys. */
void hf__pg_ask_names(struct hf__pg *s, const struct hf__key *const keys[],
                      int n);
void hf__pg_ask_watched(struct hf__pg *s, struct hf__watch *const w[], int n);
/* Ask for the records of those keys alone, which is half the work and enough
 * for most names, or for all rows if the last records told of other grants or
 * tickets. Once the reply is there, call hf__pg_look_closer(): where a record
 * tells of others it asks again, for all rows. It gives what hf__pg_run()
 * gives, and s->reply. */
void hf__pg_glance(struct hf__pg *s, const struct hf__key *const keys[], int n);
HF_MUST_CHECK int hf__pg_look_closer(struct hf__pg *s);
/* Add the rows of `key` to a name that was initialized, and end it; is_there is
 * false if there is no record. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__pg_name_read(const PGresult *rows,
                                   const struct hf__key *key,
                                   struct hf__table_name *name);
/* A position in rows, which may be in any order. */
struct hf__pg_cursor {
    PGresult *rows;
    int at;
};
/* Read the next row of a struct hf__pg_cursor; false: there is none. */
bool hf__pg_name_next(void *cursor, struct hf__table_row *ret_row);
bool hf__pg_name_has_record(const PGresult *rows, const struct hf__key *key);

/* ---- the calls of backend.h */

int hf__pg_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err);
int hf__pg_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *err);
int hf__pg_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                  hf_error *err);
int hf__pg_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err);
int hf__pg_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err);
int hf__pg_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                hf_error *err);
int hf__pg_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err);

#endif
