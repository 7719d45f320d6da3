/* SPDX-License-Identifier: MIT */
/*
 * Locks in PostgreSQL by hand. A pair is two round trips: the statement that
 * acquires; and the one that releases, with the one after it that rings. Each
 * has a commit of its own. Thread: any.
 */
#include "bench/rawpostgres.h"

#include "bench/measure.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEASE_US 30000000

/* Types of the server. */
enum { BYTEA = 17, INT8 = 20, TEXT = 25 };

enum { ACQUIRE, RELEASE, RING, STATEMENTS };

/* What they are given: $1 of a statement is its first, and so on. */
enum {
    KEY,
    TOKEN,
    REOPENS, /* of ACQUIRE: so long it is kept */
    NEW_TOKEN,
    BELL,
    LEASE,
    DETACHED,
    LABEL,
    HOST,
    PID,
    THREAD,
    NOTE,
    VALUES
};

/* Behind what is chosen of lists, of which here each has one item. */
#define FROM_LISTS                                                             \
    " FROM unnest($1::bytea[]) WITH ORDINALITY u(k,i)) v,"                     \
    "(SELECT (extract(epoch FROM clock_timestamp())*1000000)::bigint AS n "    \
    "OFFSET 0) c WHERE x.name_key>=v.k AND x.name_key<=v.k AND "

static const char acquire[] =
    "UPDATE raw_lock x SET revision=x.revision+1,token=v.t,"
    "fence=greatest(x.fence+1,n),acquired_at=n,expires=n+v.lease,"
    "keep_until=CASE WHEN v.keep>0 THEN n+v.keep ELSE 0 END,"
    "changed_at=greatest(x.changed_at,n),detached=v.d+"
    "CASE WHEN x.expires>0 AND x.token<>v.own THEN 2 ELSE 0 END,"
    "label=v.label,host=v.host,pid=v.pid,thread=v.thread,note=v.note FROM "
    "(SELECT k,($2::bytea[])[i] AS own,($3::bigint[])[i] AS keep,"
    "($4::bytea[])[i] AS t,($5::bigint[])[i] AS bell,"
    "($6::bigint[])[i] AS lease,($7::bigint[])[i] AS d,"
    "($8::text[])[i] AS label,($9::text[])[i] AS host,"
    "($10::bigint[])[i] AS pid,($11::text[])[i] AS thread,"
    "($12::text[])[i] AS note" FROM_LISTS
    "x.crowd=0 AND length(x.token) IN (0,16) AND x.fence BETWEEN 0 AND "
    "9007199254740990 AND greatest(x.expires,x.keep_until)<=n "
    "RETURNING x.name_key,x.fence,x.detached>>1,"
    "CASE WHEN v.bell<>0 THEN pg_try_advisory_lock(v.bell) END";

static const char release[] =
    "UPDATE raw_lock x SET revision=x.revision+1,token='',expires=0,"
    "keep_until=CASE v.reopens WHEN 1 THEN 0 ELSE x.keep_until END,"
    "changed_at=greatest(x.changed_at,n) FROM (SELECT k,"
    "($2::bytea[])[i] AS t,($3::bigint[])[i] AS reopens" FROM_LISTS
    "x.token=v.t RETURNING x.name_key,x.fence,-1::bigint";

static const struct {
    const char *name;
    const char *text;
    int first;
    int n;
} statements[STATEMENTS] = {
    [ACQUIRE] = {"acquire", acquire, KEY, VALUES},
    [RELEASE] = {"release", release, KEY, REOPENS + 1},
    [RING] = {"ring",
              "SELECT pg_advisory_unlock(k) FROM unnest($1::bigint[]) k", BELL,
              1},
};

/* As the store's session. */
static const char settings[] =
    "SET default_transaction_isolation='read committed';SET jit=off;"
    "SET enable_hashjoin=off;SET enable_mergejoin=off;SET enable_seqscan=off;"
    "SET enable_bitmapscan=off;SET plan_cache_mode=force_generic_plan;"
    "SET lock_timeout=250;SET statement_timeout=5000";

static const char table[] =
    "CREATE TABLE IF NOT EXISTS raw_lock(LIKE holdfast_lock INCLUDING ALL) "
    "WITH(fillfactor=50,autovacuum_vacuum_scale_factor=0,"
    "autovacuum_vacuum_threshold=2000)";

struct rawpostgres {
    PGconn *db;
    char key[64];
    uint64_t token[2]; /* the number of the bell is its first half */
    uint64_t count;
    char bytes[VALUES][128];
    const char *values[VALUES];
    int lengths[VALUES];
};

static void check(struct rawpostgres *raw, PGresult *rows, const char *what)
{
    ExecStatusType status = PQresultStatus(rows);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
        status != PGRES_PIPELINE_SYNC) {
        bench_fail("%s: %s", what, PQerrorMessage(raw->db));
    }
    PQclear(rows);
}

/* ---- values */

/* As an array of one. */
static void set(struct rawpostgres *raw, int value, unsigned type,
                const void *bytes, size_t length)
{
    const uint32_t head[] = {htobe32(1), 0,          htobe32(type),
                             htobe32(1), htobe32(1), htobe32((uint32_t)length)};

    memcpy(raw->bytes[value], head, sizeof head);
    memcpy(raw->bytes[value] + sizeof head, bytes, length);
    raw->values[value] = raw->bytes[value];
    raw->lengths[value] = (int)(sizeof head + length);
}

static void set_number(struct rawpostgres *raw, int value, uint64_t number)
{
    number = htobe64(number);
    set(raw, value, INT8, &number, sizeof number);
}

static void set_constants(struct rawpostgres *raw)
{
    set_number(raw, REOPENS, 0);
    set_number(raw, LEASE, LEASE_US);
    set_number(raw, DETACHED, 0);
    set_number(raw, PID, (uint64_t)getpid());
    set(raw, LABEL, TEXT, "bench", 5);
    set(raw, HOST, TEXT, "localhost", 9);
    set(raw, THREAD, TEXT, "12345", 5);
    set(raw, NOTE, TEXT, "", 0);
}

/* ---- a connection */

struct rawpostgres *rawpostgres_open(const char *url)
{
    struct rawpostgres *raw = calloc(1, sizeof *raw);
    int i;

    if (!raw) {
        bench_fail("out of memory");
    }
    raw->db = PQconnectdb(url);
    raw->token[1] = (uint64_t)(uintptr_t)raw;
    check(raw, PQexec(raw->db, "SET client_min_messages=warning"), "connect");
    check(raw, PQexec(raw->db, table), table);
    check(raw, PQexec(raw->db, settings), settings);
    for (i = 0; i < STATEMENTS; i++) {
        check(
            raw,
            PQprepare(raw->db, statements[i].name, statements[i].text, 0, NULL),
            statements[i].name);
    }
    set_constants(raw);
    return raw;
}

void rawpostgres_close(struct rawpostgres *raw)
{
    PQfinish(raw->db);
    free(raw);
}

/* ---- a pair */

static void ask(struct rawpostgres *raw, int which)
{
    int formats[VALUES];
    int i;

    for (i = 0; i < VALUES; i++) {
        formats[i] = 1;
    }
    if (!PQsendQueryPrepared(
            raw->db, statements[which].name, statements[which].n,
            raw->values + statements[which].first,
            raw->lengths + statements[which].first, formats, 1) ||
        !PQpipelineSync(raw->db)) {
        bench_fail("%s: %s", statements[which].name, PQerrorMessage(raw->db));
    }
}

/* True: there was a row. */
static bool hear(struct rawpostgres *raw, int which)
{
    PGresult *rows = PQgetResult(raw->db);
    bool has_row = PQntuples(rows) == 1;

    check(raw, rows, statements[which].name);
    PQclear(PQgetResult(raw->db)); /* NULL: there is no other */
    check(raw, PQgetResult(raw->db), statements[which].name);
    return has_row;
}

/* The first time a name is used it has no row. */
static void add_row(struct rawpostgres *raw, const char *key)
{
    int length = snprintf(raw->key, sizeof raw->key, "%s", key);
    const char *value = raw->key;
    int format = 1;

    set(raw, KEY, BYTEA, key, (size_t)length);
    (void)PQexitPipelineMode(raw->db);
    check(raw,
          PQexecParams(raw->db,
                       "INSERT INTO raw_lock(name_key) VALUES($1::bytea) "
                       "ON CONFLICT DO NOTHING",
                       1, NULL, &value, &length, &format, 1),
          key);
    (void)PQenterPipelineMode(raw->db);
}

bool rawpostgres_pair(struct rawpostgres *raw, const char *key)
{
    if (strcmp(raw->key, key) != 0) {
        add_row(raw, key);
    }
    raw->token[0] = (raw->token[1] << 24) + raw->count++;
    set(raw, TOKEN, BYTEA, raw->token, sizeof raw->token);
    set(raw, NEW_TOKEN, BYTEA, raw->token, sizeof raw->token);
    set(raw, BELL, INT8, raw->token, sizeof raw->token[0]);
    ask(raw, ACQUIRE);
    if (!hear(raw, ACQUIRE)) {
        return false;
    }
    ask(raw, RELEASE);
    ask(raw, RING);
    /* A row that stays held would be an error in every later round. */
    if (!hear(raw, RELEASE) || !hear(raw, RING)) {
        bench_fail("%s was not held", key);
    }
    return true;
}
