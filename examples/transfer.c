/* SPDX-License-Identifier: MIT */
/*
 * Two threads move money from one account to another and back at the same time:
 * each locks both rows in the transaction that writes them, by
 * hf_mysql_lock_row() or hf_postgres_lock_row(). Every second time each first
 * locks the account that it takes from, so the two deadlock now and then: the
 * server ends one of the transactions, the call returns HF_DEADLOCK, and the
 * transfer begins again. The other times both lock the smaller number first,
 * which avoids deadlocks.
 *
 *     MYSQL_PWD=… transfer mysql://USER@HOST:PORT/DATABASE
 *     PGPASSWORD=… transfer postgres://USER@HOST:PORT/DATABASE
 */
#include "examples/database.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define TIMES 50

struct clerk {
    pthread_t thread;
    int argc;
    char **argv;
    int from;
    int to;
    int done;
    int deadlocks;
    int failed;
};

static int lock(struct database *db, int id, hf_error *err)
{
    const hf_row_column key[] = {{"id", {HF_ROW_INT, id, NULL, 0}}};
    hf_row_lock_opts opts = HF_ROW_LOCK_OPTS_INIT;
    hf_row row = HF_ROW_INIT;

    row.table = "example_account";
    row.key = key;
    row.n_key = 1;
    opts.wait_ms = 10000; /* the server's own limit is 50 s, or none */
    return lock_row(db, &row, &opts, NULL, err);
}

/* Transfer once. HF_OK: it is committed; otherwise it is rolled back.
 * is_ordered: the smaller number is locked first. */
static int transfer(struct database *db, const struct clerk *c, bool is_ordered,
                    hf_error *err)
{
    bool is_turned = is_ordered && c->to < c->from;
    char sql[128];
    int r;

    run(db, "BEGIN");
    r = lock(db, is_turned ? c->to : c->from, err);
    if (r == HF_OK) {
        r = lock(db, is_turned ? c->from : c->to, err);
    }
    if (r != HF_OK) {
        run(db, "ROLLBACK"); /* harmless where MySQL has rolled back already */
        return r;
    }
    snprintf(sql, sizeof sql,
             "UPDATE example_account SET balance=balance+CASE WHEN id=%d THEN "
             "-1 ELSE 1 END WHERE id IN (%d,%d)",
             c->from, c->from, c->to);
    run(db, sql);
    run(db, "COMMIT");
    return HF_OK;
}

static void *work(void *arg)
{
    struct clerk *c = arg;
    struct database db = connect_as(c->argc, c->argv);
    hf_error err = HF_ERROR_INIT;

    for (int i = 0; i < TIMES; i++) {
        int r = transfer(&db, c, i % 2 == 1, &err);

        while (r == HF_DEADLOCK) {
            c->deadlocks++;
            r = transfer(&db, c, i % 2 == 1, &err);
        }
        if (r == HF_OK) {
            c->done++;
        } else { /* a failure: HF_BUSY, HF_ROW_GONE, … */
            fprintf(stderr, "%s: %s\n", status_name(&db, r), err.text);
            c->failed++;
        }
    }
    disconnect(&db);
    return NULL;
}

int main(int argc, char **argv)
{
    struct clerk clerks[2] = {{.from = 1, .to = 2}, {.from = 2, .to = 1}};
    struct database db = connect_as(argc, argv);
    long long total;

    run(&db, "CREATE TABLE example_account(id INT PRIMARY KEY,"
             "balance INT NOT NULL)");
    run(&db, "INSERT INTO example_account VALUES(1,500),(2,500)");
    for (int i = 0; i < 2; i++) {
        clerks[i].argc = argc;
        clerks[i].argv = argv;
        if (pthread_create(&clerks[i].thread, NULL, work, &clerks[i]) != 0) {
            return 1;
        }
    }
    pthread_join(clerks[0].thread, NULL);
    pthread_join(clerks[1].thread, NULL);
    total = number(&db, "SELECT SUM(balance) FROM example_account");
    printf("transferred %d, total %lld, failed %d\n",
           clerks[0].done + clerks[1].done, total,
           clerks[0].failed + clerks[1].failed);
    printf("deadlocks %d\n", clerks[0].deadlocks + clerks[1].deadlocks);
    run(&db, "DROP TABLE example_account");
    disconnect(&db);
    return total == 1000 && clerks[0].done + clerks[1].done == 2 * TIMES ? 0
                                                                         : 1;
}
