/* SPDX-License-Identifier: MIT */
/*
 * The tables, in the schema of the session. holdfast_lock has one row for each
 * name ever locked, kept for its fence; holdfast_beside has the grants that
 * stand beside others, holdfast_ticket the waiters in the queue; holdfast_cell
 * has a row for each cell, and is made by the first session that uses cells.
 * Times are microseconds since 1970 by the server's clock. There is no second
 * index, so that a changed row stays in its page, which is kept half empty for
 * that. One list of columns gives both the statement that makes a table and the
 * check of an existing one. Called by the session's thread when it opens, or
 * first uses a cell.
 */
#include "src/backend/postgres/errors.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <string.h>

/* X(table, column, type, the rest of its definition) */
#define NUMBER "bigint", " NOT NULL DEFAULT 0"
#define BYTES  "bytea", " NOT NULL DEFAULT ''"
#define WORDS  "text", " NOT NULL DEFAULT ''"
#define OWNER(X, t)                                                            \
    X(t, label, WORDS)                                                         \
    X(t, host, WORDS)                                                          \
    X(t, pid, NUMBER)                                                          \
    X(t, thread, WORDS)                                                        \
    X(t, note, WORDS)

#define LOCK(X)                                                                \
    X(holdfast_lock, name_key, "bytea", " NOT NULL")                           \
    X(holdfast_lock, fence, NUMBER)                                            \
    X(holdfast_lock, token, BYTES)                                             \
    X(holdfast_lock, broken_token, BYTES)                                      \
    X(holdfast_lock, expires, NUMBER)                                          \
    X(holdfast_lock, keep_until, NUMBER)                                       \
    X(holdfast_lock, acquired_at, NUMBER)                                      \
    X(holdfast_lock, changed_at, NUMBER)                                       \
    X(holdfast_lock, broken, NUMBER)                                           \
    X(holdfast_lock, detached, NUMBER)                                         \
    X(holdfast_lock, crowd, NUMBER)                                            \
    X(holdfast_lock, revision, NUMBER)                                         \
    OWNER(X, holdfast_lock)

#define BESIDE(X)                                                              \
    X(holdfast_beside, name_key, "bytea", " NOT NULL")                         \
    X(holdfast_beside, token, "bytea", " NOT NULL")                            \
    X(holdfast_beside, fence, NUMBER)                                          \
    X(holdfast_beside, mode, NUMBER)                                           \
    X(holdfast_beside, slots, NUMBER)                                          \
    X(holdfast_beside, slot, NUMBER)                                           \
    X(holdfast_beside, expires, NUMBER)                                        \
    X(holdfast_beside, acquired_at, NUMBER)                                    \
    X(holdfast_beside, changed_at, NUMBER)                                     \
    X(holdfast_beside, detached, NUMBER)                                       \
    X(holdfast_beside, ended, NUMBER)                                          \
    OWNER(X, holdfast_beside)

#define TICKET(X)                                                              \
    X(holdfast_ticket, name_key, "bytea", " NOT NULL")                         \
    X(holdfast_ticket, seq, "bigint", " NOT NULL")                             \
    X(holdfast_ticket, token, BYTES)                                           \
    X(holdfast_ticket, mode, NUMBER)                                           \
    X(holdfast_ticket, slots, NUMBER)                                          \
    X(holdfast_ticket, since, NUMBER)                                          \
    X(holdfast_ticket, asked, NUMBER)                                          \
    OWNER(X, holdfast_ticket)

#define CELL(X)                                                                \
    X(holdfast_cell, name_key, "bytea", " NOT NULL")                           \
    X(holdfast_cell, version, NUMBER)                                          \
    X(holdfast_cell, writer, BYTES)                                            \
    X(holdfast_cell, value, "bytea", "")

/* ---- making */

#define AS_SQL(...)                        AS_SQL_(__VA_ARGS__)
#define AS_SQL_(table, column, type, rest) "  " #column " " type rest ",\n"
#define CREATE(table, columns, key)                                            \
    "CREATE TABLE IF NOT EXISTS " table                                        \
    " (\n" columns(AS_SQL) "  PRIMARY KEY (" key ")\n) WITH (fillfactor=50, "  \
                           "autovacuum_vacuum_scale_factor=0,\n"               \
                           "  autovacuum_vacuum_threshold=2000)"

#define CREATE_LOCK   CREATE("holdfast_lock", LOCK, "name_key")
#define CREATE_BESIDE CREATE("holdfast_beside", BESIDE, "name_key, token")
#define CREATE_TICKET CREATE("holdfast_ticket", TICKET, "name_key, seq")
#define CREATE_CELL   CREATE("holdfast_cell", CELL, "name_key")

static const struct hf__pg_statement create[] = {
    {0, CREATE_LOCK}, {0, CREATE_BESIDE}, {0, CREATE_TICKET}, {0, CREATE_CELL}};
#define CELLS_AT 3 /* from here on */

const char *hf__pg_ddl(const struct hf__url *url)
{
    (void)url;
    return CREATE_LOCK ";\n" CREATE_BESIDE ";\n" CREATE_TICKET ";\n" CREATE_CELL
                       ";\n"
                       "-- and whoever uses them is to be allowed:\n"
                       "-- GRANT SELECT, INSERT, UPDATE, DELETE ON "
                       "holdfast_lock, holdfast_beside,\n"
                       "--   holdfast_ticket, holdfast_cell TO ...;\n";
}

/* ---- looking */

enum found {
    NO_SCHEMA,
    NO_TABLE,
    IS_UNLOGGED,
    IS_HARMFUL /* it is not as it must be; the row says why */
};

/* Gives one row for each fault: enum found, table, text. It reads only the
 * catalogs, so that it waits for nobody who has locked a table (pg_get_expr()
 * would). An additional column is allowed if it does not refuse our rows. */
#define AS_ROW(...) AS_ROW_(__VA_ARGS__)
#define AS_ROW_(table, column, type, rest)                                     \
    ",('" #table "','" #column "','" type "',$$" rest "$$)"
#define LOOK(tables, columns)                                                  \
    "WITH k AS (SELECT * FROM (VALUES" tables ") v(t,p)),"                     \
    "w AS (SELECT * FROM (VALUES('','','','')" columns ") v(t,c,y,d)),"        \
    "s AS (SELECT oid FROM pg_namespace WHERE nspname=$1 AND "                 \
    "has_schema_privilege(oid,'USAGE')),"                                      \
    "t AS (SELECT k.*,o.oid AS o,relkind,relpersistence,relhasrules,"          \
    "CASE WHEN relkind='r' THEN o.oid END AS plain FROM k JOIN s ON true "     \
    "LEFT JOIN pg_class o ON relname=t AND relnamespace=s.oid),"               \
    "a AS (SELECT t.t,attname AS c,attnotnull AS n,atthasdef AS h,"            \
    "attidentity AS i,format_type(atttypid,atttypmod) AS y FROM t "            \
    "JOIN pg_attribute ON attrelid=plain AND attnum>0 AND NOT attisdropped) "  \
    "SELECT 0,'','' WHERE NOT EXISTS(SELECT FROM s) "                          \
    "UNION ALL SELECT 1,t,'' FROM t WHERE o IS NULL "                          \
    "UNION ALL SELECT 2,t,'' FROM t WHERE relpersistence='u' "                 \
    "UNION ALL SELECT 3,t,'it is no plain table' FROM t WHERE relkind<>'r' "   \
    "UNION ALL SELECT 3,t,'rules or row security change what it has' "         \
    "FROM t WHERE relkind='r' AND (relhasrules OR row_security_active(o)) "    \
    "UNION ALL SELECT 3,t,'its primary key must be ('||p||')' FROM t "         \
    "WHERE relkind='r' AND NOT EXISTS(SELECT FROM pg_constraint WHERE "        \
    "conrelid=o AND contype='p' AND "                                          \
    "pg_get_constraintdef(oid)='PRIMARY KEY ('||p||')') "                      \
    "UNION ALL SELECT 3,t,'its index '||indexrelid::regclass||"                \
    "' keeps out rows that differ' FROM t JOIN pg_index ON indrelid=plain "    \
    "WHERE NOT indisprimary AND (indisunique OR indisexclusion) "              \
    "UNION ALL SELECT 3,t.t,w.c||coalesce(' is '||a.y||CASE WHEN n THEN "      \
    "' NOT NULL' ELSE '' END||CASE WHEN h THEN ' DEFAULT ...' ELSE '' END,"    \
    "' is missing')||', and must be '||w.y||d FROM t JOIN w ON w.t=t.t "       \
    "LEFT JOIN a ON a.t=t.t AND a.c=w.c WHERE relkind='r' AND (a.y IS NULL "   \
    "OR a.y<>w.y OR n<>(d LIKE '%NOT NULL%') OR "                              \
    "(NOT h AND d LIKE '%DEFAULT%')) "                                         \
    "UNION ALL SELECT 3,a.t,a.c||' is not ours, and must have a default' "     \
    "FROM a LEFT JOIN w ON w.t=a.t AND w.c=a.c "                               \
    "WHERE w.c IS NULL AND n AND NOT h AND i=''"

static const struct hf__pg_statement look_locks = {
    0, LOOK("('holdfast_lock','name_key'),('holdfast_beside',"
            "'name_key, token'),('holdfast_ticket','name_key, seq')",
            LOCK(AS_ROW) BESIDE(AS_ROW) TICKET(AS_ROW))};
static const struct hf__pg_statement look_cells = {
    0, LOOK("('holdfast_cell','name_key')", CELL(AS_ROW))};

/* libpq ends values by a NUL. */
static int refuse(const struct hf__pg *s, int row)
{
    size_t length;

    return hf__fail(s->t.err, HF_EPROTO,
                    "table %s is not as Holdfast makes it: %s; \"holdfast "
                    "check --ddl\" prints what it must be",
                    hf__pg_bytes(s, row, 1, &length),
                    hf__pg_bytes(s, row, 2, &length));
}

/* Check the tables. HF_OK, also if the server refuses; *ret_is_missing: a table
 * is missing. */
static int look(struct hf__pg *s, bool of_cells, bool *ret_is_missing)
{
    int r;

    *ret_is_missing = false;
    hf__pg_begin_packet(s);
    hf__pg_ask(s, of_cells ? &look_cells : &look_locks);
    hf__pg_put_schema(s);
    r = hf__pg_run(s);
    for (int i = 0; r == HF_OK && i < s->reply.n_rows; i++) {
        switch ((enum found)hf__pg_i64(s, i, 0)) {
        case NO_SCHEMA:
            r = hf__fail(s->t.err, HF_EAUTH,
                         "there is no schema for the tables, or this user may "
                         "not use it: name one (schema=), or have an "
                         "administrator grant USAGE on it");
            break;
        case NO_TABLE:
            *ret_is_missing = true;
            break;
        case IS_UNLOGGED:
            s->t.head.server_info.grade = 'D';
            break;
        case IS_HARMFUL:
            r = refuse(s, i);
            break;
        }
    }
    return r;
}

/* Make all tables or none. HF_OK, also if the server refuses. */
static int make(struct hf__pg *s, bool of_cells)
{
    int end = (int)(sizeof create / sizeof *create);
    int r;

    hf__pg_begin_packet(s);
    for (int i = of_cells ? CELLS_AT : 0; i < (of_cells ? end : CELLS_AT);
         i++) {
        hf__pg_ask(s, &create[i]);
    }
    hf__pg_end_group(s);
    r = hf__pg_send(s);
    return r == HF_OK ? hf__pg_skip(s) : r;
}

/* Another session may be making the same tables. */
static bool may_go_well_soon(const struct hf__pg *s)
{
    return hf__pg_error_class(s) == HF__PG_AGAIN ||
           hf__pg_error_class(s) == HF__PG_UNKNOWN_PREPARED ||
           strcmp(s->reply.sqlstate, "23505") == 0 ||
           strcmp(s->reply.sqlstate, "42P07") == 0 ||
           strcmp(s->reply.sqlstate, "42710") == 0;
}

static int fail(struct hf__pg *s, bool is_making)
{
    char why[256];
    int r = hf__pg_refusal(s, s->t.err);

    if (!is_making || r != HF_EAUTH) {
        return r;
    }
    hf__pg_words(s, why, sizeof why);
    return hf__fail(s->t.err, r,
                    "the tables are not there and this user may not make them "
                    "(%s): have an administrator run what \"holdfast check "
                    "--ddl\" prints",
                    why);
}

int hf__pg_schema_ready(struct hf__pg *s, bool of_cells)
{
    for (;;) {
        bool is_missing;
        bool is_undone;
        int r = look(s, of_cells, &is_missing);

        r = r == HF_OK && is_missing ? make(s, of_cells) : r;
        is_undone = s->reply.sqlstate[0] != '\0';
        if (r != HF_OK || (!is_missing && !is_undone)) {
            return r;
        }
        if (is_undone &&
            (!may_go_well_soon(s) || !hf__before(hf__now(), s->t.deadline) ||
             hf__is_interrupted(&s->t.head))) {
            return fail(s, is_missing);
        }
        if (is_undone) {
            hf__table_rest(
                &s->t, hf__after_ns(hf__now(),
                                    hf__random_between(HF__MS, 20 * HF__MS)));
        }
    }
}
