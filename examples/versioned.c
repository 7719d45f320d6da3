/* SPDX-License-Identifier: MIT */
/*
 * Many sell from one stock at once: each reads it, takes one off, and writes it
 * if no other has sold meanwhile, else tries again. No lock is held between the
 * read and the write, and nothing is sold twice: hf_mysql_update_versioned(),
 * or hf_postgres_update_versioned().
 *
 *     MYSQL_PWD=… versioned mysql://USER@HOST:PORT/DATABASE
 *     PGPASSWORD=… versioned postgres://USER@HOST:PORT/DATABASE
 */
#include "examples/database.h"

#include <pthread.h>
#include <stdio.h>

#define SELLERS   4
#define CUSTOMERS 30 /* of each seller */
#define STOCK     100

struct seller {
    pthread_t thread;
    int argc;
    char **argv;
    int sold;
    int sent_away; /* customers who came when none was left */
    int repeated;  /* tries repeated because another seller was quicker */
    int failed;
};

/* Compute the new stock from the old; 1: no change. */
static int take_one(void *arg, const hf_row_value *old_values,
                    hf_row_value *new_values)
{
    (void)arg;
    if (old_values[0].number < 1) {
        return 1;
    }
    new_values[0].type = HF_ROW_INT;
    new_values[0].number = old_values[0].number - 1;
    return 0;
}

static void serve(struct seller *s, struct database *db)
{
    static const char *const columns[] = {"stock"};
    const hf_row_column key[] = {{"id", {HF_ROW_INT, 7, NULL, 0}}};
    hf_row row = HF_ROW_INIT;
    hf_row_update update = HF_ROW_UPDATE_INIT;
    hf_row_info info = HF_ROW_INFO_INIT;
    hf_error err = HF_ERROR_INIT;

    row.table = "example_product";
    row.key = key;
    row.n_key = 1;
    update.version = "version";
    update.columns = columns;
    update.n_columns = 1;
    update.change = take_one;
    update.retries = 100; /* a flash sale: all want this row */
    switch (update_versioned(db, &row, &update, &info, &err)) {
    case HF_OK:
        s->sold++;
        break;
    case HF_ROW_DECLINED:
        s->sent_away++;
        break;
    default: /* HF_CONFLICT: too busy; HF_EUNKNOWN: it may be sold */
        fprintf(stderr, "%s\n", err.text);
        s->failed++;
        break;
    }
    s->repeated += info.tries - 1;
}

static void *sell(void *arg)
{
    struct seller *s = arg;
    struct database db = connect_as(s->argc, s->argv);

    for (int i = 0; i < CUSTOMERS; i++) {
        serve(s, &db);
    }
    disconnect(&db);
    return NULL;
}

int main(int argc, char **argv)
{
    struct seller sellers[SELLERS] = {{.sold = 0}};
    struct database db = connect_as(argc, argv);
    struct seller all = {.sold = 0};
    long long left;

    run(&db, "CREATE TABLE example_product(id BIGINT PRIMARY KEY,"
             "stock INT NOT NULL,version BIGINT NOT NULL DEFAULT 0)");
    run(&db, "INSERT INTO example_product(id,stock) VALUES(7,100)");
    for (int i = 0; i < SELLERS; i++) {
        sellers[i].argc = argc;
        sellers[i].argv = argv;
        if (pthread_create(&sellers[i].thread, NULL, sell, &sellers[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < SELLERS; i++) {
        pthread_join(sellers[i].thread, NULL);
        all.sold += sellers[i].sold;
        all.sent_away += sellers[i].sent_away;
        all.repeated += sellers[i].repeated;
        all.failed += sellers[i].failed;
    }
    left = number(&db, "SELECT stock FROM example_product WHERE id=7");
    run(&db, "DROP TABLE example_product");
    disconnect(&db);
    printf("sold %d, left %lld, sent away %d, failed %d\n", all.sold, left,
           all.sent_away, all.failed);
    printf("somebody else was quicker %d times\n", all.repeated);
    return all.sold + left == STOCK && all.failed == 0 ? 0 : 1;
}
