/* SPDX-License-Identifier: MIT */
/*
 * Locks in MariaDB by hand, with libmariadb as it is used everywhere: calls
 * that block. The table of the two first ways has a row for each name that
 * stays, a number that rises and comes back in the reply to the UPDATE, and
 * the least that an operator wants to know of a holder. Thread: any.
 */
#include "bench/rawmysql.h"

#include "bench/measure.h"
#include "tests/servers/mariadb.h"

#include <mysql.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW      "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"
#define LEASE_US "30000000"
#define OWNER    16

enum { ACQUIRE, RELEASE, COUNT };

#define TAKE                                                                   \
    "UPDATE raw_lock SET fence=LAST_INSERT_ID(GREATEST(fence+1," NOW ")),"     \
    "acquired_at=" NOW ",expires=" NOW "+" LEASE_US ","

/* The text is for a printf(), whose compiler wants to see it. */
#define TAKE_AS_TEXT                                                           \
    TAKE "owner=x'%s',host='localhost',pid=%d WHERE name='%s' AND "            \
         "expires<=" NOW
#define FREE_AS_TEXT                                                           \
    "UPDATE raw_lock SET owner='',expires=0 WHERE name='%s' AND owner=x'%s'"

static const char *const prepared[][COUNT] = {
    [RAWMYSQL_PREPARED] = {TAKE "owner=?,host=?,pid=? WHERE name=? AND "
                                "expires<=" NOW,
                           "UPDATE raw_lock SET owner='',expires=0 WHERE "
                           "name=? AND owner=?"},
    [RAWMYSQL_TEXT] = {NULL, NULL},
    [RAWMYSQL_CLASSIC] = {"INSERT INTO classic_lock(owner,host,pid,name,"
                          "expires) VALUES(?,?,?,?," NOW "+" LEASE_US ")",
                          "DELETE FROM classic_lock WHERE name=? AND owner=?"},
};

static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS raw_lock(name VARBINARY(320) NOT NULL PRIMARY "
    "KEY,fence BIGINT UNSIGNED NOT NULL DEFAULT 0,owner VARBINARY(16) NOT NULL "
    "DEFAULT '',expires BIGINT NOT NULL DEFAULT 0,acquired_at BIGINT NOT NULL "
    "DEFAULT 0,host VARCHAR(64) NOT NULL DEFAULT '',pid BIGINT NOT NULL "
    "DEFAULT 0) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS classic_lock(id BIGINT NOT NULL AUTO_INCREMENT "
    "PRIMARY KEY,name VARBINARY(320) NOT NULL,owner VARBINARY(16) NOT NULL,"
    "expires BIGINT NOT NULL,host VARCHAR(64) NOT NULL,pid BIGINT NOT NULL,"
    "UNIQUE KEY(name)) ENGINE=InnoDB",
};

struct rawmysql {
    MYSQL *db;
    enum rawmysql_way way;
    MYSQL_STMT *statement[COUNT];
    MYSQL_BIND bind[COUNT][4];
    unsigned char owner[OWNER];
    unsigned long lengths[3]; /* owner, host, name */
    char host[16];
    char name[64];
    long long pid;
    uint64_t owners;
};

static void query(struct rawmysql *raw, const char *sql)
{
    if (mysql_query(raw->db, sql)) {
        bench_fail("%s: %s", sql, mysql_error(raw->db));
    }
}

static void bind(MYSQL_BIND *b, enum enum_field_types type, void *buffer,
                 unsigned long *length)
{
    b->buffer_type = type;
    b->buffer = buffer;
    b->length = length;
}

static void prepare(struct rawmysql *raw, int which)
{
    const char *sql = prepared[raw->way][which];

    raw->statement[which] = mysql_stmt_init(raw->db);
    if (!raw->statement[which] ||
        mysql_stmt_prepare(raw->statement[which], sql, strlen(sql)) ||
        mysql_stmt_bind_param(raw->statement[which], raw->bind[which])) {
        bench_fail("%s: %s", sql, mysql_error(raw->db));
    }
}

static void prepare_all(struct rawmysql *raw)
{
    raw->lengths[0] = OWNER;
    raw->lengths[1] = strlen(raw->host);
    bind(&raw->bind[ACQUIRE][0], MYSQL_TYPE_BLOB, raw->owner, &raw->lengths[0]);
    bind(&raw->bind[ACQUIRE][1], MYSQL_TYPE_STRING, raw->host,
         &raw->lengths[1]);
    bind(&raw->bind[ACQUIRE][2], MYSQL_TYPE_LONGLONG, &raw->pid, NULL);
    bind(&raw->bind[ACQUIRE][3], MYSQL_TYPE_BLOB, raw->name, &raw->lengths[2]);
    bind(&raw->bind[RELEASE][0], MYSQL_TYPE_BLOB, raw->name, &raw->lengths[2]);
    bind(&raw->bind[RELEASE][1], MYSQL_TYPE_BLOB, raw->owner, &raw->lengths[0]);
    prepare(raw, ACQUIRE);
    prepare(raw, RELEASE);
}

struct rawmysql *rawmysql_open(const struct servermysql *mysql,
                               enum rawmysql_way way)
{
    struct rawmysql *raw = calloc(1, sizeof *raw);
    unsigned protocol = MYSQL_PROTOCOL_TCP;
    size_t i;

    if (!raw) {
        bench_fail("out of memory");
    }
    raw->db = mysql_init(NULL);
    raw->way = way;
    raw->pid = getpid();
    raw->owners = (uint64_t)(uintptr_t)raw;
    (void)snprintf(raw->host, sizeof raw->host, "localhost");
    (void)mysql_options(raw->db, MYSQL_OPT_PROTOCOL, &protocol);
    if (!mysql_real_connect(raw->db, "127.0.0.1", HF__MARIADB_USER,
                            HF__MARIADB_PASSWORD, servermysql_database(mysql),
                            (unsigned)servermysql_port(mysql), NULL, 0)) {
        bench_fail("%s", mysql_error(raw->db));
    }
    query(raw, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    for (i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        query(raw, tables[i]);
    }
    if (prepared[way][ACQUIRE]) {
        prepare_all(raw);
    }
    return raw;
}

void rawmysql_close(struct rawmysql *raw)
{
    int i;

    for (i = 0; i < COUNT; i++) {
        if (raw->statement[i]) {
            (void)mysql_stmt_close(raw->statement[i]);
        }
    }
    mysql_close(raw->db);
    free(raw);
}

/* How many rows it changed, and the fence; −1: the number of its error. */
static long run_prepared(struct rawmysql *raw, int which, unsigned *ret_error)
{
    MYSQL_STMT *statement = raw->statement[which];

    if (mysql_stmt_execute(statement)) {
        *ret_error = mysql_stmt_errno(statement);
        return -1;
    }
    return (long)mysql_stmt_affected_rows(statement);
}

static long run_text(struct rawmysql *raw, int which, unsigned *ret_error)
{
    static const char digits[] = "0123456789abcdef";
    char owner[2 * OWNER + 1] = "";
    char sql[1024];
    int length;
    int i;

    for (i = 0; i < OWNER; i++) {
        owner[2 * i] = digits[raw->owner[i] >> 4];
        owner[2 * i + 1] = digits[raw->owner[i] & 15];
    }
    /* A name of ours needs no quoting. */
    length = which == ACQUIRE
                 ? snprintf(sql, sizeof sql, TAKE_AS_TEXT, owner, (int)raw->pid,
                            raw->name)
                 : snprintf(sql, sizeof sql, FREE_AS_TEXT, raw->name, owner);
    if (mysql_real_query(raw->db, sql, (unsigned long)length)) {
        *ret_error = mysql_errno(raw->db);
        return -1;
    }
    return (long)mysql_affected_rows(raw->db);
}

/* True: it changed a row. */
static bool run(struct rawmysql *raw, int which)
{
    unsigned error = 0;
    long changed = raw->way == RAWMYSQL_TEXT ? run_text(raw, which, &error)
                                             : run_prepared(raw, which, &error);

    if (changed < 0 && error != ER_DUP_ENTRY && error != ER_LOCK_DEADLOCK &&
        error != ER_LOCK_WAIT_TIMEOUT && error != ER_CHECKREAD) {
        bench_fail("raw: error %u", error);
    }
    return changed == 1;
}

/* The first time a name is used it has no row. */
static void add_row(struct rawmysql *raw)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "INSERT IGNORE INTO raw_lock(name) VALUES('%s')", raw->name);
    query(raw, sql);
}

bool rawmysql_acquire(struct rawmysql *raw, const char *key)
{
    if (strcmp(raw->name, key) != 0) {
        (void)snprintf(raw->name, sizeof raw->name, "%s", key);
        raw->lengths[2] = strlen(raw->name);
        add_row(raw);
    }
    raw->owners++;
    memcpy(raw->owner, &raw->owners, sizeof raw->owners);
    return run(raw, ACQUIRE);
}

void rawmysql_release(struct rawmysql *raw, const char *key)
{
    (void)key;
    /* A row that stays held would be an error in every later round. */
    while (!run(raw, RELEASE)) {
    }
}

bool rawmysql_pair(struct rawmysql *raw, const char *key)
{
    if (!rawmysql_acquire(raw, key)) {
        return false;
    }
    rawmysql_release(raw, key);
    return true;
}
