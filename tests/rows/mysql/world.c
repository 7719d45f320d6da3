/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h on MySQL. The database is made at its first use in the
 * test. Thread: each connection is used by one at a time.
 */
#include "tests/rows/mysql/world.h"
#include "tests/servers/proxy.h"

#include <stdio.h>
#include <stdlib.h>

static const struct hf__mariadb *current;
static char own[HF__MARIADB_NAME];

const struct dialect its = {
    .kind = ON_MYSQL,
    .busy = "1205",
    .deadlock = "1213",
    .duplicate = "1062",
    .read_only = "1792",
    .no_savepoint = "1305",
    .no_index = "type=ALL",
    .index_part = "key=PRIMARY",
    .longest_name = 64,
    .quote = '`',
    .tick_ms = 1000,
    .levels = {"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ",
               "SERIALIZABLE"},
    .n_fresh = 3, /* and at the last, whoever looks at a row locks it */
    .n_patient = 4,
    .n_manners = 8,
    .far_limit = "SET SESSION innodb_lock_wait_timeout=420",
    .near_limit = "SET SESSION innodb_lock_wait_timeout=1",
    .show_limit = "SELECT @@innodb_lock_wait_timeout",
    .limit = "50",
    .close_table = "LOCK TABLES account WRITE",
    .be_lenient = "SET sql_mode=''",
};
const struct hf__framing *const framing = &hf__framing_mysql;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

static const struct hf__mariadb *server(void)
{
    return current != NULL ? current : hf__mariadb_shared();
}

void use_server(const struct hf__mariadb *m)
{
    current = m;
}

int server_port(void)
{
    return hf__mariadb_port(server());
}

const char *database(void)
{
    if (own[0] == '\0') {
        hf__mariadb_database(server(), own);
    }
    return own;
}

/* ---- connections */

MYSQL *mysql_of(struct db *db)
{
    return (MYSQL *)db;
}

static struct db *enter_with(unsigned long flags, int port)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db != NULL);
    mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                           HF__MARIADB_PASSWORD, database(), (unsigned)port,
                           NULL, flags) == NULL) {
        EXPECT_TEXT(mysql_error(db), "");
    }
    return (struct db *)db;
}

struct db *enter_at(int port)
{
    return enter_with(0, port);
}

struct db *enter(void)
{
    return enter_at(server_port());
}

int level_of(int manner)
{
    return manner / 2;
}

struct db *enter_as(int manner)
{
    struct db *db =
        enter_with(manner % 2 == 0 ? 0 : CLIENT_FOUND_ROWS, server_port());

    set_level(db, its.levels[level_of(manner)]);
    return db;
}

void set_level(struct db *db, const char *level)
{
    tell(db, "SET SESSION TRANSACTION ISOLATION LEVEL %s", level);
}

struct db *enter_nowhere(void)
{
    return (struct db *)mysql_init(NULL);
}

void leave(struct db **db)
{
    mysql_close(mysql_of(*db));
}

void run(struct db *db, const char *sql, struct result *result)
{
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row = NULL;
    unsigned error;

    if (mysql_query(mysql_of(db), sql) == 0) {
        rows = mysql_store_result(mysql_of(db));
        row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    }
    error = mysql_errno(mysql_of(db));
    snprintf(result->error, sizeof result->error, "%.0u", error); /* 0: "" */
    snprintf(result->value, sizeof result->value, "%s",
             row == NULL      ? "none"
             : row[0] == NULL ? "NULL"
                              : row[0]);
    result->changed = (int)mysql_affected_rows(mysql_of(db));
    mysql_free_result(rows);
}

const char *message_of(struct db *db)
{
    return mysql_error(mysql_of(db));
}

/* ---- sessions */

int waiting(void)
{
    /* INNODB_TRX is as old as somebody looks at it without a pause. */
    const char *count = hf__mariadb_value(
        server(), "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                  "WHERE VARIABLE_NAME='Innodb_row_lock_current_waits'");

    return (int)strtol(count, NULL, 10);
}

char state_of(struct db *db)
{
    return *value(db, "SELECT @@in_transaction") == '1' ? 'T' : 'I';
}

const char *session_of(struct db *db)
{
    return value(db, "SELECT CONCAT_WS(' ',@@tx_isolation,"
                     "@@innodb_lock_wait_timeout,@@lock_wait_timeout,"
                     "@@autocommit,@@sql_mode,@@time_zone,"
                     "@@character_set_client,@@max_statement_time)");
}

void cancel(struct db *by, struct db *whom)
{
    tell(by, "KILL QUERY %lu", mysql_thread_id(mysql_of(whom)));
}

void end_session(struct db *by, struct db *whom)
{
    tell(by, "KILL %lu", mysql_thread_id(mysql_of(whom)));
}

/* ---- the library */

int lock_row(struct db *db, const hf_row *row, const hf_row_lock_opts *opts,
             hf_row_info *ret_info, hf_error *e)
{
    return hf_mysql_lock_row(mysql_of(db), row, opts, ret_info, e);
}

int update_row(struct db *db, const hf_row *row, const hf_row_update *update,
               hf_row_info *ret_info, hf_error *e)
{
    return hf_mysql_update_versioned(mysql_of(db), row, update, ret_info, e);
}

int guard_sql(char *buf, size_t size, const char *column, uint64_t fence)
{
    return hf_mysql_guard_sql(buf, size, column, fence, &err);
}

const char *status_name(int status)
{
    return hf_mysql_strstatus(status);
}
