/* SPDX-License-Identifier: MIT */
/*
 * SELECT ... FOR UPDATE. It locks the rows that it returns and no others that
 * it reads on the way, so no plan matters here, only that one row at most has
 * the key. An index ensures that if it is unique at every moment (not
 * deferred), complete (built, not partial, no expression) and all of its
 * columns are given. A statement that waits for a row that is then deleted
 * returns none, even if another row took its place. A look with a newer
 * snapshot sees that, and the new row is asked for. The look also tells a row
 * that was skipped from one that does not exist.
 *
 * SET LOCAL ends with its transaction, or when its savepoint is rolled back. So
 * the setting must be put back by hand only where the savepoint is released and
 * its work kept: it would last until the caller's transaction ends. Thread: the
 * caller's.
 */
#include "src/rows/postgres/lock.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MARK "holdfast_rows"

/* The text goes into a statement, so it may only have the letters and digits of
 * a time setting. */
static int read_patience(struct hf__pg *s, const PGresult *result)
{
    const char *text = PQntuples(result) == 1 ? PQgetvalue(result, 0, 0) : "";

    if (*text == '\0' || strlen(text) >= sizeof s->patience ||
        text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz")] != '\0') {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not tell its lock_timeout");
    }
    memcpy(s->patience, text, strlen(text) + 1);
    return HF_OK;
}

static int mark(struct hf__pg *s, bool has_limit)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r = hf__rows_pg_run(s,
                            has_limit ? "SAVEPOINT " MARK ";SHOW lock_timeout"
                                      : "SAVEPOINT " MARK,
                            &result);

    return r == HF_OK && has_limit ? read_patience(s, result) : r;
}

int hf__savepoint_open(struct hf__pg *s, int64_t wait_ms)
{
    bool has_limit = wait_ms != HF_FOREVER;
    char words[64];
    int r = HF_OK;

    s->is_open = true;
    s->patience[0] = '\0';
    if (s->is_inside) {
        r = mark(s, has_limit);
    }
    if (r != HF_OK || !has_limit) {
        return r;
    }
    /* 0 would wait for ever. */
    (void)snprintf(words, sizeof words, "%sSET LOCAL lock_timeout=%" PRId64,
                   s->is_inside ? "" : "BEGIN;", wait_ms < 1 ? 1 : wait_ms);
    return hf__rows_pg_do(s, words);
}

static int keep(struct hf__pg *s)
{
    char words[96] = "COMMIT";

    if (s->is_inside) {
        (void)snprintf(words, sizeof words, "%s%s%sRELEASE SAVEPOINT " MARK,
                       *s->patience == '\0' ? "" : "SET LOCAL lock_timeout='",
                       s->patience, *s->patience == '\0' ? "" : "';");
    }
    return hf__rows_pg_do(s, words);
}

/* The second try is for a cancel that came just at the first. The transaction's
 * status shows whether it worked; the earlier error is kept. */
static void take_back(struct hf__pg *s)
{
    hf_error before = s->call.own_err;
    int r = HF_EUNAVAIL;

    for (int i = 0; i < 2 && r != HF_OK && !s->is_lost; i++) {
        r = hf__rows_pg_do(s, s->is_inside ? "ROLLBACK TO SAVEPOINT " MARK
                                             ";RELEASE SAVEPOINT " MARK
                                           : "ROLLBACK");
    }
    s->call.own_err = before;
}

int hf__savepoint_close(struct hf__pg *s, int r)
{
    bool is_kept = r == HF_OK || r == HF_ROW_DECLINED;
    int kept = HF_OK;

    if (s->is_open && is_kept) {
        kept = keep(s);
    }
    if (s->is_open && (!is_kept || kept != HF_OK) &&
        PQtransactionStatus(s->db) != PQTRANS_IDLE &&
        !(s->is_inside && r == HF_DEADLOCK)) {
        take_back(s);
    }
    s->is_open = false;
    s->call.info.in_transaction =
        s->is_inside && PQtransactionStatus(s->db) == PQTRANS_INTRANS;
    return kept == HF_OK ? r : kept;
}

enum { KIND, PERSISTENCE, UNKNOWN, HAS_HEIRS, IS_UNIQUE };

static void build(struct hf__pg *s)
{
    struct hf__sql name = {.bytes = NULL};

    hf__rows_pg_clear(s);
    hf__sql_addf(&s->sql, "WITH k(name) AS (VALUES ");
    for (int i = 0; i < s->call.row.n_key; i++) {
        hf__sql_addf(&s->sql, i == 0 ? "(CAST(" : ",(CAST(");
        hf__rows_pg_add_text(s, s->call.row.key[i].name);
        hf__sql_addf(&s->sql, " AS pg_catalog.name))");
    }
    hf__sql_addf(
        &s->sql,
        ") SELECT c.relkind,c.relpersistence,"
        "(SELECT k.name FROM k WHERE NOT EXISTS(SELECT 1 FROM"
        " pg_catalog.pg_attribute a WHERE a.attrelid=c.oid AND a.attnum>0"
        " AND NOT a.attisdropped AND a.attname=k.name) LIMIT 1),"
        "EXISTS(SELECT 1 FROM pg_catalog.pg_inherits h"
        " WHERE h.inhparent=c.oid),"
        "EXISTS(SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid=c.oid"
        " AND i.indisunique AND i.indisvalid AND i.indimmediate"
        " AND i.indpred IS NULL AND i.indexprs IS NULL"
        " AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_attribute a"
        " WHERE a.attrelid=c.oid AND a.attnum=ANY("
        "(CAST(i.indkey AS pg_catalog.int2[]))[0:i.indnkeyatts-1])"
        " AND NOT EXISTS(SELECT 1 FROM k WHERE k.name=a.attname)))"
        " FROM pg_catalog.pg_class c WHERE c.oid=pg_catalog.to_regclass(");
    hf__rows_pg_add_table(s, &name);
    if (name.is_broken) {
        s->sql.is_broken = true;
    } else {
        hf__rows_pg_add_text(s, name.bytes);
    }
    hf__sql_addf(&s->sql, ")");
    hf__sql_fini(&name);
}

static int unsafe(struct hf__pg *s, const char *what)
{
    return hf__fail(s->call.err, HF_EUNSAFE, "%s %s", s->call.row.table, what);
}

static int judge(struct hf__pg *s, const PGresult *result)
{
    char kind = *PQgetvalue(result, 0, KIND);

    if ((kind != 'r' && kind != 'p') ||
        *PQgetvalue(result, 0, PERSISTENCE) == 't') {
        return unsafe(s, "is a view, a foreign or a temporary table: lock the "
                         "row of a table that others see, too");
    }
    if (!PQgetisnull(result, 0, UNKNOWN)) {
        return hf__fail(s->call.err, HF_EINVAL, "table %s has no column %s",
                        s->call.row.table, PQgetvalue(result, 0, UNKNOWN));
    }
    if (kind == 'r' && *PQgetvalue(result, 0, HAS_HEIRS) == 't') {
        return unsafe(s, "has tables that inherit from it, whose rows no index "
                         "of its own covers: name the one that has the row");
    }
    if (*PQgetvalue(result, 0, IS_UNIQUE) != 't') {
        return unsafe(s, "has no unique index whose columns are all in the "
                         "key, so several rows may have it: give all columns "
                         "of one that is neither partial nor deferrable");
    }
    return HF_OK;
}

int hf__rows_pg_table_check(struct hf__pg *s)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r;

    build(s);
    r = hf__rows_pg_send(s, &result);
    if (r != HF_OK) {
        return r;
    }
    return PQntuples(result) == 1
               ? judge(s, result)
               : hf__fail(s->call.err, HF_EINVAL, "there is no table %s",
                          s->call.row.table);
}

enum { REPLACED_MOST = 8 };

int hf__rows_pg_read(struct hf__pg *s, const char *columns, const char *suffix,
                     PGresult **ret_result)
{
    int r;

    hf__rows_pg_clear(s);
    hf__sql_addf(&s->sql, "SELECT %s FROM ", columns);
    hf__rows_pg_add_table(s, &s->sql);
    hf__rows_pg_add_key(s);
    hf__sql_addf(&s->sql, "%s", suffix);
    r = hf__rows_pg_send(s, ret_result);
    if (r != HF_OK || PQntuples(*ret_result) == 1) {
        return r;
    }
    r = PQntuples(*ret_result) == 0
            ? hf__call_gone(&s->call, "")
            : hf__fail(s->call.err, HF_EUNSAFE,
                       "%s has several rows of that key", s->call.row.table);
    PQclear(*ret_result);
    *ret_result = NULL;
    return r;
}

int hf__rows_pg_lock(struct hf__pg *s, const char *columns,
                     const hf_row_lock_opts *o, PGresult **ret_result)
{
    const char *suffix = o->skip_locked != 0 ? " FOR UPDATE SKIP LOCKED"
                         : o->wait_ms == 0   ? " FOR UPDATE NOWAIT"
                                             : " FOR UPDATE";
    PGresult *seen = NULL;
    int r = HF_ROW_GONE;

    for (int i = 0; i < REPLACED_MOST; i++) {
        r = hf__rows_pg_read(s, columns, suffix, ret_result);
        if (r != HF_ROW_GONE) {
            return r;
        }
        r = hf__rows_pg_read(s, "1", "", &seen);
        PQclear(seen);
        if (r != HF_OK || o->skip_locked != 0) {
            break;
        }
    }
    return r != HF_OK
               ? r
               : hf__fail(s->call.err, HF_BUSY,
                          "somebody else has the row of %s locked, or replaces "
                          "it time and again",
                          s->call.row.table);
}

static int lock_inside(struct hf__pg *s, const hf_row_lock_opts *o)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r = hf__savepoint_open(s, o->wait_ms);

    if (r == HF_OK) {
        r = hf__rows_pg_table_check(s);
    }
    if (r == HF_OK) {
        r = hf__rows_pg_lock(s, "1", o, &result);
    }
    return hf__savepoint_close(s, r);
}

int hf_postgres_lock_row(PGconn *db, const hf_row *row,
                         const hf_row_lock_opts *opts, hf_row_info *ret_info,
                         hf_error *err)
{
    hf_row_lock_opts o = HF_ROW_LOCK_OPTS_INIT;
    struct hf__pg s;
    int r;

    hf__rows_pg_begin(&s, db, ret_info, err);
    r = hf__rows_pg_open(&s, row);
    if (r == HF_OK) {
        r = hf__call_lock_opts(&o, opts, s.call.err);
    }
    if (r == HF_OK) {
        r = s.is_inside ? lock_inside(&s, &o) : hf__call_outside(&s.call);
    }
    return hf__rows_pg_end(&s, r);
}
