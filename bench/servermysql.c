/* SPDX-License-Identifier: MIT */
/*
 * The server is that of the tests (tests/servers), but for their options that
 * make it small: a lock table by hand would not run on such a one either.
 * Thread: main.
 */
#include "bench/servermysql.h"

#include "tests/servers/mariadb.h"

#include <stdio.h>
#include <stdlib.h>

struct servermysql {
    struct server server; /* the first: count() and seconds() are given it */
    struct hf__mariadb *mariadb;
    char database[HF__MARIADB_NAME];
    char url[HF__MARIADB_URL];
};

static const struct servermysql *of(const struct server *server)
{
    return (const struct servermysql *)server;
}

static uint64_t status(const struct server *server, const char *name)
{
    const char *value =
        hf__mariadb_value(of(server)->mariadb,
                          "SELECT variable_value FROM "
                          "information_schema.global_status WHERE "
                          "variable_name='%s'",
                          name);

    return strtoull(value, NULL, 10);
}

static struct server_counts count(const struct server *server)
{
    return (struct server_counts){
        .asked = status(server, "Questions"),
        .deadlocks = status(server, "Innodb_deadlocks"),
    };
}

static double seconds(const struct server *server)
{
    return server_process_seconds(hf__mariadb_pid(of(server)->mariadb));
}

struct servermysql *servermysql_start(void)
{
    static const char *const options[] = {
        "--innodb-buffer-pool-size=128M", "--innodb-log-buffer-size=16M",
        "--innodb-log-file-size=96M", "--max-connections=500", NULL};
    const struct hf__mariadb_opts opts = {.extra = options, .on_disk = true};
    struct servermysql *mysql;

    if (!hf__mariadb_is_installed()) {
        return NULL;
    }
    mysql = server_new(sizeof *mysql);
    mysql->mariadb = hf__mariadb_start(&opts);
    hf__mariadb_database(mysql->mariadb, mysql->database);
    hf__mariadb_url(mysql->mariadb, mysql->database, mysql->url,
                    sizeof mysql->url);
    mysql->server = (struct server){.scheme = "mysql",
                                    .url = mysql->url,
                                    .asked = "statements",
                                    .has_deadlocks = true,
                                    .count = count,
                                    .seconds = seconds};
    return mysql;
}

void servermysql_stop(struct servermysql *mysql)
{
    hf__mariadb_free(mysql->mariadb);
    free(mysql);
}

const struct server *servermysql_server(const struct servermysql *mysql)
{
    return &mysql->server;
}

void servermysql_flush(const struct servermysql *mysql, int flush)
{
    hf__mariadb_sql(mysql->mariadb,
                    "SET GLOBAL innodb_flush_log_at_trx_commit=%d", flush);
}

void servermysql_print(const struct servermysql *mysql)
{
    const char *text = hf__mariadb_value(
        mysql->mariadb,
        "SELECT CONCAT(@@version,', innodb_flush_log_at_trx_commit=',"
        "@@global.innodb_flush_log_at_trx_commit,', log_bin=',@@log_bin,"
        "', innodb_flush_method=',@@innodb_flush_method,', doublewrite=',"
        "@@innodb_doublewrite)");

    printf("-- %s, TCP on loopback\n", text);
}

int servermysql_port(const struct servermysql *mysql)
{
    return hf__mariadb_port(mysql->mariadb);
}

const char *servermysql_database(const struct servermysql *mysql)
{
    return mysql->database;
}
