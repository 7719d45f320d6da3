/* SPDX-License-Identifier: MIT */
/*
 * The stranger on PostgreSQL, whose bells are advisory locks.
 */
#include "tests/table_crowd/stranger.h"

#include "src/backend/postgres/postgres.h"
#include "tests/servers/postgres.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 2048 };

static PGconn *of(struct stranger *s)
{
    return (PGconn *)s;
}

struct stranger *stranger(void)
{
    char url[HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_test_url(url, sizeof url);
    db = PQconnectdb(url);
    EXPECT_TEXT(PQerrorMessage(db), "");
    return (struct stranger *)db;
}

void end_stranger(struct stranger **s)
{
    PQfinish(of(*s));
}

__attribute__((format(printf, 2, 0))) static PGresult *
run(struct stranger *s, const char *format, va_list args)
{
    char text[STATEMENT];
    int length = vsnprintf(text, sizeof text, format, args);

    EXPECT(length > 0 && length < STATEMENT);
    return PQexec(of(s), text);
}

bool can(struct stranger *s, const char *format, ...)
{
    PGresult *result;
    va_list args;
    bool is_done;

    va_start(args, format);
    result = run(s, format, args);
    va_end(args);
    is_done = PQresultStatus(result) == PGRES_COMMAND_OK ||
              PQresultStatus(result) == PGRES_TUPLES_OK;
    PQclear(result);
    return is_done;
}

void sql(struct stranger *s, const char *format, ...)
{
    PGresult *result;
    va_list args;

    va_start(args, format);
    result = run(s, format, args);
    va_end(args);
    EXPECT_TEXT(PQresultErrorMessage(result), "");
    PQclear(result);
}

int64_t number(struct stranger *s, const char *format, ...)
{
    PGresult *result;
    va_list args;
    int64_t value = -1;

    va_start(args, format);
    result = run(s, format, args);
    va_end(args);
    EXPECT_TEXT(PQresultErrorMessage(result), "");
    if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 0)) {
        value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    }
    PQclear(result);
    return value;
}

const char *spelled(const char *name)
{
    static _Thread_local char text[2 * HF__KEY_MAX + 8];
    char key[HF__KEY_MAX];
    struct hf__key k = make_key(key, name);
    size_t n = (size_t)snprintf(text, sizeof text, "'\\x");

    for (size_t i = 0; i < k.length; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%02x",
                              (unsigned char)k.bytes[i]);
    }
    snprintf(text + n, sizeof text - n, "'");
    return text;
}

bool rings(struct stranger *s, const struct claim *claim)
{
    return number(s,
                  "SELECT count(*) FROM pg_locks WHERE locktype='advisory' "
                  "AND granted AND classid::bigint<<32|objid::bigint=%lld",
                  (long long)hf__pg_wake_lock_of(&claim->token)) > 0;
}

static long long ticket_bell(const struct claim *claim)
{
    return (long long)(hf__pg_wake_lock_of(&claim->token) ^ HF__PG_TICKET);
}

void take_ticket_bell(struct stranger *s, const struct claim *claim)
{
    sql(s, "SELECT pg_advisory_lock(%lld)", ticket_bell(claim));
}

void drop_ticket_bell(struct stranger *s, const struct claim *claim)
{
    sql(s, "SELECT pg_advisory_unlock(%lld)", ticket_bell(claim));
}

void do_without_bells(struct party *p)
{
    ((struct hf__pg *)p->conn.state)->t.has_wake_locks = false;
}

void end_statement_of(struct stranger *s, const struct party *p, bool whole)
{
    const struct hf__pg *of_party = p->conn.state;

    sql(s, "SELECT pg_%s_backend(%d)", whole ? "terminate" : "cancel",
        PQbackendPID(of_party->wire.handle));
}
