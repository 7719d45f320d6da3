/* SPDX-License-Identifier: MIT */
/*
 * list() and gc(): the names of a prefix are read in chunks, by key, and the
 * engine judges each. An idle name is deleted by primary key, if it is still as
 * it was read; each in a transaction of its own, so that no renewal has to wait
 * and a row that somebody keeps locked stops no other. Called by the session's
 * thread.
 */
#include "src/backend/table/scan.h"

#include "src/backend/mysql/commit.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql/schema.h"

#include <string.h>

struct range {
    const struct hf__mysql *s;
    const struct hf__scan *scan;
};

/* The length of the tag, which keys have in the tables but not in the
 * engine. */
static size_t tag_of(const struct hf__mysql *s)
{
    return s->pair.is_on ? HF__TAG_SIZE : 0;
}

/* Write the range of keys from `at`, or (length 0) from its beginning. It ends
 * with 0xff, which is higher than any byte of UTF-8. */
static void add_range(struct hf__text *t, const struct hf__mysql *s,
                      const struct hf__key *prefix, const char *at,
                      size_t length)
{
    char key[HF__TAG_SIZE + HF__KEY_MAX + 1];
    size_t tag = tag_of(s);

    if (tag > 0) {
        hf__pair_write_tag(s->pair.server_id, key);
    }
    if (length == 0) {
        at = prefix->bytes;
        length = prefix->length;
    }
    memcpy(key + tag, at, length);
    hf__text_add(t, " WHERE name_key>=");
    hf__text_hex(t, key, tag + length);
    memcpy(key + tag, prefix->bytes, prefix->length);
    key[tag + prefix->length] = (char)0xff;
    hf__text_add(t, " AND name_key<");
    hf__text_hex(t, key, tag + prefix->length + 1);
    hf__text_addf(t, " AND LENGTH(name_key)<=%zu", tag + HF__KEY_MAX);
}

static void add_chunk_end(struct hf__text *t)
{
    hf__text_addf(t, " ORDER BY name_key LIMIT %d", HF__SCAN_CHUNK);
}

/* ---- names */

/* A list leaves out names that anybody could take now. */
static void add_from(struct hf__text *t, const char *table, const void *arg)
{
    const struct range *r = arg;

    hf__text_add(t, " FROM (SELECT name_key AS k FROM holdfast_lock");
    add_range(t, r->s, r->scan->prefix, r->scan->at, r->scan->length);
    hf__text_add(t, r->scan->is_to_clean ? ""
                                         : " AND (expires>" HF__SQL_NOW
                                           " OR crowd<>0)");
    add_chunk_end(t);
    hf__text_addf(t, ") c STRAIGHT_JOIN %s ON name_key=k", table);
}

static int scan(void *state, struct hf__scan *scan, hf_error *err)
{
    struct hf__mysql *s = state;
    struct hf__table_scan v = {.next = hf__mysql_name_next, .tag = tag_of(s)};
    MYSQL_RES *rows;
    int r;

    (void)err; /* the session has it, too */
    hf__text_clear(&s->sql);
    if (!scan->is_to_clean) {
        (void)hf__pair_guard(s);
    }
    hf__mysql_name_ask(s, HF__TO_SCAN, add_from, &(struct range){s, scan});
    hf__text_add(&s->sql, " ORDER BY 2,1");
    r = hf__mysql_run(s);
    if (r != HF_OK || s->reply.rows == NULL) {
        return r == HF_OK ? hf__mysql_dead(s) : r;
    }
    rows = s->reply.rows;
    s->reply.rows = NULL; /* deleting a name needs the reply for itself */
    v.rows = rows;
    s->scanned = hf__now();
    r = hf__table_scan_tell(&s->t, &v, scan);
    mysql_free_result(rows);
    return r;
}

/* Run the deletion in s->sql. HF_OK: its reply is there; HF__RACED: it was
 * undone; else the session is dead. */
static int delete (struct hf__mysql *s)
{
    int r = hf__wire_run(s);

    if (r != HF_OK || s->reply.error == 0) {
        return r;
    }
    if (hf__mysql_error_class(s->reply.error) != HF__ERROR_AGAIN) {
        return hf__mysql_fail(s, s->t.err);
    }
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "ROLLBACK");
    r = hf__mysql_run(s);
    return r == HF_OK ? HF__RACED : r;
}

/* Wait until the clock has passed the fence by the grace time, as far as the
 * deadline allows. False: it has not. */
static bool is_past(struct hf__mysql *s, const struct hf__name *name)
{
    int64_t age_us = name->wall_us - (int64_t)name->fence;
    int64_t left_ms = hf__ms_until(s->t.deadline, hf__now());
    int64_t ms;

    if (name->fence >= (uint64_t)name->wall_us) {
        return false;
    }
    age_us += hf__between_ns(s->scanned, hf__now()) / 1000;
    if (age_us < HF__SCAN_GRACE_US) {
        ms = (HF__SCAN_GRACE_US - age_us) / 1000 + 1;
        hf__table_rest(
            &s->t,
            hf__after_ms(hf__now(), ms < left_ms / 2 ? ms : left_ms / 2));
        age_us = name->wall_us - (int64_t)name->fence +
                 hf__between_ns(s->scanned, hf__now()) / 1000;
    }
    return age_us >= HF__SCAN_GRACE_US;
}

static void add_deletion(struct hf__text *t, const char *table,
                         const struct hf__key *key)
{
    hf__text_addf(t, "DELETE FROM %s WHERE name_key=", table);
    hf__text_key(t, key);
}

/* Every change of a name changes its record, so the other rows are as they were
 * read if the record is. */
static int forget(void *state, const struct hf__key *key, struct hf__name *name,
                  int64_t idle_us)
{
    struct hf__mysql *s = state;
    const struct hf__table_name *read = &s->t.name;
    struct hf__text *t = &s->sql;
    MYSQL_ROW row;
    int r;

    (void)key; /* it has no tag; read->key has */
    (void)idle_us;
    if (!is_past(s, name)) {
        return HF__RACED;
    }
    hf__text_clear(t);
    hf__text_add(t, read->crowd != 0 ? hf__mysql_sql_begin(s) : "");
    add_deletion(t, "holdfast_lock", read->key);
    hf__text_addf(t, " AND fence=%llu AND revision=%llu",
                  (unsigned long long)read->fence,
                  (unsigned long long)read->revision);
    if (read->crowd != 0) {
        hf__text_add(t, ";SET @hf=ROW_COUNT();");
        add_deletion(t, "holdfast_beside", read->key);
        hf__text_add(t, " AND @hf=1;");
        add_deletion(t, "holdfast_ticket", read->key);
        hf__text_add(t, " AND @hf=1");
        hf__text_add(t, hf__mysql_sql_commit(s));
        hf__text_add(t, ";SELECT @hf");
    }
    r = delete (s);
    if (r != HF_OK) {
        s->t.lost = r < 0 ? r : s->t.lost;
        return HF__RACED;
    }
    row = hf__wire_row(s);
    return (row == NULL ? s->reply.affected : hf__column_u64(row[0])) == 1
               ? HF_OK
               : HF__RACED;
}

/* ---- cells: tombstones, once no client can still want to replace them */

/* This user uses locks alone: cells have no table, or no rights. */
static bool is_strange(const struct hf__mysql *s)
{
    return s->reply.error == HF__NO_TABLE || s->reply.error == HF__NO_COLUMN ||
           (s->reply.error != 0 && hf__mysql_fail(s, NULL) == HF_EAUTH);
}

/* Delete the cell if it is still as it was read. */
static int sweep_cell(struct hf__mysql *s, const struct hf__key *key,
                      const char *version, struct hf__gc *g)
{
    int r;

    hf__text_clear(&s->sql);
    add_deletion(&s->sql, "holdfast_cell", key);
    hf__text_addf(&s->sql, " AND version=%llu AND value IS NULL",
                  (unsigned long long)hf__column_u64(version));
    r = delete (s);
    g->count += r == HF_OK ? s->reply.affected : 0;
    return r == HF__RACED ? HF_OK : r;
}

static int sweep_chunk(struct hf__mysql *s, MYSQL_RES *rows, struct hf__gc *g)
{
    hf__time end = hf__table_scan_end(&s->t);
    MYSQL_ROW row;
    int n = 0;
    int r = HF_OK;

    g->length = 0;
    while (r == HF_OK && (row = mysql_fetch_row(rows)) != NULL) {
        struct hf__key key = {row[0], (uint16_t)*mysql_fetch_lengths(rows), 0};

        r = row[2] != NULL && *row[2] == '1' ? sweep_cell(s, &key, row[1], g)
                                             : HF_OK;
        n++;
        if (n == HF__SCAN_CHUNK || !hf__before(hf__now(), end)) {
            memcpy(g->at, key.bytes, key.length);
            g->at[key.length] = '\0';
            g->length = key.length + (size_t)1;
            break;
        }
    }
    return r;
}

static int sweep_cells(struct hf__mysql *s, const struct hf__key *prefix,
                       struct hf__gc *g)
{
    int64_t idle_us =
        g->idle_us > HF__SCAN_GRACE_US ? g->idle_us : HF__SCAN_GRACE_US;
    MYSQL_RES *rows;
    int r;

    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "SELECT name_key,version,value IS NULL AND version>0 AND "
                  "LENGTH(writer)=16 AND version<" HF__SQL_NOW
                  "-%lld FROM holdfast_cell",
                  (long long)idle_us);
    add_range(&s->sql, s, prefix, g->at, g->length);
    add_chunk_end(&s->sql);
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error == 0 && s->reply.rows != NULL) {
        rows = s->reply.rows;
        s->reply.rows = NULL;
        r = sweep_chunk(s, rows, g);
        mysql_free_result(rows);
    }
    if (s->reply.error != 0 && is_strange(s)) {
        g->length = 0;
        return HF_OK;
    }
    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->t.err) : r;
}

/* ---- the calls */

static const struct hf__primitives primitives = {
    .scan = scan, .is_sorted = true, .forget = forget};

static int begin(struct hf__mysql *s, hf__time deadline, hf_error *err)
{
    hf__table_begin(&s->t, deadline, err);
    return hf__wait_state_leave(&s->t);
}

int hf__mysql_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err)
{
    int r = begin(state, deadline, err);

    return r == HF_OK
               ? hf__engine_list(&primitives, state, prefix, fn, arg, err)
               : r;
}

/* The bookmark has no tag, since the next part may run on another server. */
int hf__mysql_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    int r = begin(s, deadline, err);

    if (r != HF_OK) {
        return r;
    }
    if (!g->of_cells) {
        return hf__engine_gc(&primitives, s, prefix, g, err);
    }
    if (s->pair.is_on) {
        g->length = 0;
        return HF_OK; /* there are no cells */
    }
    if (g->idle_us < HF__SCAN_GRACE_US) {
        hf__table_rest(&s->t,
                       hf__after_ms(hf__now(), HF__SCAN_GRACE_US / 1000));
    }
    return sweep_cells(s, prefix, g);
}
