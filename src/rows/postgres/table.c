/* SPDX-License-Identifier: MIT */
/*
 * FOR UPDATE locks what it gives and nothing that it reads on the way, so no
 * plan matters here, only that one row has the key. An index answers for that
 * if it is unique at every moment (not deferred), complete (built, not
 * partial, no expression) and all of its columns are given.
 */
#include "src/rows/postgres/table.h"

#include "src/base/error.h"

#include <string.h>

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
