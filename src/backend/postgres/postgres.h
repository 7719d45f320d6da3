/* SPDX-License-Identifier: MIT */
/*
 * A session of the PostgreSQL store, as the files of this folder share it:
 * postgres.c opens and closes it; target, timeline, connect, auth, settings
 * are the way to the right server, ask, wire and errors the connection, schema
 * the tables; batch is execute(), by the statements of fast_path with their
 * wake locks (wake_lock), or where those do nothing by what src/backend/name/
 * decides (decide, name, commit); wait and listen are waiting and being told,
 * scan is list() and gc(), cells is cell(), check is check().
 *
 * Thread: the session's; interrupting it: any.
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

/* Wake locks that somebody has. */
#define HF__PG_HEARD                                                           \
    "SELECT classid::bigint<<32|objid::bigint FROM pg_locks WHERE "            \
    "locktype='advisory' AND objsubid=1 AND granted AND database="             \
    "(SELECT oid FROM pg_database WHERE datname=current_database())"
/* All that the tables have of some names: rows for hf__pg_name_read(). `which`
 * is a condition on name_key. Whether anybody has a ticket's wake lock is
 * looked up only where there is a ticket, and once for all: a waiter's look
 * must not take longer for each who waits, times each lock that there is. */
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

/* Statements that are prepared. */
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

/* Advisory locks by which others are woken: one for each grant, up to so many
 * a session, for they share the server's table of locks. */
#define HF__PG_WAKE_LOCKS 32
/* The key of a ticket's is that of its token, so changed; also in
 * HF__PG_NAMES. */
#define HF__PG_TICKET INT64_C(92673638352212)

/* What was found when the session was opened. */
struct hf__pg_server {
    int version;      /* PQserverVersion(): 150018 */
    bool is_pooled;   /* each transaction may be on another connection */
    bool is_verified; /* its certificate was asked for, and is good */
    bool is_standby;
    bool is_waited_for; /* by a commit: some standby */
    uint64_t system; /* its identifier: servers that are copies have the same */
    uint32_t timeline;  /* rises with each promotion */
    int64_t started_us; /* when the server was */
    uint64_t mark; /* in application_name, of this session alone; 0: none */
    uint64_t server_id; /* hash of system, timeline and started */
    uint64_t schema;    /* hash of database and schema: of keys of turns */
};

struct hf__pg {
    struct hf__table_head t;
    struct hf__pg_wire wire;
    struct hf__pg_server server;
    struct hf__pg_reply reply; /* the one that hf__pg_next() gave last */
    uint64_t
        wake_locks[HF__PG_WAKE_LOCKS]; /* which it has taken; 0: a free place */
    bool is_listening;                 /* listen.c's */

    /* Of the call that runs: */
    int64_t own_ends_us; /* its grant in the name in hand, if it has one */
    PGresult *seen;      /* names that were read for the batch; NULL: none */
    bool sees_others;    /* the last glance found one, and was not enough */
    bool has_glanced;    /* what is asked for is the records alone */
    bool hurries;        /* a row that is locked is waited for as good as not */
    uint64_t busy;       /* hash of the name that was so last; or 0 */
};

extern const struct hf__wait_ops hf__pg_wait_ops; /* wait.c */

/* ---- wake locks (wake_lock.c) */

/* Of a grant; 0: none is to be taken, as the session has enough, or the server
 * none. A place is kept for it. */
int64_t hf__pg_wake_lock_take(struct hf__pg *s, const struct hf__token *token);
/* It was not taken, or is let go of; gives whether there was a place. */
bool hf__pg_wake_lock_forget(struct hf__pg *s, const struct hf__token *token);
bool hf__pg_wake_lock_is_had(const struct hf__pg *s,
                             const struct hf__token *token);
int64_t hf__pg_wake_lock_of(const struct hf__token *token);

/* ---- schema.c */

/* HF_OK; HF_EAUTH with the DDL's name; HF_EPROTO naming the column. */
HF_MUST_CHECK int hf__pg_schema_ready(struct hf__pg *s, bool of_cells);
const char *hf__pg_ddl(const struct hf__url *url);

/* ---- name.c */

/* Ask (no send) for all of those keys. */
void hf__pg_ask_names(struct hf__pg *s, const struct hf__key *const keys[],
                      int n);
void hf__pg_ask_watched(struct hf__pg *s, struct hf__watch *const w[], int n);
/* The same by half the work, as most names have nobody beside or in the queue:
 * for the records alone, unless there were others lately. What s->reply has of
 * it is all there is only after hf__pg_look_closer(), which asks again where
 * somebody is. HF_OK, and s->reply, as of hf__pg_run(). */
void hf__pg_glance(struct hf__pg *s, const struct hf__key *const keys[], int n);
HF_MUST_CHECK int hf__pg_look_closer(struct hf__pg *s);
/* Those of `key` among such rows, into a name that was begun; is_there is false
 * if it has no record. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__pg_name_read(const PGresult *rows,
                                   const struct hf__key *key,
                                   struct hf__table_name *name);
/* Row by row, in any order. */
struct hf__pg_cursor {
    PGresult *rows;
    int at;
};
/* The next one, of such a cursor; false: there is none. */
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
