/* SPDX-License-Identifier: MIT */
/*
 * check(): is this server fit for locks, and how good is it? Each condition
 * that a promise depends on is one item. An ordinary user may ask all of this;
 * items that the user is not allowed to see are reported as such. Called by the
 * session's thread.
 */
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/galera.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql/schema.h"
#include "src/backend/mysql/settings.h"
#include "src/backend/report.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct checking {
    struct hf__report *to;
    struct hf__mysql *s;
    const struct hf__schema *schema; /* NULL: no tables are used */
    struct hf__mysql_variables variables;
};

/* Report HF_FINE, or HF_WARN with the remedy. */
static void tell_if(struct checking *c, const char *name, const char *value,
                    bool is_fine, const char *remedy)
{
    hf__report_tell(c->to, name, value, is_fine ? HF_FINE : HF_WARN, remedy);
}

static bool is(const struct checking *c, enum hf__variable variable,
               const char *value)
{
    return hf__variable_is(&c->variables, variable, value);
}

/* ---- asking */

/* Ask one statement for one row; NULL if the server refuses it or has none. */
static int ask(struct checking *c, const char *sql, MYSQL_ROW *ret_row)
{
    int r;

    *ret_row = NULL;
    hf__text_clear(&c->s->sql);
    hf__text_add(&c->s->sql, sql);
    r = hf__wire_run(c->s);
    if (r == HF_OK && c->s->reply.error == 0) {
        *ret_row = hf__wire_row(c->s);
    }
    return r;
}

/* ---- who we are, and our privileges */

/* The privileges needed on each table. EXPLAIN checks them and changes
 * nothing. */
static const struct {
    const char *privilege;
    const char *sql; /* goes before the table's name; rest goes after it */
    const char *rest;
} rights[] = {
    {"SELECT", "EXPLAIN SELECT 1 FROM ", ""},
    {"INSERT", "EXPLAIN INSERT INTO ", "(name_key) VALUES('')"},
    {"UPDATE", "EXPLAIN UPDATE ", " SET label='' WHERE name_key=''"},
    {"DELETE", "EXPLAIN DELETE FROM ", " WHERE name_key=''"},
};

static int probe_rights(struct checking *c, const char *table, char *missing,
                        size_t size)
{
    int r = HF_OK;

    for (size_t i = 0; i < sizeof rights / sizeof *rights && r == HF_OK; i++) {
        size_t used = strlen(missing);
        struct hf__text *t = &c->s->sql;

        hf__text_clear(t);
        hf__text_addf(t, "%s%s%s", rights[i].sql, table, rights[i].rest);
        r = hf__wire_run(c->s);
        if (r == HF_OK && c->s->reply.error != 0 &&
            hf__mysql_fail(c->s, NULL) == HF_EAUTH) {
            (void)snprintf(missing + used, size - used, "%s%s on %s",
                           used == 0 ? "no " : ", ", rights[i].privilege,
                           table);
        }
    }
    return r;
}

static int check_rights(struct checking *c)
{
    char missing[512] = "";
    int r = HF_OK;

    for (int i = 0; i < c->schema->n && r == HF_OK; i++) {
        r = probe_rights(c, c->schema->tables[i].name, missing, sizeof missing);
    }
    hf__report_tell(
        c->to, "privileges",
        missing[0] == '\0' ? "SELECT, INSERT, UPDATE, DELETE" : missing,
        missing[0] == '\0' ? HF_FINE : HF_UNFIT,
        "have an administrator grant SELECT, INSERT, UPDATE, DELETE on the "
        "holdfast_ tables to this user");
    return r;
}

/* May this user make the tables, if they get lost? Roles are not considered. */
#define MAY_CREATE                                                             \
    "(SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE "          \
    "PRIVILEGE_TYPE='CREATE')+(SELECT COUNT(*) FROM "                          \
    "information_schema.SCHEMA_PRIVILEGES WHERE PRIVILEGE_TYPE='CREATE' AND "  \
    "DATABASE() LIKE TABLE_SCHEMA)"

/* Is the server on this host, so that nobody can be in the middle? */
static bool is_here(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage room;
    } peer = {.room = {0}};
    socklen_t size = sizeof peer;

    if (getpeername(fd, &peer.any, &size) != 0) {
        return false;
    }
    return peer.any.sa_family == AF_UNIX ||
           (peer.any.sa_family == AF_INET &&
            ntohl(peer.in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) ||
           (peer.any.sa_family == AF_INET6 &&
            IN6_IS_ADDR_LOOPBACK(&peer.in6.sin6_addr));
}

static void check_tls(struct checking *c)
{
    const char *cipher = mysql_get_ssl_cipher(c->s->wire.handle);
    bool is_verified = c->s->server.is_verified;
    char value[96];

    (void)snprintf(value, sizeof value, "%.64s%s",
                   cipher == NULL ? "none" : cipher,
                   cipher == NULL || is_verified ? "" : ", not verified");
    tell_if(c, "tls", value, is_here(c->s->wire.fd) || is_verified,
            "name the authority of the server's certificate (ca=): without it "
            "whoever is in the middle can pose as the server");
}

static int check_us(struct checking *c)
{
    MYSQL_ROW row;
    int r = ask(c, "SELECT CURRENT_USER(),DATABASE()," MAY_CREATE, &row);

    if (r != HF_OK) {
        return r;
    }
    if (row != NULL) {
        hf__report_tell(c->to, "user", row[0] == NULL ? "" : row[0], HF_FINE,
                        NULL);
    }
    if (row != NULL && c->schema != NULL) {
        hf__report_tell(c->to, "database", row[1] == NULL ? "" : row[1],
                        HF_FINE, NULL);
        hf__report_tell(c->to, "create",
                        hf__column_u64(row[2]) > 0
                            ? "may make the tables"
                            : "none seen, and the tables are there",
                        HF_FINE, NULL);
    }
    check_tls(c);
    return HF_OK;
}

/* ---- the server */

static void check_writable(struct checking *c)
{
    bool is_off = is(c, HF__READ_ONLY, "OFF") || is(c, HF__READ_ONLY, "0");

    hf__report_tell(c->to, "read_only", c->variables.of[HF__READ_ONLY],
                    is_off ? HF_FINE : HF_UNFIT,
                    "name the primary: a lock on a replica protects nothing");
}

static void check_durability(struct checking *c)
{
    const char *binlog =
        is(c, HF__LOG_BIN, "ON") ? c->variables.of[HF__SYNC_BINLOG] : "off";

    tell_if(c, "innodb_flush_log_at_trx_commit", c->variables.of[HF__FLUSH],
            is(c, HF__FLUSH, "1") || is(c, HF__FLUSH, "3"),
            is(c, HF__FLUSH, "0")
                ? "set it to 1: a crash of the server forgets grants of its "
                  "last second"
                : "set it to 1: a power failure forgets grants of its last "
                  "second");
    tell_if(c, "sync_binlog", binlog,
            strcmp(binlog, "1") == 0 || strcmp(binlog, "off") == 0,
            "set it to 1: after a power failure replicas may lack grants");
    tell_if(c, "innodb_doublewrite", c->variables.of[HF__DOUBLEWRITE],
            !is(c, HF__DOUBLEWRITE, "OFF") && !is(c, HF__DOUBLEWRITE, "0"),
            "set it to ON: a power failure may tear a page");
    hf__report_tell(
        c->to, "binlog_format",
        is(c, HF__LOG_BIN, "ON") ? c->variables.of[HF__BINLOG_FORMAT] : "off",
        HF_FINE, NULL);
    hf__report_tell(c->to, "isolation",
                    c->variables.of[is(c, HF__ISOLATION, "") ? HF__ISOLATION_OLD
                                                             : HF__ISOLATION],
                    HF_FINE, NULL);
}

/* The replicas that copy from this server. An ordinary user may not see whether
 * it is itself a replica; such a server is read-only if it is set up well. */
static void check_replicas(struct checking *c)
{
    bool is_waited_for = hf__variables_have_semi_sync(&c->variables);
    uint64_t count = hf__column_u64(c->variables.of[HF__REPLICAS]);
    char value[96];

    if (is(c, HF__REPLICAS, "")) {
        (void)snprintf(value, sizeof value, "can't be seen");
    } else {
        (void)snprintf(value, sizeof value, "%" PRIu64 " connected", count);
    }
    tell_if(c, "replicas", value, count == 0 || is_waited_for,
            "grade C: after a failover to one of them grants may be "
            "forgotten; let the server wait for them (semi-synchronous)");
    hf__report_tell(c->to, "semi_sync", is_waited_for ? "on" : "off", HF_FINE,
                    NULL);
}

static int check_replica(struct checking *c)
{
    MYSQL_ROW row;
    int r = ask(c, "SHOW SLAVE STATUS", &row);
    bool is_seen = r == HF_OK && c->s->reply.error == 0;

    hf__report_tell(
        c->to, "replica",
        row != NULL ? "of another server"
        : is_seen   ? "no"
                    : "can't be seen by this user",
        row != NULL && !c->s->pair.is_on ? HF_WARN : HF_FINE,
        "lock on the primary: what is granted here is not known there");
    return r;
}

static void check_connections(struct checking *c)
{
    uint64_t used = hf__column_u64(c->variables.of[HF__CONNECTED]);
    uint64_t most = hf__column_u64(c->variables.of[HF__MAX_CONNECTIONS]);
    char value[96];

    (void)snprintf(value, sizeof value, "%" PRIu64 " of %" PRIu64, used, most);
    tell_if(c, "connections", value, used < most - most / 10,
            "raise max_connections: a waiter costs one or two");
}

/* ---- clocks, proxies, waiting */

static int check_clock(struct checking *c)
{
    MYSQL_ROW row;
    int64_t before = hf__wall_us();
    int r = ask(c, "SELECT " HF__SQL_NOW ",CONNECTION_ID()", &row);
    int64_t after = hf__wall_us();
    char value[96];

    if (r != HF_OK || row == NULL) {
        return r;
    }
    (void)snprintf(value, sizeof value, "%+" PRId64 " ms (± %" PRId64 ")",
                   (hf__column_i64(row[0]) - (before / 2 + after / 2)) / 1000,
                   (after - before) / 2000 + 1);
    /* Only the server's clock judges leases, so a difference does no harm. */
    hf__report_tell(c->to, "clock_ahead_of_ours", value, HF_FINE, NULL);
    tell_if(c, "connection",
            c->s->server.connection_id == hf__column_u64(row[1])
                ? "the server's own"
                : "changes from statement to statement",
            c->s->server.connection_id == hf__column_u64(row[1]),
            "a proxy shares connections: name the server itself");
    return HF_OK;
}

static void check_waiting(const struct hf__server *server,
                          struct hf__report *to)
{
    hf__report_tell(to, "waiting",
                    server->has_wake_locks ? "woken by user locks"
                    : server->is_galera
                        ? "by polling: a node's user locks are its own"
                        : "by polling: a session can't hold two user "
                          "locks that others see",
                    HF_FINE, NULL);
    hf__report_tell(to, "row_lock_wait",
                    server->has_zero_wait ? "none" : "up to a second", HF_FINE,
                    NULL);
    hf__report_tell(to, "worst_takeover",
                    server->has_wake_locks
                        ? "what is left of the lease, and half a second"
                        : "what is left of the lease, and a poll",
                    HF_FINE, NULL);
}

int hf__mysql_check_server(struct hf__mysql *s, const struct hf__schema *schema,
                           struct hf__report *to)
{
    struct checking checking = {.to = to, .s = s, .schema = schema};
    struct checking *c = &checking;
    int r = hf__mysql_ask_variables(s, &checking.variables);

    if (r != HF_OK) {
        return r;
    }
    hf__report_tell(to, "version", c->variables.of[HF__VERSION], HF_FINE, NULL);
    r = check_us(c);
    r = r == HF_OK && schema != NULL ? check_rights(c) : r;
    if (r != HF_OK) {
        return r;
    }
    check_writable(c);
    if (schema != NULL) {
        check_durability(c);
    }
    r = hf__galera_check(s, to);
    r = r == HF_OK ? hf__primary_check(s, to) : r;
    check_replicas(c);
    r = r == HF_OK ? check_replica(c) : r;
    check_connections(c);
    return r == HF_OK ? check_clock(c) : r;
}

int hf__mysql_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err)
{
    struct hf__mysql *s = state;
    struct hf__report to = {.fn = fn, .arg = arg};
    int r;

    hf__table_begin(&s->t, deadline, err);
    r = hf__mysql_check_server(s, &hf__mysql_tables, &to);
    if (r == HF_OK) {
        check_waiting(&s->server, &to);
    }
    return r;
}
