/* SPDX-License-Identifier: MIT */
/*
 * Reading a server's settings and its copy of holdfast_server; the guard by
 * which each packet checks them again; and the tag of a server's keys. Called
 * by the session's thread.
 */
#include "src/backend/mysql/pair.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/row.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>

/* A server that was unused for less than this part of longest_lease is still
 * the primary for a client that stayed connected to it. */
#define USED_PARTS(ms) ((ms)*3 / 4)

/* Columns of the server's own row; 0 if there is none. */
static const char *const of_own[] = {"epoch",
                                     "is_settled",
                                     (HF__SQL_NOW "-shown_at"),
                                     ("grants_from-" HF__SQL_NOW),
                                     "longest",
                                     "prior"};

/* Maxima over all rows. */
static const char *const of_all[] = {"is_proven", "longest",
                                     "IF(server_id=@@server_id,0,shown_at)"};

static void add_view(struct hf__text *t, const struct hf__view *other)
{
    hf__text_clear(t);
    hf__text_add(t, "SELECT @@server_id,CAST(@@global.read_only AS CHAR)"
                    "IN('0','OFF')," HF__SQL_NOW);
    for (size_t i = 0; i < sizeof of_own / sizeof *of_own; i++) {
        hf__text_addf(t, ",COALESCE(MAX(IF(server_id=@@server_id,%s,0)),0)",
                      of_own[i]);
    }
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) {
        hf__text_addf(t, ",COALESCE(MAX(%s),0)", of_all[i]);
    }
    if (other == NULL) {
        hf__text_add(t,
                     ",COALESCE(MAX(IF(server_id<>@@server_id,epoch,0)),0),0");
    } else {
        hf__text_addf(t,
                      ",COALESCE(MAX(IF(server_id<>%" PRIu32
                      ",epoch,0)),0),COALESCE(MAX(IF(server_id=%" PRIu32
                      " AND mark=x'%s',epoch,0)),0)",
                      other->id, other->id, other->mark);
    }
    hf__text_add(t, ",COALESCE(MAX(IF(server_id=@@server_id,HEX(mark),'')),''),"
                    "(SELECT longest FROM holdfast_server ORDER BY epoch DESC "
                    "LIMIT 1),(SELECT " HF__SQL_NOW "-shown_at FROM "
                    "holdfast_server ORDER BY epoch DESC LIMIT 1)"
                    " FROM holdfast_server");
}

static void read_view(MYSQL_ROW row, struct hf__view *v)
{
    v->id = (uint32_t)hf__column_u64(row[0]);
    v->is_writable = hf__column_u64(row[1]) != 0;
    v->now_us = hf__column_i64(row[2]);
    v->epoch = hf__column_u64(row[3]);
    v->is_settled = hf__column_u64(row[4]) != 0;
    v->idle_us = hf__column_i64(row[5]);
    v->waits_us = hf__column_i64(row[6]);
    v->longest_us = hf__column_i64(row[7]);
    v->prior = hf__column_u64(row[8]);
    v->is_proven = hf__column_u64(row[9]) != 0;
    v->longest_of_all_us = hf__column_i64(row[10]);
    v->others_shown_at = hf__column_i64(row[11]);
    v->top = hf__column_u64(row[12]);
    v->other_epoch = hf__column_u64(row[13]);
    (void)snprintf(v->mark, sizeof v->mark, "%s", row[14]);
    v->latest_longest_us = row[15] == NULL ? 0 : hf__column_i64(row[15]);
    v->latest_idle_us = row[16] == NULL ? 0 : hf__column_i64(row[16]);
}

int hf__view_read(struct hf__mysql *s, const struct hf__view *other,
                  struct hf__view *ret_view)
{
    MYSQL_ROW row;
    int r;

    *ret_view = (struct hf__view){.asked = hf__now()};
    add_view(&s->sql, other);
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error == HF__NO_TABLE) {
        hf__text_clear(&s->sql);
        hf__text_add(&s->sql, "SELECT @@server_id,CAST(@@global.read_only AS "
                              "CHAR)IN('0','OFF')," HF__SQL_NOW
                              ",0,0,0,0,0,0,0,0,0,0,0,'',0,0");
        r = hf__wire_run(s);
    }
    if (r != HF_OK || s->reply.error != 0) {
        return r != HF_OK ? r : hf__mysql_fail(s, s->t.err);
    }
    row = hf__wire_row(s);
    if (row == NULL || row[0] == NULL || row[1] == NULL || row[14] == NULL) {
        return hf__fail(s->t.err, HF_EPROTO,
                        "holdfast_server makes no sense: it was changed by "
                        "somebody else");
    }
    read_view(row, ret_view);
    return HF_OK;
}

/* ---- the guard of each packet */

int64_t hf__pair_idle_max_us(const struct hf__pair *p)
{
    return USED_PARTS(p->longest_ms) * 1000;
}

/* The condition is read before the writes, not in them; if the server becomes
 * read-only after that, it refuses the writes itself. A false condition gives
 * two rows where only one is allowed: error 1242, which ends the packet. */
int hf__pair_guard(struct hf__mysql *s)
{
    const struct hf__pair *p = &s->pair;
    struct hf__text *t = &s->sql;
    hf__time now;

    if (!p->is_on) {
        return 0;
    }
    hf__text_addf(t,
                  "SET @hf_primary=(SELECT 1 UNION ALL SELECT 2 FROM DUAL "
                  "WHERE NOT COALESCE(CAST(@@global.read_only AS CHAR)"
                  "IN('0','OFF') AND (SELECT SUM(server_id=%" PRIu32
                  " AND epoch=%" PRIu64 " AND shown_at>" HF__SQL_NOW "-%" PRId64
                  ")=1 AND SUM(server_id<>%" PRIu32 " AND epoch>=%" PRIu64
                  ")=0 FROM holdfast_server),0));",
                  p->server_id, p->epoch, hf__pair_idle_max_us(p), p->server_id,
                  p->epoch);
    now = hf__now();
    if (hf__before(now,
                   hf__after_ms(p->shown_at, SHOWN_PARTS(p->longest_ms)))) {
        return 1;
    }
    s->pair.shown_at = now;
    hf__text_addf(t,
                  "UPDATE holdfast_server SET shown_at=" HF__SQL_NOW
                  " WHERE server_id=%" PRIu32 " AND epoch=%" PRIu64
                  " AND shown_at BETWEEN " HF__SQL_NOW "-%" PRId64
                  " AND " HF__SQL_NOW "-%" PRId64 ";",
                  p->server_id, p->epoch, hf__pair_idle_max_us(p),
                  SHOWN_PARTS(p->longest_ms) * 1000 / 2);
    return 2;
}

/* ---- keys */

void hf__pair_write_tag(uint32_t server_id, char to[HF__TAG_SIZE + 1])
{
    (void)snprintf(to, HF__TAG_SIZE + 1, ";%08" PRIx32, server_id);
}

void hf__pair_add_tag(struct hf__text *t, uint32_t server_id)
{
    char tag[HF__TAG_SIZE + 1];

    hf__pair_write_tag(server_id, tag);
    hf__text_hex(t, tag, HF__TAG_SIZE);
}
