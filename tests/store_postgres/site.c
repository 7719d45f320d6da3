/* SPDX-License-Identifier: MIT */
/*
 * What the words of site.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_postgres/site.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

const struct hf__framing *const framing = &hf__framing_postgres;
const char *const deletion = "DELETE FROM \"public\".holdfast_lock";

__attribute__((constructor)) static void share_a_server(void)
{
    hf__postgres_share();
}

const struct hf__postgres *server(void)
{
    return hf__postgres_shared();
}

const char *url_with(const char *options)
{
    static _Thread_local char url[1024];
    size_t length;

    hf__postgres_test_url(url, sizeof url);
    length = strlen(url);
    snprintf(url + length, sizeof url - length, "%s%s",
             *options != '\0' ? "?" : "", options);
    return url;
}

const char *database(void)
{
    static _Thread_local char name[HF__POSTGRES_NAME];

    snprintf(name, sizeof name, "%s", strrchr(url_with(""), '/') + 1);
    return name;
}

const char *url_as(const char *user)
{
    static _Thread_local char url[1024];

    snprintf(url, sizeof url, "postgres://%s@127.0.0.1:%d/%s", user,
             hf__postgres_port(server()), database());
    return url;
}

const char *url_at_port(int port)
{
    static _Thread_local char url[1024];

    snprintf(url, sizeof url, "postgres://%s:%s@127.0.0.1:%d/%s",
             HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, port, database());
    return url;
}

int server_port(void)
{
    return hf__postgres_port(server());
}

__attribute__((format(printf, 1, 0))) static const char *
format_sql(const char *format, va_list args)
{
    static _Thread_local char text[4096];

    vsnprintf(text, sizeof text, format, args);
    return text;
}

void sql(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    hf__postgres_sql(server(), database(), "%s", format_sql(format, args));
    va_end(args);
}

const char *value(const char *format, ...)
{
    va_list args;
    const char *text;

    va_start(args, format);
    text = hf__postgres_value(server(), database(), "%s",
                              format_sql(format, args));
    va_end(args);
    return text;
}

const char *make_user(const char *name)
{
    static _Thread_local char user[2 * HF__POSTGRES_NAME];

    snprintf(user, sizeof user, "%s_%s", database(), name);
    for (char *c = user; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c); /* as SQL reads it */
    }
    sql("CREATE ROLE %s LOGIN", user);
    return user;
}

PGconn *stranger(void)
{
    char port[16];
    const char *const keys[] = {"host",     "port",   "user",
                                "password", "dbname", NULL};
    const char *const values[] = {"127.0.0.1",       port,
                                  HF__POSTGRES_USER, HF__POSTGRES_PASSWORD,
                                  database(),        NULL};
    PGconn *who;

    snprintf(port, sizeof port, "%d", hf__postgres_port(server()));
    who = PQconnectdbParams(keys, values, 0);
    EXPECT_IS(PQstatus(who), CONNECTION_OK);
    return who;
}

void say(PGconn *who, const char *statement)
{
    PGresult *result = PQexec(who, statement);

    EXPECT(PQresultStatus(result) == PGRES_COMMAND_OK ||
           PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
}

/* ---- as site.h of tests/store_table has it */

struct person *come_in(void)
{
    return (struct person *)stranger();
}

void person_says(struct person *who, const char *statement)
{
    say((PGconn *)who, statement);
}

void go_out(struct person *who)
{
    PQfinish((PGconn *)who);
}

void admit_long_names(void)
{
    /* It has room for any. */
}
