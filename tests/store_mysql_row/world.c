/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. Thread: each party is used by one at a time.
 */
#include "tests/store_mysql_row/world.h"

#include <stdlib.h>
#include <string.h>

const struct hf__mariadb *server(void)
{
    return hf__mariadb_shared();
}

const char *database(void)
{
    static _Thread_local char name[HF__MARIADB_NAME];
    char url[HF__MARIADB_URL];

    hf__mariadb_test_url(url, sizeof url);
    snprintf(name, sizeof name, "%s", strrchr(url, '/') + 1);
    return name;
}

#define USER HF__MARIADB_USER ":" HF__MARIADB_PASSWORD

static const char *write_url(const char *user, int port, const char *options)
{
    static _Thread_local char url[HF__MARIADB_URL + 128];

    snprintf(url, sizeof url, "mysql://%s@127.0.0.1:%d/%s?scheme=row%s%s", user,
             port, database(), *options ? "&" : "", options);
    return url;
}

const char *url_as(const char *user, const char *options)
{
    return write_url(user, hf__mariadb_port(server()), options);
}

const char *url_with(const char *options)
{
    return url_as(USER, options);
}

const char *url_by(int port)
{
    return write_url(USER, port, "");
}

void expect_refusal(const char *url, int status, const char *words)
{
    HF_AUTO(leave) struct party alice = {0};

    EXPECT_IS(join_url(&alice, "alice", url), status);
    EXPECT_HAS(alice.error.text, words);
}

/* ---- the server */

#define TRANSACTIONS                                                           \
    " FROM information_schema.INNODB_TRX t JOIN "                              \
    "information_schema.PROCESSLIST p ON p.ID=t.trx_mysql_thread_id "          \
    "WHERE p.DB='%s'"

/* The server makes that table anew only if nobody read it for a tenth of a
 * second. */
static int64_t look(const char *what, const char *which)
{
    hf__test_pause_ms(110);
    return strtoll(hf__mariadb_value(server(), "SELECT %s" TRANSACTIONS "%s",
                                     what, database(), which),
                   NULL, 10);
}

int transactions(void)
{
    return (int)look("COUNT(*)", "");
}

int64_t holder(void)
{
    return look("p.ID", " AND trx_state='RUNNING'");
}

int queue(void)
{
    return (int)look("COUNT(*)", " AND trx_state='LOCK WAIT'");
}

void end_connection(int64_t id)
{
    EXPECT_MORE(id, 0);
    hf__mariadb_sql(server(), "KILL %lld", (long long)id);
}

void change_table(const char *table, const char *how)
{
    hf__mariadb_sql(server(), "ALTER TABLE %s.%s %s", database(), table, how);
}

void refuse_rows(const char *table, unsigned error)
{
    hf__mariadb_sql(server(),
                    "CREATE TRIGGER %s.refusal BEFORE INSERT ON %s.%s FOR EACH "
                    "ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO=%u",
                    database(), database(), table, error);
}

void accept_rows(void)
{
    hf__mariadb_sql(server(), "DROP TRIGGER %s.refusal", database());
}

/* ---- parties */

struct wanted {
    const char *name;
    char value[256];
    hf_verdict verdict;
};

static int take_item(void *arg, const hf_check_item *item)
{
    struct wanted *w = arg;

    if (strcmp(item->name, w->name) == 0) {
        snprintf(w->value, sizeof w->value, "%s", item->value);
        w->verdict = item->verdict;
    }
    return 0;
}

const char *finding(struct party *p, const char *name, hf_verdict *ret_verdict)
{
    static _Thread_local struct wanted w;

    w = (struct wanted){.name = name};
    EXPECT_IS(hf__conn_check(&p->conn, take_item, &w,
                             hf__after_ms(hf__now(), slowly(10000)), &p->error),
              HF_OK);
    *ret_verdict = w.verdict;
    return w.value;
}

int try_once(struct party *p, const char *name)
{
    struct request rq;
    struct hf__op *op = &rq.op;

    ask(p, &rq, HF__OP_ACQUIRE, name);
    EXPECT_IS(hf__conn_execute(&p->conn, &op, 1,
                               hf__after_ms(hf__now(), slowly(10000)),
                               &p->error),
              HF_OK);
    return op->result;
}
