/* SPDX-License-Identifier: MIT */
/*
 * Setting up a session and looking at its server: two round trips. A probe
 * that fails only takes away what it asked for. Called by the session's thread
 * when it opens.
 */
#include "src/backend/mysql/settings.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/map.h"
#include "src/base/rand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest statement on one name fits, whatever its name and owner. */
#define PACKET_LEAST 16384

/* What a variable says. */
struct variable {
    const char *name;
    char value[64];
};

enum {
    VERSION,
    LOG_BIN,
    BINLOG_FORMAT,
    WSREP_ON,
    FLUSH,
    AUTOCOMMIT,
    SQL_MODE,
    LOCK_WAIT,
    HOSTNAME,
    PORT,
    DATADIR,
    SERVER_UUID,
    READ_ONLY,
    INNODB_READ_ONLY,
    PACKET,
    FIRST_STATUS, /* the server's; those above are the session's */
    REPLICAS = FIRST_STATUS,
    SEMI_SYNC,
    SEMI_SYNC_NEW,
    UPTIME,
    FIRST_OTHER, /* what is asked by itself */
    HAS_PAIR_TABLE = FIRST_OTHER,
    N_VARIABLES
};

static bool is(const struct variable *v, const char *value)
{
    return strcasecmp(v->value, value) == 0;
}

static void read_variables(struct hf__mysql *s, struct variable *list)
{
    MYSQL_ROW row;

    while ((row = hf__wire_row(s)) != NULL) {
        for (int i = 0; i < N_VARIABLES; i++) {
            if (strcasecmp(row[0], list[i].name) == 0 && row[1] != NULL) {
                (void)snprintf(list[i].value, sizeof list[i].value, "%s",
                               row[1]);
            }
        }
    }
}

static int refuse(struct hf__mysql *s)
{
    return hf__mysql_fail(s, s->t.err);
}

/* The session's own rules. */
static int set(struct hf__mysql *s, uint64_t probe)
{
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql,
                 "SET SESSION sql_mode='';" /* or what is too low is refused */
                 "SET NAMES utf8mb4;SET SESSION autocommit=1,"
                 "sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
                 "innodb_lock_wait_timeout=0,lock_wait_timeout=1,"
                 "wait_timeout=28800;"
                 "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;");
    /* Two at once, and seen as ours: one alone may have freed the other. */
    hf__text_addf(&s->sql,
                  "SELECT CONNECTION_ID(),@@innodb_lock_wait_timeout,"
                  "GET_LOCK('hp.%016llxa',0),GET_LOCK('hp.%016llxb',0)",
                  (unsigned long long)probe, (unsigned long long)probe);
    return hf__mysql_run(s);
}

static void read_probe(struct hf__mysql *s)
{
    MYSQL_ROW row = hf__wire_row(s);

    if (row != NULL && row[0] != NULL) {
        s->server.connection_id = strtoull(row[0], NULL, 10);
        s->server.has_zero_wait = row[1] != NULL && *row[1] == '0';
        s->server.has_bells = row[2] != NULL && row[3] != NULL &&
                              *row[2] == '1' && *row[3] == '1';
    }
}

static void read_second_probe(struct hf__mysql *s, uint64_t probe)
{
    MYSQL_ROW row = hf__wire_row(s);

    if (row != NULL) {
        bool is_same = strtoull(row[0], NULL, 10) == s->server.connection_id;
        bool has_both = row[1] != NULL && row[2] != NULL &&
                        strcmp(row[1], row[0]) == 0 &&
                        strcmp(row[2], row[0]) == 0;

        bool has_last = row[2] != NULL && strcmp(row[2], row[0]) == 0;

        s->server.mark = is_same && has_last ? probe : 0;
        s->server.has_bells = s->server.has_bells && is_same && has_both;
    }
}

/* Is it still the same connection, and does it hold both locks? The second is
 * kept: see ghost.c. */
static int look(struct hf__mysql *s, uint64_t probe, struct variable *list)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "SELECT CONNECTION_ID(),IS_USED_LOCK('hp.%016llxa'),"
                  "IS_USED_LOCK('hp.%016llxb'),RELEASE_LOCK('hp.%016llxa');"
                  "SHOW SESSION VARIABLES WHERE Variable_name IN(",
                  (unsigned long long)probe, (unsigned long long)probe,
                  (unsigned long long)probe);
    for (int i = 0; i < FIRST_STATUS; i++) {
        hf__text_addf(&s->sql, "%s'%s'", i == 0 ? "" : ",", list[i].name);
    }
    hf__text_add(&s->sql, ");SHOW GLOBAL STATUS WHERE Variable_name IN(");
    for (int i = FIRST_STATUS; i < FIRST_OTHER; i++) {
        hf__text_addf(&s->sql, "%s'%s'", i == FIRST_STATUS ? "" : ",",
                      list[i].name);
    }
    hf__text_addf(&s->sql,
                  ");SELECT '%s',COUNT(*) FROM information_schema.TABLES WHERE "
                  "TABLE_SCHEMA=DATABASE() AND TABLE_NAME='%s'",
                  list[HAS_PAIR_TABLE].name, list[HAS_PAIR_TABLE].name);
    r = hf__wire_send(s);
    if (r != HF_OK || s->reply.error != 0) {
        return r != HF_OK ? r : refuse(s);
    }
    read_second_probe(s, probe);
    while (r == HF_OK && s->reply.error == 0 && !s->reply.is_last) {
        r = hf__wire_next(s);
        if (r == HF_OK && s->reply.error == 0) {
            read_variables(s, list);
        }
    }
    return r == HF_OK && s->reply.error != 0 ? refuse(s) : r;
}

/* Do replicas get our statements, rather than what they changed? */
static bool logs_statements(const struct variable *list)
{
    return is(&list[LOG_BIN], "ON") && is(&list[BINLOG_FORMAT], "STATEMENT");
}

/* Statements in the log can't say what READ COMMITTED did: error 1665. */
static int set_isolation(struct hf__mysql *s, const struct variable *list)
{
    if (!logs_statements(list)) {
        return HF_OK;
    }
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql,
                 "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    return hf__mysql_run(s);
}

static int verify(struct hf__mysql *s, const struct variable *list)
{
    if (!is(&list[AUTOCOMMIT], "ON") ||
        strstr(list[SQL_MODE].value, "STRICT_ALL_TABLES") == NULL) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "the session's autocommit and sql_mode can't be set: "
                        "connect to the server itself, not through a proxy "
                        "that changes them");
    }
    s->server.packet_max = strtoull(list[PACKET].value, NULL, 10);
    if (s->server.packet_max < PACKET_LEAST) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "the server takes statements of %s bytes only: raise "
                        "max_allowed_packet to %d at least",
                        list[PACKET].value, PACKET_LEAST);
    }
    return HF_OK;
}

/* A server that takes no writes is a replica, or was a primary: others may be
 * there that can be asked. */
static int check_writable(struct hf__mysql *s, const struct variable *list,
                          const char *allow)
{
    bool is_writable =
        (is(&list[READ_ONLY], "OFF") || is(&list[READ_ONLY], "0")) &&
        !is(&list[INNODB_READ_ONLY], "ON");

    return is_writable || hf__is_allowed(allow, "replica")
               ? HF_OK
               : hf__fail(s->t.err, HF_EUNAVAIL,
                          "the server is read-only: a replica, or no primary "
                          "any more; name the primary");
}

/* DESIGN.md §1.8. What a replica was not waited for, a failover forgets. */
static char grade_of(const struct hf__mysql *s, const struct variable *list)
{
    bool has_replicas = strtoull(list[REPLICAS].value, NULL, 10) > 0;
    bool is_waited_for =
        is(&list[SEMI_SYNC], "ON") || is(&list[SEMI_SYNC_NEW], "ON");

    if (is(&list[FLUSH], "0")) {
        return 'D';
    }
    return s->server.is_galera || (has_replicas && !is_waited_for) ? 'C' : 'B';
}

/* Two servers that are not one differ in something of it. */
static uint64_t place_of(const struct variable *list)
{
    char text[4 * sizeof list[0].value];
    int length = snprintf(text, sizeof text, "%s %s %s %s",
                          list[HOSTNAME].value, list[PORT].value,
                          list[DATADIR].value, list[SERVER_UUID].value);

    return hf__hash(text, (size_t)length);
}

int hf__mysql_settings_apply(struct hf__mysql *s, const char *allow)
{
    struct variable list[N_VARIABLES] = {
        [VERSION] = {.name = "version"},
        [LOG_BIN] = {.name = "log_bin"},
        [BINLOG_FORMAT] = {.name = "binlog_format"},
        [WSREP_ON] = {.name = "wsrep_on"},
        [FLUSH] = {.name = "innodb_flush_log_at_trx_commit"},
        [AUTOCOMMIT] = {.name = "autocommit"},
        [SQL_MODE] = {.name = "sql_mode"},
        [LOCK_WAIT] = {.name = "innodb_lock_wait_timeout"},
        [HOSTNAME] = {.name = "hostname"},
        [PORT] = {.name = "port"},
        [DATADIR] = {.name = "datadir"},
        [SERVER_UUID] = {.name = "server_uuid"},
        [READ_ONLY] = {.name = "read_only"},
        [INNODB_READ_ONLY] = {.name = "innodb_read_only"},
        [PACKET] = {.name = "max_allowed_packet"},
        [REPLICAS] = {.name = "Slaves_connected"},
        [SEMI_SYNC] = {.name = "Rpl_semi_sync_master_status"},
        [SEMI_SYNC_NEW] = {.name = "Rpl_semi_sync_source_status"},
        [UPTIME] = {.name = "Uptime"},
        [HAS_PAIR_TABLE] = {.name = "holdfast_server"},
    };
    uint64_t probe;
    int r;

    hf__random(&probe, sizeof probe);
    r = set(s, probe);
    if (r != HF_OK) {
        return r;
    }
    read_probe(s);
    r = look(s, probe, list);
    if (r == HF_OK) {
        r = set_isolation(s, list);
    }
    if (r == HF_OK) {
        r = verify(s, list);
    }
    r = r == HF_OK ? check_writable(s, list, allow) : r;
    memcpy(s->server.version, list[VERSION].value, sizeof s->server.version);
    s->lock_wait_s = -1;
    s->server.place = place_of(list);
    s->server.has_pair_table = is(&list[HAS_PAIR_TABLE], "1");
    s->server.uptime_s = strtoll(list[UPTIME].value, NULL, 10);
    s->server.is_galera = is(&list[WSREP_ON], "ON");
    s->server.has_bells = s->server.has_bells && !s->server.is_galera;
    s->server.logs_statements = logs_statements(list);
    s->server.has_inner_bells =
        s->server.has_bells && !s->server.logs_statements;
    s->t.head.facts.grade = grade_of(s, list);
    s->t.head.facts.reach = HF_REACH_HOSTS;
    return r;
}
