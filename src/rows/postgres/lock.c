/* SPDX-License-Identifier: MIT */
/*
 * SELECT … FOR UPDATE. Who waits for a row that is deleted then gets none, also
 * where another was put in its place: that is seen by a look with a newer
 * snapshot, and the new one is asked for. The look also tells a row that was
 * skipped from one that is not there.
 */
#include "src/rows/postgres/lock.h"

#include "src/base/error.h"
#include "src/rows/postgres/bracket.h"
#include "src/rows/postgres/table.h"

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
    int r = hf__bracket_open(s, o->wait_ms);

    if (r == HF_OK) {
        r = hf__rows_pg_table_check(s);
    }
    if (r == HF_OK) {
        r = hf__rows_pg_lock(s, "1", o, &result);
    }
    return hf__bracket_close(s, r);
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
