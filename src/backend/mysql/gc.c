/* SPDX-License-Identifier: MIT */
/*
 * gc(): delete the rows of names that nobody uses any more. What looks idle
 * is read without a lock, and deleted row by row, by primary key, if it is
 * still as it was read; each in a transaction of its own, so that a renewal
 * waits for none and a row that somebody keeps locked stops no other. Called
 * by the session's thread.
 */
#include "src/backend/crowd.h"
#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/change.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* So many rows are looked at with one statement. */
#define CHUNK 256
/* And so many such in one call. */
#define CHUNKS 8
/* So many are deleted with one packet. */
#define PACKET 32
/* No packet is begun after so much of a call: others wait for the session. */
#define SLICE_MS 250

/*
 * A fence goes on from the clock once its row is gone, so the clock must have
 * passed it: also the clock of a statement that began before the deletion and
 * comes to the row after it. Rows are locked in the order of asking, so what
 * lies between is the way to the row, no wait for it.
 */
#define GRACE_MS 20

struct name {
    char bytes[HF__MYSQL_KEY_MAX + 1];
    size_t length;
    uint64_t fence;
    uint64_t revision;
    int64_t age_us; /* of the fence, by the server's clock, at the scan */
    bool has_more;  /* in the other tables */
    bool is_needed;
    bool has_expired; /* a grant of it nobody gave back */
};

struct sweep {
    bool of_cells; /* the fence is the version then */
    int64_t idle_us;
    struct name from; /* looked at next */
    struct name end;
    struct name idle[CHUNK];
    int n_idle;
    hf__time scanned;
    hf__time slice_end; /* begin nothing more */
    bool is_over;
};

static void sweep_free(struct sweep **sweep)
{
    hf__free(*sweep);
}

static void set_name(struct name *name, const char *bytes, size_t length)
{
    memcpy(name->bytes, bytes, length);
    name->length = length;
}

/* ---- which are idle */

/* Nobody holds it, nobody did lately, it is not kept closed, and the clock
 * has passed its fence. */
static void ask_for_names(struct hf__text *t, long long idle)
{
    hf__text_add(t, "SELECT name_key,fence,revision,crowd," HF__SQL_NOW
                    "-CAST(LEAST(fence,9007199254740992) AS SIGNED),");
    hf__text_addf(t,
                  "(token='' OR expires<=" HF__SQL_NOW "-%lld) AND "
                  "changed_at<=" HF__SQL_NOW "-%lld AND "
                  "keep_until<=" HF__SQL_NOW " AND fence<" HF__SQL_NOW
                  ",expires>0 FROM holdfast_lock",
                  idle, idle);
}

/* What was deleted, so that nobody can still want to replace it. */
static void ask_for_cells(struct hf__text *t, long long idle)
{
    hf__text_addf(t,
                  "SELECT name_key,version,0,0," HF__SQL_NOW
                  "-CAST(LEAST(version,9007199254740992) AS SIGNED),"
                  "value IS NULL AND version>0 AND "
                  "LENGTH(writer)=16 AND version<" HF__SQL_NOW
                  "-%lld,0 FROM holdfast_cell",
                  idle);
}

static void add_scan(struct hf__text *t, const struct sweep *w)
{
    hf__text_clear(t);
    (w->of_cells ? ask_for_cells : ask_for_names)(t, w->idle_us);
    hf__text_add(t, " WHERE name_key>=");
    hf__text_hex(t, w->from.bytes, w->from.length);
    hf__text_add(t, " AND name_key<");
    hf__text_hex(t, w->end.bytes, w->end.length);
    hf__text_addf(t, " ORDER BY name_key LIMIT %d", CHUNK);
}

static void note_idle(struct sweep *w, char *const *row)
{
    struct name *name = &w->idle[w->n_idle++];

    *name = w->from;
    name->fence = hf__column_u64(row[1]);
    name->revision = hf__column_u64(row[2]);
    name->has_more = hf__column_u64(row[3]) != 0;
    name->is_needed = false;
    name->has_expired = hf__column_u64(row[6]) != 0;
    name->age_us = hf__column_i64(row[4]);
}

/* Refused, as this user has nothing to do with cells: he uses locks alone. */
static bool is_strange(const struct hf__mysql *s, const struct sweep *w)
{
    return w->of_cells &&
           (s->reply.error == HF__NO_TABLE || s->reply.error == HF__NO_COLUMN ||
            (s->reply.error != 0 && hf__mysql_fail(s, NULL) == HF_EAUTH));
}

/* Note which of the next rows look idle, and where to go on. */
static int scan(struct hf__mysql *s, struct sweep *w)
{
    MYSQL_ROW row;
    int seen = 0;
    int r;

    w->n_idle = 0;
    w->scanned = hf__now();
    add_scan(&s->sql, w);
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error != 0 && !is_strange(s, w)) {
        r = hf__mysql_fail(s, s->t.err);
    }
    while (r == HF_OK && (row = hf__wire_row(s)) != NULL) {
        size_t length = hf__wire_lengths(s)[0];

        seen++;
        if (length > HF__MYSQL_KEY_MAX) {
            length =
                HF__MYSQL_KEY_MAX; /* none of ours: skipped, with its like */
        } else if (row[5] != NULL && *row[5] == '1') {
            set_name(&w->from, row[0], length);
            note_idle(w, row);
        }
        set_name(&w->from, row[0], length);
    }
    /* The next look begins just behind the last one. */
    if (seen > 0) {
        bool is_full = w->from.length == HF__MYSQL_KEY_MAX;

        w->from.bytes[w->from.length++] = is_full ? (char)0xff : '\0';
    }
    w->is_over = seen < CHUNK;
    return r;
}

/* ---- which of them have more, and are needed for that */

static int add_names(struct hf__text *t, const struct sweep *w)
{
    int n = 0;

    hf__text_add(t, " name_key IN(");
    for (int i = 0; i < w->n_idle; i++) {
        if (w->idle[i].has_more) {
            hf__text_add(t, n++ == 0 ? "" : ",");
            hf__text_hex(t, w->idle[i].bytes, w->idle[i].length);
        }
    }
    hf__text_add(t, ")");
    return n;
}

/* A name, and whether the grant or the ticket of it keeps it. */
static void mark(struct hf__mysql *s, struct sweep *w)
{
    MYSQL_ROW row;

    while ((row = hf__wire_row(s)) != NULL) {
        size_t length = hf__wire_lengths(s)[0];

        for (int i = 0; i < w->n_idle; i++) {
            if (w->idle[i].length == length &&
                memcmp(w->idle[i].bytes, row[0], length) == 0) {
                w->idle[i].is_needed |= hf__column_u64(row[1]) != 0;
                w->idle[i].has_expired = true;
            }
        }
    }
}

/* A grant that was not ended, which ran lately or ran out; a claim that is in
 * line. */
static int look_for_more(struct hf__mysql *s, struct sweep *w)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "SELECT name_key,expires>" HF__SQL_NOW "-%lld FROM "
                  "holdfast_beside WHERE",
                  (long long)w->idle_us);
    if (add_names(&s->sql, w) == 0) {
        return HF_OK;
    }
    hf__text_add(&s->sql, " AND ended=0 UNION SELECT name_key,1 FROM "
                          "holdfast_ticket WHERE");
    (void)add_names(&s->sql, w);
    hf__text_addf(&s->sql, " AND (asked>" HF__SQL_NOW "-%d",
                  HF__TICKET_PATIENCE_MS * 1000);
    hf__text_add(&s->sql, s->t.has_bells
                              ? " OR " HF__BELL_OF_TOKEN("hq") " "
                                                               "IS NOT NULL)"
                              : ")");
    r = hf__mysql_run(s);
    if (r == HF_OK) {
        mark(s, w);
    }
    return r;
}

/* ---- deleting */

static void add_key(struct hf__text *t, const char *table,
                    const struct name *name)
{
    hf__text_addf(t, "DELETE FROM %s WHERE name_key=", table);
    hf__text_hex(t, name->bytes, name->length);
}

/* Its reply that counts is the last. */
static void add_deletion(struct hf__mysql *s, const struct sweep *w,
                         const struct name *name)
{
    struct hf__text *t = &s->sql;

    if (w->of_cells) {
        add_key(t, "holdfast_cell", name);
        hf__text_addf(t, " AND version=%llu AND value IS NULL",
                      (unsigned long long)name->fence);
        return;
    }
    if (name->has_more) {
        hf__text_add(t, hf__mysql_sql_begin(s));
    }
    add_key(t, "holdfast_lock", name);
    hf__text_addf(t, " AND fence=%llu AND revision=%llu",
                  (unsigned long long)name->fence,
                  (unsigned long long)name->revision);
    if (name->has_more) {
        hf__text_add(t, ";SET @hf=ROW_COUNT();");
        add_key(t, "holdfast_beside", name);
        hf__text_add(t, " AND @hf=1;");
        add_key(t, "holdfast_ticket", name);
        hf__text_add(t, " AND @hf=1");
        hf__text_add(t, hf__mysql_sql_commit(s));
        hf__text_add(t, ";SELECT @hf");
    }
}

/* The replies of one deletion. *ret_refused: it was undone, and what followed
 * in the packet has not been begun. */
static int take_deletion(struct hf__mysql *s, const struct name *name,
                         bool is_first, struct hf__gc *g, bool *ret_refused)
{
    int n_more = s->server.has_compounds ? 1 : 6;
    int n_replies = name->has_more ? n_more + 1 : 1;
    uint64_t affected;
    MYSQL_ROW row;

    *ret_refused = false;
    for (int i = 0; i < n_replies; i++) {
        int r = is_first && i == 0 ? HF_OK : hf__wire_next(s);

        if (r != HF_OK) {
            return r;
        }
        if (s->reply.error != 0) {
            *ret_refused = true;
            return HF_OK;
        }
    }
    row = hf__wire_row(s);
    affected = row == NULL ? s->reply.affected : hf__column_u64(row[0]);
    g->count += affected;
    g->expired += name->has_expired ? affected : 0;
    return HF_OK;
}

/* After a refusal: what the transaction did is undone, whatever it was, and
 * if it was none of the row's own affairs, the session can't go on. */
static int recover(struct hf__mysql *s)
{
    if (hf__mysql_blame(s->reply.error) != HF__BLAME_AGAIN) {
        return hf__mysql_fail(s, s->t.err);
    }
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "ROLLBACK");
    return hf__mysql_run(s);
}

/* From idle[*at_io] on, as many as fit in a packet; *at_io is behind those
 * that are settled. */
static int delete_packet(struct hf__mysql *s, struct sweep *w, int *at_io,
                         struct hf__gc *g)
{
    bool is_refused = false;
    bool is_first = true;
    int end = *at_io;
    int n = 0;
    int r;

    hf__text_clear(&s->sql);
    for (; end < w->n_idle && n < PACKET; end++) {
        if (!w->idle[end].is_needed) {
            hf__text_add(&s->sql, n++ == 0 ? "" : ";");
            add_deletion(s, w, &w->idle[end]);
        }
    }
    r = n == 0 ? HF_OK : hf__wire_send(s);
    for (; r == HF_OK && *at_io < end && !is_refused; ++*at_io) {
        if (!w->idle[*at_io].is_needed) {
            r = take_deletion(s, &w->idle[*at_io], is_first, g, &is_refused);
            is_first = false;
        }
    }
    if (is_refused && is_strange(s, w)) {
        *at_io = w->n_idle;
        return HF_OK;
    }
    return is_refused ? recover(s) : r;
}

/* Wait until the clock has passed the fences of all by the grace, as far as
 * there is time; those that are too young even then stay. */
static void await_grace(struct hf__mysql *s, struct sweep *w)
{
    int64_t youngest_us = (int64_t)GRACE_MS * 1000;
    int64_t passed_us;

    for (int i = 0; i < w->n_idle; i++) {
        youngest_us =
            w->idle[i].age_us < youngest_us ? w->idle[i].age_us : youngest_us;
    }
    if (youngest_us < (int64_t)GRACE_MS * 1000) {
        int64_t ms = GRACE_MS + 1 - youngest_us / 1000;
        int64_t left_ms = hf__ms_until(s->t.deadline, hf__now());

        ms = ms < left_ms / 2 ? ms : left_ms / 2;
        hf__table_rest(&s->t, hf__after_ms(hf__now(), ms));
    }
    passed_us = hf__between_ns(w->scanned, hf__now()) / 1000;
    for (int i = 0; i < w->n_idle; i++) {
        if (w->idle[i].age_us + passed_us < (int64_t)GRACE_MS * 1000) {
            w->idle[i].is_needed = true;
        }
    }
}

/* At least one packet of them; it goes on behind the last. */
static int delete_idle(struct hf__mysql *s, struct sweep *w, struct hf__gc *g)
{
    int at = 0;
    int r = HF_OK;

    await_grace(s, w);
    while (r == HF_OK && at < w->n_idle) {
        r = delete_packet(s, w, &at, g);
        if (!hf__before(hf__now(), w->slice_end)) {
            break;
        }
    }
    if (at < w->n_idle) {
        set_name(&w->from, w->idle[at].bytes, w->idle[at].length);
        w->is_over = false;
    }
    return r;
}

/* ---- the whole */

static int sweep(struct hf__mysql *s, struct sweep *w, struct hf__gc *g)
{
    int64_t left_ms = hf__ms_until(s->t.deadline, hf__now());
    int r = HF_OK;

    w->slice_end = hf__after_ms(hf__now(), left_ms / 4 < SLICE_MS ? left_ms / 4
                                                                  : SLICE_MS);
    for (int i = 0; i < CHUNKS && !w->is_over && r == HF_OK; i++) {
        r = scan(s, w);
        r = r == HF_OK ? look_for_more(s, w) : r;
        r = r == HF_OK ? delete_idle(s, w, g) : r;
        if (!hf__before(hf__now(), w->slice_end) ||
            hf__is_interrupted(&s->t.head)) {
            break;
        }
    }
    return r;
}

int hf__mysql_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                 hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    HF_AUTO(sweep_free) struct sweep *w = hf__alloc(sizeof *w);
    size_t tag = s->pair.is_on ? HF__TAG_SIZE : 0; /* in prefix alone */
    int r;

    if (w == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    hf__table_begin(&s->t, deadline, err);
    w->of_cells = g->of_cells;
    w->idle_us = g->idle_us;
    /* No byte of UTF-8 is as high as the one that ends the range. */
    set_name(&w->end, prefix->bytes, prefix->length);
    w->end.bytes[w->end.length++] = (char)0xff;
    set_name(&w->from, prefix->bytes, prefix->length);
    if (g->length > 0) {
        memcpy(w->from.bytes + tag, g->at, g->length);
        w->from.length = tag + g->length;
    }
    r = sweep(s, w, g);
    g->length = w->is_over ? 0 : w->from.length - tag;
    memcpy(g->at, w->from.bytes + tag, g->length);
    return r;
}
