/* SPDX-License-Identifier: MIT */
/*
 * PostgreSQL for the examples.
 */
#include "examples/database.h"

#include <holdfast-postgres.h>
#include <stdio.h>
#include <stdlib.h>

static void end(PGconn *db)
{
    fputs(PQerrorMessage(db), stderr);
    exit(1);
}

static void *enter(const char *url)
{
    PGconn *db = PQconnectdb(url);

    if (PQstatus(db) != CONNECTION_OK) {
        end(db);
    }
    return db;
}

static void leave(void *db)
{
    PQfinish(db);
}

static long long run_postgres(void *db, const char *sql, long long *ret_number)
{
    PGresult *result = PQexec(db, sql);
    ExecStatusType status = PQresultStatus(result);
    int last = PQnfields(result) - 1;
    long long changed;

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        end(db);
    }
    if (ret_number != NULL && PQntuples(result) == 0) {
        fprintf(stderr, "no number: %s\n", sql);
        exit(1);
    }
    if (ret_number != NULL) {
        *ret_number = strtoll(PQgetvalue(result, 0, last), NULL, 10);
    }
    changed = strtoll(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return changed;
}

static int lock_postgres(void *db, const hf_row *row,
                         const hf_row_lock_opts *opts, hf_row_info *ret_info,
                         hf_error *err)
{
    return hf_postgres_lock_row(db, row, opts, ret_info, err);
}

static int update_postgres(void *db, const hf_row *row,
                           const hf_row_update *update, hf_row_info *ret_info,
                           hf_error *err)
{
    return hf_postgres_update_versioned(db, row, update, ret_info, err);
}

const struct database_kind postgres_database = {
    .enter = enter,
    .leave = leave,
    .run = run_postgres,
    .lock = lock_postgres,
    .update = update_postgres,
    .guard = hf_postgres_guard_sql,
    .status = hf_postgres_strstatus,
};
