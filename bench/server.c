/* SPDX-License-Identifier: MIT */
/*
 * The server is that of the tests (tests/servers), but for their options that
 * make it small: a lock table by hand would not run on such a one either.
 * Thread: main.
 */
#include "bench/server.h"

#include "tests/servers/mariadb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct server {
    struct hf__mariadb *mariadb;
    char database[HF__MARIADB_NAME];
    char url[HF__MARIADB_URL];
};

static uint64_t status(const struct server *server, const char *name)
{
    const char *value =
        hf__mariadb_value(server->mariadb,
                          "SELECT variable_value FROM "
                          "information_schema.global_status WHERE "
                          "variable_name='%s'",
                          name);

    return strtoull(value, NULL, 10);
}

struct server *server_start(void)
{
    static const char *const options[] = {
        "--innodb-buffer-pool-size=128M", "--innodb-log-buffer-size=16M",
        "--innodb-log-file-size=96M", "--max-connections=500", NULL};
    const struct hf__mariadb_opts opts = {.extra = options, .on_disk = true};
    struct server *server = calloc(1, sizeof *server);

    if (!server) {
        bench_fail("out of memory");
    }
    if (!hf__mariadb_is_installed()) {
        free(server);
        return NULL;
    }
    server->mariadb = hf__mariadb_start(&opts);
    hf__mariadb_database(server->mariadb, server->database);
    hf__mariadb_url(server->mariadb, server->database, server->url,
                    sizeof server->url);
    return server;
}

void server_stop(struct server *server)
{
    hf__mariadb_free(server->mariadb);
    free(server);
}

void server_flush(const struct server *server, int flush)
{
    hf__mariadb_sql(server->mariadb,
                    "SET GLOBAL innodb_flush_log_at_trx_commit=%d", flush);
}

void server_print(const struct server *server)
{
    const char *text = hf__mariadb_value(
        server->mariadb,
        "SELECT CONCAT(@@version,', innodb_flush_log_at_trx_commit=',"
        "@@global.innodb_flush_log_at_trx_commit,', log_bin=',@@log_bin,"
        "', innodb_flush_method=',@@innodb_flush_method,', doublewrite=',"
        "@@innodb_doublewrite)");

    printf("-- %s, TCP on loopback\n", text);
}

const char *server_url(const struct server *server)
{
    return server->url;
}

int server_port(const struct server *server)
{
    return hf__mariadb_port(server->mariadb);
}

const char *server_database(const struct server *server)
{
    return server->database;
}

double server_seconds(const struct server *server)
{
    char path[64];
    char text[1024] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    char *after;
    FILE *in;

    (void)snprintf(path, sizeof path, "/proc/%d/stat",
                   (int)hf__mariadb_pid(server->mariadb));
    in = fopen(path, "re");
    if (in) {
        (void)fread(text, 1, sizeof text - 1, in);
        (void)fclose(in);
    }
    after = strrchr(text, ')');
    if (after) {
        /* utime and stime are the 12th and 13th field after it. */
        for (int i = 0; i < 12 && after; i++) {
            after = strchr(after + 1, ' ');
        }
        user = after ? strtoul(after, &after, 10) : 0;
        system = after ? strtoul(after, NULL, 10) : 0;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

struct server_counts server_count(const struct server *server)
{
    struct server_counts counts = {
        .deadlocks = status(server, "Innodb_deadlocks"),
        .statements = status(server, "Questions"),
    };

    return counts;
}
