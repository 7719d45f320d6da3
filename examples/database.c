/* SPDX-License-Identifier: MIT */
/*
 * The functions of database.h.
 */
#include "examples/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct database connect_to(const char *url)
{
    const struct database_kind *kind =
        strncmp(url, "postgres", 8) == 0 ? &postgres_database : &mysql_database;

    return (struct database){kind, kind->enter(url)};
}

struct database connect_as(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr,
                "usage: MYSQL_PWD=… %s mysql://USER@HOST[:PORT]/DATABASE\n"
                "       PGPASSWORD=… %s postgres://USER@HOST[:PORT]/DATABASE\n"
                "makes a table there, and drops it in the end\n",
                argv[0], argv[0]);
        exit(64);
    }
    return connect_to(argv[1]);
}

void disconnect(struct database *d)
{
    d->kind->leave(d->db);
}

long long run(struct database *d, const char *sql)
{
    return d->kind->run(d->db, sql, NULL);
}

long long number(struct database *d, const char *sql)
{
    long long found = 0;

    (void)d->kind->run(d->db, sql, &found);
    return found;
}

int lock_row(struct database *d, const hf_row *row,
             const hf_row_lock_opts *opts, hf_row_info *ret_info, hf_error *err)
{
    return d->kind->lock(d->db, row, opts, ret_info, err);
}

int update_versioned(struct database *d, const hf_row *row,
                     const hf_row_update *update, hf_row_info *ret_info,
                     hf_error *err)
{
    return d->kind->update(d->db, row, update, ret_info, err);
}

int guard_sql(struct database *d, char *buf, size_t size, const char *column,
              uint64_t fence, hf_error *err)
{
    return d->kind->guard(buf, size, column, fence, err);
}

const char *status_name(const struct database *d, int status)
{
    return d->kind->status(status);
}
