/* SPDX-License-Identifier: MIT */
/*
 * Why a lock alone is not enough, and what its fence is for: the first holder
 * is stopped for longer than its lease, a second one gets the lock and writes,
 * then the first continues and writes what it had computed. The table refuses
 * that by the condition of hf_mysql_guard_sql() or hf_postgres_guard_sql(). The
 * lock may be in any store; here it is in a temporary folder. guard_file.c does
 * the same with a file, guard_redis.sh with a key of Redis. Exit 0 only if all
 * went like this.
 *
 *     MYSQL_PWD=… guard mysql://USER@HOST:PORT/DATABASE
 *     PGPASSWORD=… guard postgres://USER@HOST:PORT/DATABASE
 */
#include "examples/database.h"
#include "examples/stopped.h"

#include <stdio.h>

struct arguments {
    int argc;
    char **argv;
};

/* Save on a new connection, because two processes call this. */
static int save(void *arg, uint64_t fence, const char *text)
{
    const struct arguments *given = arg;
    hf_error err = HF_ERROR_INIT;
    char guard[320];
    char sql[640];
    struct database db = connect_as(given->argc, given->argv);
    bool is_changed;

    if (guard_sql(&db, guard, sizeof guard, "fence", fence, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return err.status;
    }
    snprintf(sql, sizeof sql,
             "UPDATE example_report SET content='%s',writes=writes+1,"
             "fence=%llu WHERE id=1 AND %s",
             text, (unsigned long long)fence, guard);
    is_changed = run(&db, sql) == 1;
    disconnect(&db);
    return is_changed ? HF_OK : HF_LOST;
}

int main(int argc, char **argv)
{
    struct arguments given = {argc, argv};
    struct database db = connect_as(argc, argv);
    bool is_fine;
    long long writes;

    run(&db, "CREATE TABLE example_report(id INT PRIMARY KEY,"
             "content VARCHAR(40) NOT NULL DEFAULT '',"
             "writes INT NOT NULL DEFAULT 0,"
             "fence BIGINT NOT NULL DEFAULT 0)");
    run(&db, "INSERT INTO example_report(id) VALUES(1)");
    make_folder();
    is_fine = stop_one_who_writes(save, &given);
    remove_folder();
    writes = number(&db, "SELECT SUM(writes) FROM example_report WHERE "
                         "content='" SECOND "'");
    printf("main    the row was written %lld times, the last time by the "
           "second\n",
           writes);
    run(&db, "DROP TABLE example_report");
    disconnect(&db);
    return !(is_fine && writes == 2);
}
