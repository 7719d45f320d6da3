/* SPDX-License-Identifier: MIT */
/*
 * list() and gc(): reads the names of a prefix chunk by chunk, by key, and the
 * engine judges each. An idle name is deleted if it is still as it was read,
 * each in its own commit, which waits neither for a locked row nor for the
 * disk: a deletion that a crash undoes does no harm. Called by the session's
 * thread.
 */
#include "src/backend/table/scan.h"

#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/fast_path.h"
#include "src/base/error.h"

#include <string.h>

/* HF__SCAN_CHUNK */
#define CHUNK_TEXT "256"

#define UNTOLD "set_config('synchronous_commit','off',true)"

/* ---- reading */

/* $1 first key, $2 end of the range, $3 longest key. */
static const struct hf__pg_statement names = {
    HF__PG_UNPREPARED,
    HF__PG_NAMES("name_key IN(SELECT name_key FROM holdfast_lock WHERE "
                 "name_key>=$1 AND name_key<$2 AND length(name_key)<=$3 "
                 "ORDER BY name_key LIMIT " CHUNK_TEXT ")") " ORDER BY 2,1"};

/* UTF-8 never has the byte 0xff, which ends the range. */
static void put_range(struct hf__pg *s, const struct hf__key *prefix,
                      const char *at, size_t length)
{
    char end[HF__KEY_MAX + 1];

    memcpy(end, prefix->bytes, prefix->length);
    end[prefix->length] = (char)0xff;
    hf__pg_put_bytes(s, length > 0 ? at : prefix->bytes,
                     length > 0 ? length : prefix->length);
    hf__pg_put_bytes(s, end, prefix->length + (size_t)1);
    hf__pg_put_i64(s, HF__KEY_MAX);
}

static int scan(void *state, struct hf__scan *scan, hf_error *err)
{
    struct hf__pg *s = state;
    struct hf__pg_cursor rows = {NULL, 0};
    struct hf__table_scan v = {.next = hf__pg_name_next, .rows = &rows};
    int r;

    (void)err; /* s->t.err is the same */
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &names);
    put_range(s, scan->prefix, scan->at, scan->length);
    r = hf__pg_run_well(s);
    rows.rows = s->reply.rows;
    s->reply.rows = NULL; /* forget() has replies of its own */
    r = r == HF_OK ? hf__table_scan_tell(&s->t, &v, scan) : r;
    PQclear(rows.rows);
    return r;
}

/* ---- forgetting */

/* $1 key, $2 revision, $3 fence. Each change of a name changes its record, so
 * if that is as it was read, so are the other rows. Once the record is gone,
 * fences go on from the clock, which is safe: a statement that sees the new
 * record has a clock later than the deletion. */
static const struct hf__pg_statement delete = {
    HF__PG_FORGET,
    "WITH l AS MATERIALIZED (SELECT FROM holdfast_lock WHERE name_key=$1 "
    "FOR UPDATE SKIP LOCKED),"
    "u AS (DELETE FROM holdfast_lock WHERE name_key=$1 AND revision=$2 AND "
    "fence=$3 AND EXISTS(SELECT FROM l) RETURNING 1),"
    "b AS (DELETE FROM holdfast_beside WHERE name_key=$1 AND "
    "EXISTS(SELECT FROM u)),"
    "t AS (DELETE FROM holdfast_ticket WHERE name_key=$1 AND "
    "EXISTS(SELECT FROM u)) "
    "SELECT " UNTOLD " FROM u"};

static int forget(void *state, const struct hf__key *key, struct hf__name *name,
                  int64_t idle_us)
{
    struct hf__pg *s = state;
    int r;

    (void)idle_us;
    if (name->fence >= (uint64_t)name->now_us) {
        return HF__RACED; /* the next fence, a clock, could be lower */
    }
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &delete);
    hf__pg_put_key(s, key);
    hf__pg_put_i64(s, (int64_t)s->t.name.revision);
    hf__pg_put_i64(s, (int64_t)s->t.name.fence);
    r = hf__pg_run(s);
    if (r == HF_OK && s->reply.sqlstate[0] == '\0') {
        return s->reply.n_rows == 1 ? HF_OK : HF__RACED;
    }
    if (r != HF_OK || hf__pg_error_class(s) != HF__PG_AGAIN) {
        r = hf__pg_failed(s, s->t.err, r, HF_EUNAVAIL);
        s->t.lost = r < 0 ? r : s->t.lost;
    }
    return HF__RACED;
}

/* ---- cells */

/* $1 to $3 as above, $4 for how long nobody wants to replace it: see
 * hf__cell_is_idle(). */
static const struct hf__pg_statement sweep = {
    HF__PG_UNPREPARED,
    "WITH k AS MATERIALIZED (SELECT name_key FROM holdfast_cell WHERE "
    "name_key>=$1 AND name_key<$2 AND length(name_key)<=$3 "
    "ORDER BY name_key LIMIT " CHUNK_TEXT "),"
    "l AS MATERIALIZED (SELECT x.ctid AS at FROM k JOIN holdfast_cell x "
    "USING(name_key)," HF__PG_CLOCK " WHERE value IS NULL AND version>0 AND "
    "length(writer)=16 AND version<n-$4 FOR UPDATE OF x SKIP LOCKED),"
    "d AS (DELETE FROM holdfast_cell WHERE ctid=ANY(ARRAY(SELECT at FROM l)) "
    "RETURNING 1) "
    "SELECT (SELECT count(*) FROM d),(SELECT count(*) FROM k),"
    "(SELECT name_key FROM k ORDER BY 1 DESC LIMIT 1)," UNTOLD};

/* The refusal means that this user has no cells, only locks. */
static bool is_strange(const struct hf__pg *s)
{
    return strcmp(s->reply.sqlstate, "42P01") == 0 ||
           strcmp(s->reply.sqlstate, "42703") == 0 ||
           hf__pg_refusal(s, NULL) == HF_EAUTH;
}

static int sweep_cells(struct hf__pg *s, const struct hf__key *prefix,
                       struct hf__gc *g)
{
    const char *last;
    size_t length;
    int r;

    hf__pg_begin_packet(s);
    hf__pg_ask(s, &sweep);
    put_range(s, prefix, g->at, g->length);
    hf__pg_put_i64(s, g->idle_us > HF__SCAN_GRACE_US ? g->idle_us
                                                     : HF__SCAN_GRACE_US);
    r = hf__pg_run(s);
    if (r != HF_OK) {
        return hf__pg_dead(s, s->t.err);
    }
    g->length = 0;
    if (s->reply.sqlstate[0] != '\0') {
        return is_strange(s) ? HF_OK : hf__pg_refusal(s, s->t.err);
    }
    g->count += (uint64_t)hf__pg_i64(s, 0, 0);
    if (hf__pg_i64(s, 0, 1) == HF__SCAN_CHUNK) {
        last = hf__pg_bytes(s, 0, 2, &length);
        memcpy(g->at, last, length);
        g->at[length] = '\0';
        g->length = length + 1;
    }
    return HF_OK;
}

/* ---- the calls */

static const struct hf__primitives primitives = {
    .scan = scan, .is_sorted = true, .forget = forget};

static int begin(struct hf__pg *s, hf__time deadline, hf_error *err)
{
    hf__table_begin(&s->t, deadline, err);
    return hf__wait_state_leave(&s->t);
}

int hf__pg_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err)
{
    int r = begin(state, deadline, err);

    return r == HF_OK
               ? hf__engine_list(&primitives, state, prefix, fn, arg, err)
               : r;
}

int hf__pg_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err)
{
    struct hf__pg *s = state;
    int r = begin(s, deadline, err);

    if (r == HF_OK && g->of_cells && g->idle_us < HF__SCAN_GRACE_US) {
        hf__table_rest(&s->t,
                       hf__after_ms(hf__now(), HF__SCAN_GRACE_US / 1000));
    }
    if (r != HF_OK) {
        return r;
    }
    return g->of_cells ? sweep_cells(s, prefix, g)
                       : hf__engine_gc(&primitives, s, prefix, g, err);
}
