/* SPDX-License-Identifier: MIT */
/*
 * The server is that of the tests (tests/servers), but for their settings that
 * make it small: a lock table by hand would not run on such a one either. It
 * has a process for each connection. Thread: main.
 */
#include "bench/serverpostgres.h"

#include "tests/servers/postgres.h"

#include <stdio.h>
#include <stdlib.h>

struct serverpostgres {
    struct server server; /* the first: count() and seconds() are given it */
    struct hf__postgres *postgres;
    char url[HF__POSTGRES_URL];
};

static const struct serverpostgres *of(const struct server *server)
{
    return (const struct serverpostgres *)server;
}

static uint64_t sum(const struct server *server, const char *what)
{
    return strtoull(hf__postgres_value(of(server)->postgres, NULL,
                                       "SELECT sum(%s) FROM pg_stat_database",
                                       what),
                    NULL, 10);
}

/* A statement is a transaction. What processes count they tell within a
 * second. */
static struct server_counts count(const struct server *server)
{
    return (struct server_counts){
        .asked = sum(server, "xact_commit+xact_rollback"),
        .deadlocks = sum(server, "deadlocks"),
    };
}

static double seconds(const struct server *server)
{
    return server_family_seconds(hf__postgres_pid(of(server)->postgres));
}

struct serverpostgres *serverpostgres_start(void)
{
    static const char *const settings[] = {
        "shared_buffers = 128MB", "max_wal_size = 1GB", "max_connections = 400",
        "fsync = on", NULL};
    const struct hf__postgres_opts opts = {.extra = settings, .on_disk = true};
    struct serverpostgres *postgres;

    if (!hf__postgres_is_installed()) {
        return NULL;
    }
    postgres = server_new(sizeof *postgres);
    postgres->postgres = hf__postgres_start(&opts);
    hf__postgres_fresh_url(postgres->postgres, postgres->url,
                           sizeof postgres->url);
    postgres->server = (struct server){.scheme = "postgres",
                                       .url = postgres->url,
                                       .asked = "transactions",
                                       .has_deadlocks = true,
                                       .count = count,
                                       .seconds = seconds};
    return postgres;
}

void serverpostgres_stop(struct serverpostgres *postgres)
{
    hf__postgres_free(postgres->postgres);
    free(postgres);
}

const struct server *
serverpostgres_server(const struct serverpostgres *postgres)
{
    return &postgres->server;
}

void serverpostgres_flush(const struct serverpostgres *postgres, bool is_on)
{
    hf__postgres_sql(postgres->postgres, NULL, "ALTER SYSTEM SET fsync=%s",
                     is_on ? "on" : "off");
    hf__postgres_sql(postgres->postgres, NULL, "SELECT pg_reload_conf()");
}

void serverpostgres_print(const struct serverpostgres *postgres)
{
    const char *text = hf__postgres_value(
        postgres->postgres, NULL,
        "SELECT concat('PostgreSQL ',current_setting('server_version'),"
        "', fsync=',current_setting('fsync'),', synchronous_commit=',"
        "current_setting('synchronous_commit'),', full_page_writes=',"
        "current_setting('full_page_writes'))");

    printf("-- %s, TCP on loopback\n", text);
}
