/* SPDX-License-Identifier: MIT */
/*
 * Setting up a session and finding out about its server, in two round trips. If
 * a probe fails, only the feature that it looked for is not used. Called by the
 * session's thread when it opens.
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

/* Bytes that fit the longest statement on one name, for any name and owner. */
#define PACKET_LEAST 16384

#define NAME(variable, name) name,
static const char *const names[HF__N_VARIABLES] = {HF__VARIABLES(NAME)};

/* ---- the server's variables */

bool hf__variable_is(const struct hf__mysql_variables *server_info,
                     enum hf__variable variable, const char *value)
{
    return strcasecmp(server_info->of[variable], value) == 0;
}

bool hf__variables_have_semi_sync(const struct hf__mysql_variables *server_info)
{
    return hf__variable_is(server_info, HF__SEMI_SYNC, "ON") ||
           hf__variable_is(server_info, HF__SEMI_SYNC_NEW, "ON");
}

static void add_variables(struct hf__text *t)
{
    for (int i = 0; i < HF__HAS_PAIR; i++) {
        hf__text_addf(t, "%s'%s'",
                      i == 0 ? "SHOW SESSION VARIABLES WHERE Variable_name IN("
                      : i == HF__REPLICAS
                          ? ");SHOW GLOBAL STATUS WHERE Variable_name IN("
                          : ",",
                      names[i]);
    }
    hf__text_add(t, ");SELECT 'holdfast_server',COUNT(*) FROM "
                    "information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() "
                    "AND TABLE_NAME='holdfast_server'");
}

static void note_variables(struct hf__mysql *s,
                           struct hf__mysql_variables *server_info)
{
    MYSQL_ROW row;

    while ((row = hf__wire_row(s)) != NULL) {
        for (int i = 0; i < HF__N_VARIABLES; i++) {
            if (row[1] != NULL && strcasecmp(row[0], names[i]) == 0) {
                (void)snprintf(server_info->of[i], sizeof server_info->of[i],
                               "%s", row[1]);
            }
        }
    }
}

/* Read the variables from the current reply and those after it. */
static int take_variables(struct hf__mysql *s,
                          struct hf__mysql_variables *server_info)
{
    int r = HF_OK;

    while (r == HF_OK && s->reply.error == 0) {
        note_variables(s, server_info);
        if (s->reply.is_last) {
            return HF_OK;
        }
        r = hf__wire_next(s);
    }
    return r == HF_OK ? hf__mysql_fail(s, s->t.err) : r;
}

int hf__mysql_ask_variables(struct hf__mysql *s,
                            struct hf__mysql_variables *ret_variables)
{
    int r;

    *ret_variables = (struct hf__mysql_variables){0};
    hf__text_clear(&s->sql);
    add_variables(&s->sql);
    r = hf__wire_send(s);
    return r == HF_OK ? take_variables(s, ret_variables) : r;
}

/* ---- the session's settings */

/* Set the session's variables, and take two user locks as a probe. */
static int set(struct hf__mysql *s, uint64_t probe)
{
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql,
                 "SET SESSION sql_mode='';" /* else SET refuses values that are
                                               too low */
                 "SET NAMES utf8mb4;SET SESSION autocommit=1,"
                 "sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
                 "innodb_lock_wait_timeout=0,lock_wait_timeout=1,"
                 "wait_timeout=28800;"
                 "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;");
    /* Take two locks at once. The next packet checks that both are ours: on
     * some servers the second releases the first. */
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
        s->server.has_wake_locks = row[2] != NULL && row[3] != NULL &&
                                   *row[2] == '1' && *row[3] == '1';
    }
}

static void read_second_probe(struct hf__mysql *s, uint64_t probe)
{
    MYSQL_ROW row = hf__wire_row(s);

    if (row != NULL) {
        bool is_same = strtoull(row[0], NULL, 10) == s->server.connection_id;
        bool has_first = row[1] != NULL && strcmp(row[1], row[0]) == 0;
        bool has_last = row[2] != NULL && strcmp(row[2], row[0]) == 0;

        s->server.mark = is_same && has_last ? probe : 0;
        s->server.has_wake_locks &= is_same && has_first && has_last;
    }
}

/* Is it still the same connection, and does it hold both locks? The second lock
 * is kept as the session's mark: see mysql.c. */
static int look(struct hf__mysql *s, uint64_t probe,
                struct hf__mysql_variables *server_info)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "SELECT CONNECTION_ID(),IS_USED_LOCK('hp.%016llxa'),"
                  "IS_USED_LOCK('hp.%016llxb'),RELEASE_LOCK('hp.%016llxa');",
                  (unsigned long long)probe, (unsigned long long)probe,
                  (unsigned long long)probe);
    add_variables(&s->sql);
    r = hf__wire_send(s);
    if (r == HF_OK && s->reply.error == 0) {
        read_second_probe(s, probe);
    }
    return r == HF_OK ? take_variables(s, server_info) : r;
}

/* Do replicas get our statements, instead of the rows that they changed? */
static bool logs_statements(const struct hf__mysql_variables *server_info)
{
    return hf__variable_is(server_info, HF__LOG_BIN, "ON") &&
           hf__variable_is(server_info, HF__BINLOG_FORMAT, "STATEMENT");
}

/* The log of statements can't express READ COMMITTED: error 1665. */
static int set_isolation(struct hf__mysql *s,
                         const struct hf__mysql_variables *server_info)
{
    if (!logs_statements(server_info)) {
        return HF_OK;
    }
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql,
                 "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    return hf__mysql_run(s);
}

static int verify(struct hf__mysql *s,
                  const struct hf__mysql_variables *server_info)
{
    if (!hf__variable_is(server_info, HF__AUTOCOMMIT, "ON") ||
        strstr(server_info->of[HF__SQL_MODE], "STRICT_ALL_TABLES") == NULL) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "the session's autocommit and sql_mode can't be set: "
                        "connect to the server itself, not through a proxy "
                        "that changes them");
    }
    s->server.packet_max = strtoull(server_info->of[HF__PACKET], NULL, 10);
    if (s->server.packet_max < PACKET_LEAST) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "the server takes statements of %s bytes only: raise "
                        "max_allowed_packet to %d at least",
                        server_info->of[HF__PACKET], PACKET_LEAST);
    }
    return HF_OK;
}

/* A server that takes no writes is a replica, or was a primary; another host
 * may be the primary. */
static int check_writable(struct hf__mysql *s,
                          const struct hf__mysql_variables *server_info,
                          const char *allow)
{
    bool is_writable =
        (hf__variable_is(server_info, HF__READ_ONLY, "OFF") ||
         hf__variable_is(server_info, HF__READ_ONLY, "0")) &&
        !hf__variable_is(server_info, HF__INNODB_READ_ONLY, "ON");

    return is_writable || hf__is_allowed(allow, "replica")
               ? HF_OK
               : hf__fail(s->t.err, HF_EUNAVAIL,
                          "the server is read-only: a replica, or no primary "
                          "any more; name the primary");
}

/* The grade as in holdfast.h. D: the server does not write its log at each
 * commit. C: a failover forgets grants for which no replica was waited, and so
 * may nodes of Galera that crash together. */
static char grade_of(const struct hf__mysql *s,
                     const struct hf__mysql_variables *server_info)
{
    bool has_replicas = strtoull(server_info->of[HF__REPLICAS], NULL, 10) > 0;

    if (hf__variable_is(server_info, HF__FLUSH, "0")) {
        return 'D';
    }
    return s->server.is_galera ||
                   (has_replicas && !hf__variables_have_semi_sync(server_info))
               ? 'C'
               : 'B';
}

/* Two different servers differ in at least one of these. */
static uint64_t server_id_of(const struct hf__mysql_variables *server_info)
{
    char text[4 * sizeof server_info->of[0]];
    int length = snprintf(
        text, sizeof text, "%s %s %s %s", server_info->of[HF__HOSTNAME],
        server_info->of[HF__PORT], server_info->of[HF__DATADIR],
        server_info->of[HF__SERVER_UUID]);

    return hf__hash(text, (size_t)length);
}

int hf__mysql_settings_apply(struct hf__mysql *s, const char *allow)
{
    struct hf__mysql_variables server_info = {0};
    uint64_t probe;
    int r;

    hf__random(&probe, sizeof probe);
    r = set(s, probe);
    if (r != HF_OK) {
        return r;
    }
    read_probe(s);
    r = look(s, probe, &server_info);
    if (r == HF_OK) {
        r = set_isolation(s, &server_info);
    }
    if (r == HF_OK) {
        r = verify(s, &server_info);
    }
    r = r == HF_OK ? check_writable(s, &server_info, allow) : r;
    memcpy(s->server.version, server_info.of[HF__VERSION],
           sizeof s->server.version);
    s->lock_wait_s = -1;
    s->server.server_id = server_id_of(&server_info);
    s->server.has_pair_table = hf__variable_is(&server_info, HF__HAS_PAIR, "1");
    s->server.uptime_s = strtoll(server_info.of[HF__UPTIME], NULL, 10);
    s->server.is_galera = hf__variable_is(&server_info, HF__WSREP_ON, "ON");
    s->server.has_wake_locks = s->server.has_wake_locks && !s->server.is_galera;
    s->server.logs_statements = logs_statements(&server_info);
    s->server.has_inner_wake_locks =
        s->server.has_wake_locks && !s->server.logs_statements;
    s->t.head.server_info.grade = grade_of(s, &server_info);
    s->t.head.server_info.reach = HF_REACH_HOSTS;
    return r;
}
