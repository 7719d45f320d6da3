/* SPDX-License-Identifier: MIT */
/*
 * The stranger on MariaDB.
 */
#include "tests/table_crowd/stranger.h"

#include "src/backend/mysql/mysql.h"
#include "tests/servers/mariadb.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 2048 };

static MYSQL *of(struct stranger *s)
{
    return (MYSQL *)s;
}

struct stranger *stranger(void)
{
    char url[HF__MARIADB_URL];
    MYSQL *db = mysql_init(NULL);

    hf__mariadb_test_url(url, sizeof url);
    EXPECT(db != NULL);
    EXPECT(mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                              HF__MARIADB_PASSWORD, strrchr(url, '/') + 1,
                              (unsigned)hf__mariadb_port(hf__mariadb_shared()),
                              NULL, 0) != NULL);
    return (struct stranger *)db;
}

void end_stranger(struct stranger **s)
{
    mysql_close(of(*s));
}

__attribute__((format(printf, 2, 0))) static bool
run(struct stranger *s, const char *format, va_list args)
{
    char text[STATEMENT];
    int length = vsnprintf(text, sizeof text, format, args);

    EXPECT(length > 0 && length < STATEMENT);
    return mysql_query(of(s), text) == 0;
}

bool can(struct stranger *s, const char *format, ...)
{
    va_list args;
    bool is_done;

    va_start(args, format);
    is_done = run(s, format, args);
    va_end(args);
    mysql_free_result(mysql_store_result(of(s)));
    return is_done;
}

void sql(struct stranger *s, const char *format, ...)
{
    va_list args;
    bool is_done;

    va_start(args, format);
    is_done = run(s, format, args);
    va_end(args);
    EXPECT_TEXT(is_done ? "" : mysql_error(of(s)), "");
    mysql_free_result(mysql_store_result(of(s)));
}

int64_t number(struct stranger *s, const char *format, ...)
{
    MYSQL_RES *rows;
    MYSQL_ROW row;
    va_list args;
    bool is_done;
    int64_t value;

    va_start(args, format);
    is_done = run(s, format, args);
    va_end(args);
    EXPECT_TEXT(is_done ? "" : mysql_error(of(s)), "");
    rows = mysql_store_result(of(s));
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

/* The user lock of a claim's token, as SQL. Until the next call. */
static const char *bell(const char *prefix, const struct claim *claim)
{
    static _Thread_local char text[96];
    char hex[2 * sizeof claim->token.bytes + 1];

    add_hex(hex, sizeof hex, claim->token.bytes, sizeof claim->token.bytes);
    snprintf(text, sizeof text, "CONCAT('%s.',HEX(LEFT(x'%s',8)))", prefix,
             hex);
    return text;
}

bool rings(struct stranger *s, const struct claim *claim)
{
    return number(s, "SELECT IS_USED_LOCK(%s) IS NOT NULL",
                  bell("hf", claim)) == 1;
}

void take_ticket_bell(struct stranger *s, const struct claim *claim)
{
    sql(s, "DO GET_LOCK(%s,0)", bell("hq", claim));
}

void drop_ticket_bell(struct stranger *s, const struct claim *claim)
{
    sql(s, "DO RELEASE_LOCK(%s)", bell("hq", claim));
}

void do_without_bells(struct party *p)
{
    ((struct hf__mysql *)p->conn.state)->t.has_wake_locks = false;
}

void end_statement_of(struct stranger *s, const struct party *p, bool whole)
{
    const struct hf__mysql *of_party = p->conn.state;

    sql(s, "KILL %s %llu", whole ? "" : "QUERY",
        (unsigned long long)of_party->server.connection_id);
}

/* ---- what its statements do alone */

#define LOCK "SELECT * FROM holdfast_lock WHERE name_key=%s FOR UPDATE"

/* Its clock is that of the moment, also after a wait. */
TEST(a_renewal_beside_others_that_was_held_up_revives_nothing)
{
    PARTIES(alice, bob);
    STRANGER(db);
    struct errand e;

    EXPECT_IS(try_for(&alice, "job", SHARED, 400), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    sql(db, "BEGIN");
    sql(db, LOCK, spelled("job"));
    start_errand(&e, &alice, HF__OP_RENEW, "job", SHARED);
    hf__test_pause_ms(600);
    sql(db, "COMMIT");
    EXPECT_SAFE_IS(end_errand(&e), HF_LOST);
    EXPECT_IS(e.rq.op.ret_reason, HF_REASON_EXPIRED);
    expect_around(&bob, "job", 1, 0);
}

/* Else its claim would ask for ever, and as fast as it can. */
TEST(a_waiter_does_not_mind_what_its_claim_does_not_see)
{
    PARTIES(alice, bob);
    struct waiting w;
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    sql(db, "INSERT INTO holdfast_beside(name_key,token,mode,expires) "
            "SELECT name_key,'token of another',9,expires FROM holdfast_lock");
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    watch_name(&w, &bob, "job");
    wait_up_to(&w, 300);
    EXPECT(!w.watch.has_fired);
}
