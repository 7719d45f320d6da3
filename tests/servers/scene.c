/* SPDX-License-Identifier: MIT */
/*
 * The words of scene.h. The server is started before the first test of the
 * program that links this.
 */
#include "tests/servers/scene.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <stdlib.h>

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

struct scene scene_start(void)
{
    struct scene s = {.server = hf__mariadb_shared()};

    hf__mariadb_database(s.server, s.database);
    hf__mariadb_sql(s.server, "CREATE TABLE %s.t (a INT) ENGINE=InnoDB",
                    s.database);
    s.proxy = hf__proxy_start(hf__mariadb_port(s.server), &hf__framing_mysql);
    return s;
}

void scene_end(struct scene *s)
{
    hf__proxy_free(s->proxy);
}

MYSQL *scene_connect(const struct scene *s, unsigned patience_s)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db);
    mysql_options(db, MYSQL_OPT_CONNECT_TIMEOUT, &patience_s);
    mysql_options(db, MYSQL_OPT_READ_TIMEOUT, &patience_s);
    mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER, HF__MARIADB_PASSWORD,
                       s->database, (unsigned)hf__proxy_port(s->proxy), NULL,
                       CLIENT_MULTI_STATEMENTS);
    return db;
}

unsigned scene_query(MYSQL *db, const char *sql)
{
    if (mysql_query(db, sql) == 0) {
        do {
            mysql_free_result(mysql_store_result(db));
        } while (!mysql_errno(db) && mysql_next_result(db) == 0);
    }
    return mysql_errno(db);
}

unsigned scene_insert(MYSQL *db)
{
    return scene_query(db, "INSERT INTO t VALUES (1)");
}

int scene_rows(const struct scene *s)
{
    return (int)strtol(
        hf__mariadb_value(s->server, "SELECT COUNT(*) FROM %s.t", s->database),
        NULL, 10);
}

bool scene_wait_rows(const struct scene *s, int rows)
{
    int64_t until = hf__test_now_ms() + hf__servers_patience(10000);

    while (scene_rows(s) != rows) {
        if (hf__test_now_ms() > until) {
            return false;
        }
        hf__test_pause_ms(5);
    }
    return true;
}
