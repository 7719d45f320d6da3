/* SPDX-License-Identifier: MIT */
/*
 * check(): reports whether this server is fit for locks, and how good it is.
 * Each thing that a promise rests on is one item; one statement reads and
 * judges them all. An ordinary user may run it. Called by the session's thread.
 */
#include "src/backend/postgres/errors.h"
#include "src/backend/report.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what the server says */

#define OURS                                                                   \
    "relnamespace=(SELECT oid FROM pg_namespace WHERE nspname=$1) AND "        \
    "relname IN("
#define LOCKS "'holdfast_lock','holdfast_beside','holdfast_ticket'"
/* While a session reads an old snapshot, the server can't remove rows that were
 * changed since. Few users may see how old it is; for the others its age in
 * transactions counts. */
#define OLD "10000"

/* The columns that the items use. */
static const char from[] =
    " FROM (SELECT string_agg('no '||p||' on '||relname,', ') AS missing FROM "
    "pg_class,unnest(ARRAY['SELECT','INSERT','UPDATE','DELETE']) p WHERE " OURS
        LOCKS ") AND NOT has_table_privilege(pg_class.oid,p)) m,"
    "(SELECT string_agg(relname,', ') FILTER(WHERE relpersistence='u') AS "
    "unlogged,coalesce(bool_or(relname='holdfast_cell'),false) AS has_cells,"
    "string_agg(DISTINCT pg_get_userbyid(relowner),', ') FILTER(WHERE NOT "
    "pg_has_role(relowner,'MEMBER') AND NOT pg_has_role(relowner,nspowner,"
    "'MEMBER')) AS owners FROM pg_class JOIN pg_namespace n ON n.oid="
    "relnamespace WHERE " OURS LOCKS ",'holdfast_cell')) u,"
    "(SELECT count(*) AS standbys FROM pg_stat_replication) r,"
    "(SELECT sum(numbackends) AS used FROM pg_stat_database) d,"
    "(SELECT string_agg(who,', ') AS stale FROM(SELECT who FROM("
    "SELECT 'process '||pid AS who FROM pg_stat_activity WHERE backend_xmin IS "
    "NOT NULL AND pid<>pg_backend_pid() AND coalesce(xact_start<"
    "clock_timestamp()-interval '1 minute',age(backend_xmin)>" OLD
    ") UNION ALL "
    "SELECT 'prepared transaction '||gid FROM pg_prepared_xacts WHERE "
    "prepared<clock_timestamp()-interval '1 minute' UNION ALL "
    "SELECT 'replication slot '||slot_name FROM pg_replication_slots WHERE "
    "age(xmin)>" OLD ") o LIMIT 4) f) o,"
    "(SELECT current_setting('synchronous_standby_names') AS names,"
    "current_setting('max_connections')::int-"
    "current_setting('superuser_reserved_connections')::int AS most) s";

/* The remedy is told only if the item is not fine. */
struct item {
    const char *name;
    const char *value;   /* SQL; NULL: the setting of that name */
    const char *is_fine; /* SQL; NULL: the value is "on" */
    const char *remedy;
    hf_verdict otherwise;
};

static const struct item items[] = {
    {"version", "current_setting('server_version')", "true", NULL, HF_FINE},
    {"user", "current_user", "true", NULL, HF_FINE},
    {"schema", "$1", "true", NULL, HF_FINE},
    {"create",
     "CASE WHEN has_schema_privilege('public',$1,'CREATE') THEN 'everybody may "
     "make things there' "
     "WHEN has_schema_privilege($1,'CREATE') THEN 'may make the tables' "
     "ELSE 'none, and the tables are there' END",
     "has_cells OR NOT has_schema_privilege('public',$1,'CREATE')",
     "have an administrator make holdfast_cell (\"holdfast check --ddl\" "
     "prints "
     "it), or REVOKE CREATE ON SCHEMA ... FROM PUBLIC: who makes it first can, "
     "by triggers, do what this user may",
     HF_WARN},
    {"owner", "coalesce(owners,'this user, or the schema''s owner')",
     "owners IS NULL",
     "make it so (ALTER TABLE ... OWNER TO), once its triggers are seen: who "
     "owns a table can, by triggers, do what this user may",
     HF_WARN},
    {"privileges", "coalesce(missing,'SELECT, INSERT, UPDATE, DELETE')",
     "missing IS NULL",
     "have an administrator grant SELECT, INSERT, UPDATE, DELETE on the "
     "holdfast_ tables to this user",
     HF_UNFIT},
    {"timeline",
     "('x'||left(pg_walfile_name(pg_current_wal_insert_lsn()),8))::bit(32)::"
     "int",
     "true", NULL, HF_FINE},
    {"fsync", NULL, NULL,
     "grade D: set it to on: a crash of the machine forgets grants, and may "
     "damage all that the server has",
     HF_WARN},
    {"full_page_writes", NULL, NULL,
     "grade D: set it to on: a power failure may tear a page", HF_WARN},
    {"tables", "coalesce('UNLOGGED: '||unlogged,'logged')", "unlogged IS NULL",
     "grade D: ALTER TABLE ... SET LOGGED: a crash of the server empties them",
     HF_WARN},
    {"standbys",
     "standbys||' connected, '||CASE names WHEN '' THEN 'none is waited for' "
     "ELSE 'waited for: '||names END",
     "standbys=0 OR names<>''",
     "grade C: after a failover to one of them grants may be forgotten; let "
     "the server wait for one (synchronous_standby_names)",
     HF_WARN},
    {"autovacuum", NULL, NULL,
     "set it to on: without it the tables grow, and each call gets slower",
     HF_WARN},
    {"old_snapshots", "coalesce(stale,'none seen')", "stale IS NULL",
     "end what is left open so long, drop such a slot: while it lasts, the "
     "server can't clear away old rows, and each call gets slower",
     HF_WARN},
    {"connections", "used||' of '||most", "used<most-most/10",
     "raise max_connections: a waiter costs one or two", HF_WARN},
    {"max_locks_per_transaction", NULL,
     "current_setting('max_locks_per_transaction')::int>=64",
     "set it to 64 at least: a session has up to 32 of them for its grants, "
     "and once all are taken the server refuses everybody",
     HF_WARN},
};
#define ITEMS ((int)(sizeof items / sizeof *items))

/* Add two columns for each item, all in one row. */
static void add_items(struct hf__text *t)
{
    for (int i = 0; i < ITEMS; i++) {
        hf__text_add(t, i == 0 ? "SELECT " : ",");
        if (items[i].value == NULL) {
            hf__text_addf(t, "current_setting('%s')", items[i].name);
        } else {
            hf__text_addf(t, "(%s)::text", items[i].value);
        }
        if (items[i].is_fine == NULL) {
            hf__text_addf(t, ",current_setting('%s')='on'", items[i].name);
        } else {
            hf__text_addf(t, ",%s", items[i].is_fine);
        }
    }
    hf__text_add(t, from);
}

static const char *text(const struct hf__pg *s, int column)
{
    size_t length;

    return hf__pg_bytes(s, 0, column, &length); /* libpq adds the NUL */
}

static int check_server(struct hf__pg *s, struct hf__report *to)
{
    HF_AUTO(hf__text_fini) struct hf__text sql = {0};
    struct hf__pg_statement all = {0};
    int r;

    add_items(&sql);
    if (sql.is_broken) {
        return hf__fail(s->t.err, HF_ENOMEM, "out of memory");
    }
    all.text = sql.bytes;
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &all);
    hf__pg_put_schema(s);
    r = hf__pg_run_well(s);
    for (int i = 0; r == HF_OK && i < ITEMS; i++) {
        hf__report_tell(to, items[i].name, text(s, 2 * i),
                        hf__pg_i64(s, 0, 2 * i + 1) != 0 ? HF_FINE
                                                         : items[i].otherwise,
                        items[i].remedy);
    }
    return r;
}

/* ---- what is between it and us */

/* The server is on this host, so nobody can be between it and us. */
static bool is_here(const PGconn *handle)
{
    const char *address = PQhostaddr(handle);

    return address == NULL || address[0] == '\0' ||
           strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static void check_tls(const struct hf__pg *s, struct hf__report *to)
{
    PGconn *handle = s->wire.handle;
    const char *cipher =
        PQsslInUse(handle) ? PQsslAttribute(handle, "cipher") : "none";
    bool is_verified = s->server.is_verified;
    char value[96];

    (void)snprintf(value, sizeof value, "%.64s%s",
                   cipher == NULL ? "on" : cipher,
                   !PQsslInUse(handle) || is_verified ? "" : ", not verified");
    hf__report_tell(
        to, "tls", value, is_here(handle) || is_verified ? HF_FINE : HF_WARN,
        "name the authority of the server's certificate (ca=): without it "
        "whoever is in the middle can pose as the server");
}

/* For information only: the server's clock alone judges leases. */
static int check_clock(struct hf__pg *s, struct hf__report *to)
{
    static const struct hf__pg_statement clock = {0, "SELECT " HF__PG_NOW};
    int64_t before = hf__wall_us();
    int64_t after;
    char value[96];
    int r;

    hf__pg_begin_packet(s);
    hf__pg_ask(s, &clock);
    r = hf__pg_run_well(s);
    after = hf__wall_us();
    if (r == HF_OK) {
        (void)snprintf(value, sizeof value, "%+" PRId64 " ms (± %" PRId64 ")",
                       (hf__pg_i64(s, 0, 0) - (before / 2 + after / 2)) / 1000,
                       (after - before) / 2000 + 1);
        hf__report_tell(to, "clock_ahead_of_ours", value, HF_FINE, NULL);
    }
    return r;
}

static void check_waiting(const struct hf__pg_server *server,
                          struct hf__report *to)
{
    hf__report_tell(
        to, "connection", server->is_pooled ? "a pooler's" : "the server's own",
        server->is_pooled ? HF_WARN : HF_FINE,
        "name the server itself: a pooler shares connections, so waiters poll, "
        "and a holder whose lock is broken is not told");
    hf__report_tell(to, "waiting",
                    !server->is_pooled ? "woken by advisory locks"
                                       : "by polling",
                    HF_FINE, NULL);
}

int hf__pg_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err)
{
    struct hf__pg *s = state;
    struct hf__report to = {.fn = fn, .arg = arg};
    int r;

    hf__table_begin(&s->t, deadline, err);
    r = hf__wait_state_leave(&s->t);
    r = r == HF_OK ? check_server(s, &to) : r;
    if (r == HF_OK) {
        check_tls(s, &to);
        check_waiting(&s->server, &to);
    }
    return r == HF_OK ? check_clock(s, &to) : r;
}
