/* SPDX-License-Identifier: MIT */
/*
 * Why a lock alone is not enough, and what its fence is for: the first holder
 * is away for longer than its lease, a second one gets the lock and writes, the
 * first wakes up and writes what it had computed. The table refuses it by the
 * condition of hf_mysql_guard_sql(). The lock may be of any store; here it is
 * one in memory, so that the example needs nothing else.
 *
 *     MYSQL_PWD=… guard HOST PORT USER DATABASE
 */
#include "examples/database.h"

#include <holdfast-mysql.h>
#include <stdio.h>

#define NAME "report"

struct worker {
    const char *name;
    hf_client *client;
    hf_lock *lock;
};

static int begin(struct worker *w, int64_t lease_ms)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;

    opts.lease_ms = lease_ms;
    opts.auto_renew = 0; /* as if the process were stopped */
    if (hf_open("memory:guard", NULL, &w->client, &err) != HF_OK ||
        hf_acquire(w->client, NAME, &opts, &w->lock, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}

/* How many rows were changed: 1, or 0 for who is late. */
static long long save(MYSQL *db, const struct worker *w)
{
    unsigned long long fence = hf_fence(w->lock);
    hf_error err = HF_ERROR_INIT;
    char guard[320];
    char sql[640];

    if (hf_mysql_guard_sql(guard, sizeof guard, "fence", fence, &err) !=
        HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    snprintf(sql, sizeof sql,
             "UPDATE example_report SET author='%s',writes=writes+1,"
             "fence=%llu WHERE id=1 AND %s",
             w->name, fence, guard);
    run(db, sql);
    return (long long)mysql_affected_rows(db);
}

static void end(struct worker *w)
{
    hf_free(w->lock);
    hf_close(w->client);
}

int main(int argc, char **argv)
{
    struct worker first = {.name = "first"};
    struct worker second = {.name = "second"};
    MYSQL *db = connect_as(argc, argv);
    long long rows[3];
    long long writes;

    run(db, "CREATE TABLE example_report(id INT PRIMARY KEY,"
            "author VARCHAR(20) NOT NULL DEFAULT '',"
            "writes INT NOT NULL DEFAULT 0,"
            "fence BIGINT UNSIGNED NOT NULL DEFAULT 0)ENGINE=InnoDB");
    run(db, "INSERT INTO example_report(id) VALUES(1)");
    if (begin(&first, HF_LEASE_MIN_MS) != 0 ||
        begin(&second, HF_LEASE_DEFAULT_MS) != 0) { /* waits for that lease */
        return 1;
    }
    rows[0] = save(db, &second);
    rows[1] = save(db, &first); /* it did not look at hf_held() */
    rows[2] = save(db, &second);
    writes = number(db, "SELECT writes FROM example_report WHERE "
                        "author='second'");
    printf("second wrote %lld, first %lld, second again %lld\n", rows[0],
           rows[1], rows[2]);
    run(db, "DROP TABLE example_report");
    end(&first);
    end(&second);
    mysql_close(db);
    return rows[0] == 1 && rows[1] == 0 && rows[2] == 1 && writes == 2 ? 0 : 1;
}
