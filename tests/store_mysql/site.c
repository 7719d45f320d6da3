/* SPDX-License-Identifier: MIT */
/*
 * What the words of site.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_mysql/site.h"

#include <stdarg.h>
#include <string.h>

const struct hf__framing *const framing = &hf__framing_mysql;
const char *const deletion = "DELETE FROM holdfast_lock";

__attribute__((constructor)) static void share_a_server(void)
{
    hf__mariadb_share();
}

const struct hf__mariadb *server(void)
{
    return hf__mariadb_shared();
}

const char *url_with(const char *options)
{
    static _Thread_local char url[1024];
    size_t length;

    hf__mariadb_test_url(url, sizeof url);
    length = strlen(url);
    snprintf(url + length, sizeof url - length, "%s%s",
             *options != '\0' ? "?" : "", options);
    return url;
}

const char *database(void)
{
    static _Thread_local char name[HF__MARIADB_NAME];

    snprintf(name, sizeof name, "%s", strrchr(url_with(""), '/') + 1);
    return name;
}

const char *url_as(const char *user)
{
    static _Thread_local char url[1024];

    snprintf(url, sizeof url, "mysql://%s127.0.0.1:%d/%s", user,
             hf__mariadb_port(server()), database());
    return url;
}

const char *url_at_port(int port)
{
    static _Thread_local char url[1024];

    snprintf(url, sizeof url, "mysql://%s:%s@127.0.0.1:%d/%s", HF__MARIADB_USER,
             HF__MARIADB_PASSWORD, port, database());
    return url;
}

int server_port(void)
{
    return hf__mariadb_port(server());
}

MYSQL *stranger(void)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                              HF__MARIADB_PASSWORD, database(),
                              (unsigned)hf__mariadb_port(server()), NULL, 0));
    return db;
}

const char *cell_says(const char *name, const char *expression)
{
    return hf__mariadb_value(server(),
                             "SELECT %s FROM %s.holdfast_cell WHERE "
                             "name_key='holdfast=%s'",
                             expression, database(), name);
}

/* ---- as site.h of tests/store_table has it */

struct person *come_in(void)
{
    return (struct person *)stranger();
}

void person_says(struct person *who, const char *statement)
{
    MYSQL *db = (MYSQL *)who;

    if (mysql_query(db, statement) != 0) {
        EXPECT_TEXT(mysql_error(db), statement);
    }
    mysql_free_result(mysql_store_result(db));
}

void go_out(struct person *who)
{
    mysql_close((MYSQL *)who);
}

void sql(const char *format, ...)
{
    struct person *who = come_in();
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    person_says(who, text);
    go_out(who);
}

const char *value(const char *format, ...)
{
    static _Thread_local char text[4096];
    MYSQL *db = stranger();
    MYSQL_RES *rows;
    MYSQL_ROW row;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    EXPECT_IS(mysql_query(db, text), 0);
    rows = mysql_store_result(db);
    row = mysql_fetch_row(rows);
    snprintf(text, sizeof text, "%s", row && row[0] ? row[0] : "");
    mysql_free_result(rows);
    mysql_close(db);
    return text;
}

void admit_long_names(void)
{
    sql("ALTER TABLE holdfast_lock MODIFY name_key VARBINARY(700) NOT NULL");
}
