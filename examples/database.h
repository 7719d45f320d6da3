/* SPDX-License-Identifier: MIT */
/*
 * What the examples with tables of their own share: a connection to MySQL,
 * MariaDB or PostgreSQL as any program makes one, statements on it, and the
 * calls of Holdfast for rows, which are given the MYSQL or the PGconn. A
 * program that knows its database makes these calls itself. What cannot be done
 * ends the program, but for the calls.
 */
#ifndef EXAMPLES_DATABASE_H
#define EXAMPLES_DATABASE_H

#include <holdfast-rows.h>

/* One kind of database. */
struct database_kind {
    /* mysql://USER@HOST[:PORT]/DATABASE, password in MYSQL_PWD;
     * postgres://… as libpq has it, password in PGPASSWORD. */
    void *(*enter)(const char *url);
    void (*leave)(void *db);
    /* A statement that must succeed: how many rows it has changed. The number
     * in the last column of its first row goes to *ret_number, unless NULL. */
    long long (*run)(void *db, const char *sql, long long *ret_number);
    int (*lock)(void *db, const hf_row *row, const hf_row_lock_opts *opts,
                hf_row_info *ret_info, hf_error *err);
    int (*update)(void *db, const hf_row *row, const hf_row_update *update,
                  hf_row_info *ret_info, hf_error *err);
    int (*guard)(char *buf, size_t size, const char *column, uint64_t fence,
                 hf_error *err);
    const char *(*status)(int status);
};
extern const struct database_kind mysql_database;
extern const struct database_kind postgres_database;

struct database {
    const struct database_kind *kind;
    void *db;
};

struct database connect_to(const char *url);
/* argv: PROGRAM URL; ends the program if that is not so. */
struct database connect_as(int argc, char **argv);
void disconnect(struct database *);
/* How many rows it has changed. */
long long run(struct database *, const char *sql);
/* The number in the last column of its first row. */
long long number(struct database *, const char *sql);

/* hf_mysql_lock_row() or hf_postgres_lock_row(), and the others. */
int lock_row(struct database *, const hf_row *row, const hf_row_lock_opts *opts,
             hf_row_info *ret_info, hf_error *err);
int update_versioned(struct database *, const hf_row *row,
                     const hf_row_update *update, hf_row_info *ret_info,
                     hf_error *err);
int guard_sql(struct database *, char *buf, size_t size, const char *column,
              uint64_t fence, hf_error *err);
const char *status_name(const struct database *, int status);

#endif
