/* SPDX-License-Identifier: MIT */
/*
 * Deciding which of several servers is the primary. The operator decides by
 * read_only which servers may be written to. holdfast_server tells which of
 * these became the primary last; it is replicated, so that the former primary
 * learns of it, and so does anybody who reads one of them offline. A server
 * that was unused for long, or whose epoch is not the highest, must first
 * become the primary (promote.c): others may have made grants that it does not
 * know. Called by the session's thread when it opens.
 */
#include "src/backend/mysql/pair.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/row.h"
#include "src/backend/report.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>

/* A server that was in use within this part of longest_lease counts as in
 * use. */
#define USED_PART 4

#define LONGEST_MS     30000
#define LONGEST_MIN_MS 1000
#define LONGEST_MAX_MS 86400000

/* The server's error: this user may not. */
#define NO_GRANTS 1142

int hf__pair_option(struct hf__mysql *s, const struct hf__url *url)
{
    s->pair.longest_ms = LONGEST_MS;
    if (url->n_hosts <= 1 && hf__url_option(url, "longest_lease") != NULL) {
        return hf__fail(s->t.err, HF_EINVAL,
                        "longest_lease: it goes with several hosts");
    }
    return hf__url_duration(url, "longest_lease", LONGEST_MIN_MS,
                            LONGEST_MAX_MS, &s->pair.longest_ms, s->t.err);
}

/* ---- is it the primary? */

bool hf__primary_is_fresh(const struct hf__mysql *s, const struct hf__view *v)
{
    return v->idle_us < s->pair.longest_ms * 1000 / USED_PART;
}

/* Was it in use, and not restarted since? Another may have been the primary
 * while it was down. */
static bool is_in_use(const struct hf__mysql *s, const struct hf__view *v)
{
    return hf__primary_is_fresh(s, v) && hf__primary_has_run(s, v);
}

bool hf__primary_has_run(const struct hf__mysql *s, const struct hf__view *v)
{
    return v->idle_us < (s->server.uptime_s - 1) * INT64_C(1000000);
}

static void be_primary(struct hf__mysql *s, const struct hf__view *v)
{
    struct hf__pair *p = &s->pair;

    p->is_on = true;
    p->server_id = v->id;
    p->epoch = v->epoch;
    p->shown_at = (hf__time){0};
    p->grants_at = v->waits_us > 0
                       ? hf__after_ms(hf__now(), v->waits_us / 1000 + 1)
                       : (hf__time){0};
    s->t.head.server_info.server_id = s->server.server_id;
}

/* Clients that name one host have rows without a tag, which no client here
 * reads. */
static int refuse_untagged(struct hf__mysql *s)
{
    MYSQL_ROW row;
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(
        &s->sql,
        "SELECT EXISTS(SELECT 1 FROM holdfast_lock WHERE " HF__SQL_PLAIN
        " AND expires>" HF__SQL_NOW
        ")+EXISTS(SELECT 1 FROM holdfast_beside WHERE " HF__SQL_PLAIN
        " AND expires>" HF__SQL_NOW " AND ended=0)");
    r = hf__mysql_run(s);
    if (r != HF_OK) {
        return r;
    }
    row = hf__wire_row(s);
    return row != NULL && hf__column_u64(row[0]) == 0
               ? HF_OK
               : hf__fail(s->t.err, HF_EUNSAFE,
                          "url: locks are held here by clients that name one "
                          "host: stop those clients, and name the same hosts "
                          "in every client's url");
}

int hf__primary_refuse_other(struct hf__mysql *s, const struct hf__view *v)
{
    return v->latest_longest_us == s->pair.longest_ms * 1000 ||
                   v->latest_idle_us >= v->latest_longest_us
               ? HF_OK
               : hf__fail(s->t.err, HF_EINVAL,
                          "longest_lease: %" PRId64 " ms, and those who lock "
                          "here have %" PRId64 " ms: name the same in all urls",
                          s->pair.longest_ms, v->latest_longest_us / 1000);
}

/* Check what all clients of the server must have in common. */
static int refuse_unfit(struct hf__mysql *s, const struct hf__view *v)
{
    int r;

    if (s->server.logs_statements) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "binlog_format is STATEMENT: with it a replica may "
                        "compute rows of its own; set it to MIXED or ROW");
    }
    r = hf__primary_refuse_other(s, v);
    return r == HF_OK ? refuse_untagged(s) : r;
}

static int enter(struct hf__mysql *s, const struct hf__view *v, bool is_it)
{
    int r;

    if (!v->is_writable) {
        return hf__fail(s->t.err, HF_EUNAVAIL,
                        "the server is read-only: it is not the primary");
    }
    if (!is_it || !v->is_settled || v->epoch <= v->top) {
        s->pair.n_candidates++;
        return hf__fail(s->t.err, HF_EUNAVAIL,
                        "the server is not the primary yet");
    }
    r = refuse_unfit(s, v);
    if (r == HF_OK) {
        be_primary(s, v);
    }
    return r;
}

int hf__primary_meet(struct hf__mysql *s, size_t host)
{
    struct hf__view v;
    int r = hf__view_read(s, NULL, &v);

    if (r == HF_OK && v.is_writable) {
        s->pair.candidate = host;
        s->pair.is_proven = v.is_proven;
    }
    return r == HF_OK ? enter(s, &v, is_in_use(s, &v)) : r;
}

int hf__primary_enter(struct hf__mysql *s)
{
    struct hf__view v;
    int r = hf__view_read(s, NULL, &v);

    return r == HF_OK ? enter(s, &v, v.idle_us < hf__pair_idle_max_us(&s->pair))
                      : r;
}

/* If nobody could settle a row, a client tried servers that do not replicate
 * each other; such a row does not count. */
int hf__primary_refuse_alone(struct hf__mysql *s)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "SELECT 1 FROM holdfast_server WHERE is_settled=1 OR "
                          "is_proven=1 LIMIT 1");
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error != 0) {
        return s->reply.error == HF__NO_TABLE || s->reply.error == NO_GRANTS
                   ? HF_OK
                   : hf__mysql_fail(s, s->t.err);
    }
    return r != HF_OK || hf__wire_row(s) == NULL
               ? r
               : hf__fail(s->t.err, HF_EUNSAFE,
                          "url: this server is one of several that replicate "
                          "each other, and other clients name all: name the "
                          "same, mysql://h1,h2/… (or drop holdfast_server "
                          "when nobody locks here)");
}

/* ---- check() */

/* A server that had been the primary was still in use when a later one granted:
 * both could be written to, and neither knew of the other. */
#define OVERLAPS                                                               \
    "SELECT a.server_id,b.server_id FROM holdfast_server a,holdfast_server b " \
    "WHERE a.epoch<b.epoch AND b.is_settled=1 AND a.shown_at>b.grants_from"

int hf__primary_check(struct hf__mysql *s, struct hf__report *to)
{
    char value[96];
    MYSQL_ROW row;
    struct hf__view v;
    int r;

    if (!s->pair.is_on) {
        return HF_OK;
    }
    r = hf__view_read(s, NULL, &v);
    if (r != HF_OK) {
        return r;
    }
    (void)snprintf(value, sizeof value, "server %" PRIu32 ", epoch %" PRIu64,
                   v.id, v.epoch);
    hf__report_tell(to, "primary", value, HF_FINE, NULL);
    (void)snprintf(value, sizeof value, "%" PRId64 " ms", s->pair.longest_ms);
    hf__report_tell(to, "longest_lease", value, HF_FINE, NULL);
    (void)snprintf(value, sizeof value, "in %" PRId64 " ms", v.waits_us / 1000);
    hf__report_tell(to, "new_grants", v.waits_us > 0 ? value : "now",
                    v.waits_us > 0 ? HF_WARN : HF_FINE,
                    "it has become the primary, and the others could not show "
                    "that it has all that they have granted");
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, OVERLAPS);
    r = hf__mysql_run(s);
    row = r == HF_OK ? hf__wire_row(s) : NULL;
    (void)snprintf(value, sizeof value, "%s and %s were it at once",
                   row == NULL ? "" : row[0], row == NULL ? "" : row[1]);
    hf__report_tell(to, "two_primaries", row == NULL ? "none seen" : value,
                    row == NULL ? HF_FINE : HF_WARN,
                    "both could be written to, and locks may have been held "
                    "twice: let no server start without read_only");
    return r;
}
