/* SPDX-License-Identifier: MIT */
/*
 * What the examples with their own tables share: a connection to MySQL, MariaDB
 * or PostgreSQL as any program makes one, statements on it, and Holdfast's
 * calls for rows, which take the MYSQL or the PGconn. A program that knows its
 * database makes these calls itself. Any failure ends the program, except in
 * those calls, which return it.
 */
#ifndef EXAMPLES_DATABASE_H
#define EXAMPLES_DATABASE_H

#include <holdfast-rows.h>

/* The functions of one kind of database. */
struct database_kind {
    /* mysql://USER@HOST[:PORT]/DATABASE, password in MYSQL_PWD;
     * postgres://… as libpq has it, password in PGPASSWORD. */
    void *(*enter)(const char *url);
    void (*leave)(void *db);
    /* Run a statement that must succeed; returns how many rows it changed. The
     * number in the last column of its first row goes to *ret_number, unless
     * NULL. */
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
/* Connect to the URL of argv, which must be PROGRAM URL; otherwise end the
 * program. */
struct database connect_as(int argc, char **argv);
void disconnect(struct database *);
/* Returns how many rows the statement changed. */
long long run(struct database *, const char *sql);
/* Returns the number in the last column of its first row. */
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
