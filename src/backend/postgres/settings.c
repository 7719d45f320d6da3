/* SPDX-License-Identifier: MIT */
/*
 * Sets up a session and looks at its server: one round trip, and one more if
 * the URL names no schema. The settings are one statement, which wire.c sends
 * before the first group, and again where they may be lost. Names in it are
 * qualified, as the search_path at that time is unknown. Called by the
 * session's thread when it opens.
 */
#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/target.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/map.h"

#include <stdio.h>
#include <string.h>

/* Sets those of the settings that the server has. search_path finds only the
 * server's own functions and operators: a user who may make some beside the
 * tables could else run code as our user. Plans use index and nested loop only,
 * so that rows are locked in the order of their keys. The server notices a lost
 * client while a statement waits, where its system can. */
static const char settings[] =
    "SELECT pg_catalog.count(pg_catalog.set_config(v.n,v.v,$1)) FROM(VALUES"
    "('search_path','pg_catalog, pg_temp'),"
    "('client_connection_check_interval',CASE WHEN pg_catalog.textregexeq("
    "pg_catalog.version(),'linux') THEN '500' ELSE '0' END),"
    "('default_transaction_isolation','read committed'),"
    "('default_transaction_read_only','off'),('synchronous_commit','on'),"
    "('statement_timeout','5000'),('lock_timeout','250'),"
    "('idle_in_transaction_session_timeout','0'),('idle_session_timeout','0'),"
    "('transaction_timeout','0'),('tcp_keepalives_idle','15'),"
    "('tcp_keepalives_interval','5'),('tcp_keepalives_count','3'),"
    "('jit','off'),('quote_all_identifiers','off'),('plan_cache_mode','force_"
    "generic_plan'),"
    "('enable_hashjoin','off'),('enable_mergejoin','off'),"
    "('enable_seqscan','off'),('enable_bitmapscan','off'),"
    "('enable_nestloop','on'),('enable_indexscan','on'))v(n,v)"
    "WHERE pg_catalog.current_setting(v.n,true) IS NOT NULL";

/* The value that resets search_path counts, not what others have set on a
 * shared connection. */
static const struct hf__pg_statement ask_schema = {
    0, "SELECT CASE WHEN pg_catalog.set_config('search_path',(SELECT reset_val "
       "FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=)"
       "'search_path'),true)IS NOT NULL THEN pg_catalog.current_schema() END"};

enum {
    PID,
    IS_STANDBY,
    STARTED,
    SYSTEM,
    TIMELINE,
    IS_DURABLE,
    IS_COMMITTED, /* a commit waits for the disk */
    IS_WAITED_FOR,
    HAS_STANDBYS,
    HAS_SCHEMA,
    DATABASE
};

/* A standby gives the timeline of its last checkpoint; it may be on a higher
 * one. */
static const struct hf__pg_statement look = {
    0, "SELECT pg_backend_pid(),pg_is_in_recovery(),"
       "(extract(epoch FROM pg_postmaster_start_time())*1000000)::bigint,"
       "(SELECT system_identifier FROM pg_control_system()),"
       "CASE WHEN pg_is_in_recovery() "
       "THEN (SELECT timeline_id FROM pg_control_checkpoint())::bigint "
       "ELSE ('x'||left(pg_walfile_name(pg_current_wal_insert_lsn()),8))"
       "::bit(32)::bigint END,"
       "current_setting('fsync')='on' AND "
       "current_setting('full_page_writes')='on',"
       "current_setting('synchronous_commit')='on',"
       "current_setting('synchronous_standby_names')<>'',"
       "EXISTS(SELECT FROM pg_stat_replication),"
       "EXISTS(SELECT FROM pg_namespace WHERE nspname=$1),current_database()"};

/* ---- the schema */

/* said: the schema in the URL, or NULL. (libpq ends a name by a NUL.) */
static int take_schema(struct hf__pg *s, const char *said)
{
    const char *name = said;
    size_t length;
    int r;

    if (said == NULL) {
        s->wire.settings = NULL;
        hf__pg_begin_packet(s);
        hf__pg_ask(s, &ask_schema);
        r = hf__pg_run_well(s);
        if (r != HF_OK) {
            return r;
        }
        name = hf__pg_bytes(s, 0, 0, &length);
    }
    if (name[0] != '\0' && strlen(name) < HF__PG_NAME &&
        strncmp(name, "pg_", 3) != 0) {
        (void)snprintf(s->wire.schema, sizeof s->wire.schema, "%s", name);
        return HF_OK;
    }
    return said == NULL
               ? hf__fail(s->t.err, HF_EINVAL,
                          "the user's search_path begins with no schema that "
                          "can have the tables: name one, schema=NAME")
               : hf__fail(s->t.err, HF_EINVAL,
                          "schema: \"%s\" is no name of 1 to %d bytes that "
                          "does not begin with pg_",
                          said, HF__PG_NAME - 1);
}

/* ---- the server */

static bool is(const struct hf__pg *s, int column)
{
    return hf__pg_i64(s, 0, column) != 0;
}

/* A hash that differs between two servers, and after a restart or a
 * promotion. */
static uint64_t server_id_of(const struct hf__pg *s)
{
    char text[64];
    int length = snprintf(
        text, sizeof text, "%llx %x %llx", (unsigned long long)s->server.system,
        s->server.timeline, (unsigned long long)s->server.started_us);

    return hf__hash(text, (size_t)length);
}

static uint64_t schema_of(const struct hf__pg *s)
{
    char text[2 * HF__PG_NAME];
    size_t length;
    const char *database = hf__pg_bytes(s, 0, DATABASE, &length);
    int n = snprintf(text, sizeof text, "%.*s/%s", (int)length, database,
                     s->wire.schema);

    return hf__hash(text, (size_t)n);
}

/* Commits that wait for no standby may be lost at a failover: grade C. */
static char grade_of(const struct hf__pg *s)
{
    if (!is(s, IS_DURABLE)) {
        return 'D';
    }
    return is(s, HAS_STANDBYS) && !is(s, IS_WAITED_FOR) ? 'C' : 'B';
}

static void read_server(struct hf__pg *s, const char *allow)
{
    struct hf__pg_server *v = &s->server;
    const char *encoding = PQparameterStatus(s->wire.handle, "server_encoding");

    v->is_pooled = hf__pg_i64(s, 0, PID) != PQbackendPID(s->wire.handle) &&
                   !hf__is_allowed(allow, "proxy");
    v->mark = v->is_pooled ? 0 : v->mark;
    v->is_standby = is(s, IS_STANDBY);
    v->is_waited_for = is(s, IS_WAITED_FOR);
    v->started_us = hf__pg_i64(s, 0, STARTED);
    v->system = (uint64_t)hf__pg_i64(s, 0, SYSTEM);
    v->timeline = (uint32_t)hf__pg_i64(s, 0, TIMELINE);
    v->server_id = server_id_of(s);
    v->schema = schema_of(s);
    s->wire.is_masked = encoding != NULL && strcmp(encoding, "UTF8") != 0 &&
                        strcmp(encoding, "SQL_ASCII") != 0;
    s->t.head.server_info.grade = grade_of(s);
    s->t.head.server_info.reach = HF_REACH_HOSTS;
    s->t.head.server_info.server_id = v->server_id;
}

static int judge(struct hf__pg *s)
{
    if (s->server.is_standby) {
        return hf__fail(s->t.err, HF_EUNAVAIL,
                        "the server is a standby: name the primary");
    }
    if (!is(s, IS_COMMITTED)) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "synchronous_commit can't be set: connect to the "
                        "server itself, not through a proxy that changes it");
    }
    if (!is(s, HAS_SCHEMA)) {
        return hf__fail(s->t.err, HF_EINVAL,
                        "schema: the database has no \"%s\"; create it: "
                        "CREATE SCHEMA",
                        s->wire.schema);
    }
    return HF_OK;
}

/* Until we know whether the connection is a pooler's, nothing stays set on
 * it. */
int hf__pg_settle(struct hf__pg *s, const struct hf__pg_target *t,
                  const char *allow)
{
    int r;

    s->server.is_pooled = true;
    s->server.is_verified = t->tls != NULL && strcmp(t->tls, "verify") == 0;
    r = take_schema(s, t->schema);
    /* Set it even on failure: another host's session may be chosen. */
    s->wire.settings = settings;
    if (r != HF_OK) {
        return r;
    }
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &look);
    hf__pg_put_schema(s);
    r = hf__pg_run_well(s);
    if (r != HF_OK) {
        return r;
    }
    read_server(s, allow);
    return judge(s);
}
