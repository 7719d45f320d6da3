/* SPDX-License-Identifier: MIT */
/*
 * The words of stranger.h.
 */
#include "tests/mysql_crowd/stranger.h"

#include "src/base/url.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/servers.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 2048 };

MYSQL *stranger(void)
{
    char url[HF__MARIADB_URL];
    MYSQL *db = mysql_init(NULL);

    hf__mariadb_test_url(url, sizeof url);
    EXPECT(db != NULL);
    EXPECT(mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                              HF__MARIADB_PASSWORD, strrchr(url, '/') + 1,
                              (unsigned)hf__mariadb_port(hf__mariadb_shared()),
                              NULL, 0) != NULL);
    return db;
}

void end_stranger(MYSQL **db)
{
    mysql_close(*db);
}

__attribute__((format(printf, 2, 0))) static unsigned
run(MYSQL *db, const char *format, va_list args)
{
    char text[STATEMENT];
    int length = vsnprintf(text, sizeof text, format, args);

    EXPECT(length > 0 && length < STATEMENT);
    return mysql_query(db, text) == 0 ? 0 : mysql_errno(db);
}

unsigned try_sql(MYSQL *db, const char *format, ...)
{
    va_list args;
    unsigned error;

    va_start(args, format);
    error = run(db, format, args);
    va_end(args);
    mysql_free_result(mysql_store_result(db));
    return error;
}

void sql(MYSQL *db, const char *format, ...)
{
    va_list args;
    unsigned error;

    va_start(args, format);
    error = run(db, format, args);
    va_end(args);
    EXPECT_TEXT(error == 0 ? "" : mysql_error(db), "");
    mysql_free_result(mysql_store_result(db));
}

int64_t number(MYSQL *db, const char *format, ...)
{
    MYSQL_RES *rows;
    MYSQL_ROW row;
    va_list args;
    unsigned error;
    int64_t value;

    va_start(args, format);
    error = run(db, format, args);
    va_end(args);
    EXPECT_TEXT(error == 0 ? "" : mysql_error(db), "");
    rows = mysql_store_result(db);
    EXPECT(rows != NULL);
    row = mysql_fetch_row(rows);
    value = row == NULL || row[0] == NULL ? -1 : strtoll(row[0], NULL, 10);
    mysql_free_result(rows);
    return value;
}

static void add_hex(char *to, size_t size, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;

    for (size_t i = 0; i < length; i++) {
        snprintf(to + 2 * i, size - 2 * i, "%02x", from[i]);
    }
}

const char *spelled(const char *name)
{
    static _Thread_local char text[2 * HF__KEY_MAX + 4];
    char key[HF__KEY_MAX];
    struct hf__key k = make_key(key, name);
    size_t n;

    snprintf(text, sizeof text, "x'");
    add_hex(text + 2, sizeof text - 2, k.bytes, k.length);
    n = strlen(text);
    snprintf(text + n, sizeof text - n, "'");
    return text;
}

const char *bell(const char *prefix, const struct claim *claim)
{
    static _Thread_local char text[96];
    char hex[2 * sizeof claim->token.bytes + 1];

    add_hex(hex, sizeof hex, claim->token.bytes, sizeof claim->token.bytes);
    snprintf(text, sizeof text, "CONCAT('%s.',HEX(LEFT(x'%s',8)))", prefix,
             hex);
    return text;
}

/* ---- errands */

static void run_errand(void *arg)
{
    struct errand *e = arg;
    int64_t start = hf__test_now_ms();
    struct hf__op *op = &e->rq.op;
    int r;

    op->err = &e->rq.error;
    r = hf__conn_execute(&e->who->conn, &op, 1,
                         hf__after_ms(hf__now(), slowly(10000)),
                         &e->who->error);
    e->took_ms = hf__test_now_ms() - start;
    e->result = r == HF_OK ? op->result : r;
}

void start_errand(struct errand *e, struct party *p, enum hf__op_kind kind,
                  const char *name, struct hf__manner manner)
{
    *e = (struct errand){.who = p};
    ask(p, &e->rq, kind, name);
    e->rq.op.manner = manner;
    e->thread = hf__test_start(run_errand, e);
}

int end_errand(struct errand *e)
{
    hf__test_join(e->thread);
    return e->result;
}
