/* SPDX-License-Identifier: MIT */
/*
 * The store mysql:// of scheme=table. This file opens, closes and interrupts a
 * session, and ends the connection of a session that died before it; mysql.h
 * says where the rest is. Called as backend.h says.
 */
#include "src/backend/mysql/mysql.h"

#include "src/backend/mysql/galera.h"
#include "src/backend/mysql/schema.h"
#include "src/backend/mysql/target.h"

#include <stdlib.h>

/* The longest time that a sent packet can take on the server: it has some
 * statements, and each may wait for a lock. */
#define STALE_MS 5000
/* A killed session ends at once, or when its disk lets it. */
#define ENDS_MS 1000

/* ---- ending a dead session: each session holds, while it lives, one user lock
 * with a random name, its mark */

/* *ret_id: the connection that has the mark; 0: none. */
static int find(struct hf__mysql *s, uint64_t mark, uint64_t *ret_id)
{
    MYSQL_ROW row;
    int r;

    *ret_id = 0;
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql, "SELECT IS_USED_LOCK('hp.%016llxb')",
                  (unsigned long long)mark);
    r = hf__wire_run(s);
    if (r != HF_OK || s->reply.error != 0) {
        return r == HF_OK ? hf__mysql_dead(s) : r;
    }
    row = hf__wire_row(s);
    if (row != NULL && row[0] != NULL) {
        *ret_id = strtoull(row[0], NULL, 10);
    }
    return HF_OK;
}

/* If the connection has already ended, or we have no right to end it, the next
 * find() shows that. */
static int end_connection(struct hf__mysql *s, uint64_t id)
{
    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql, "KILL %llu", (unsigned long long)id);
    return hf__wire_run(s);
}

static int end_marked(void *state, uint64_t mark, bool *ret_is_gone)
{
    struct hf__mysql *s = state;
    hf__time until = hf__after_ms(hf__now(), ENDS_MS);
    uint64_t id;
    int r = find(s, mark, &id);

    if (r == HF_OK && id != 0) {
        r = end_connection(s, id);
    }
    while (r == HF_OK && id != 0 && hf__before(hf__now(), until)) {
        r = find(s, mark, &id);
        if (r == HF_OK && id != 0) {
            hf__table_rest(&s->t, hf__after_ms(hf__now(), 2));
        }
    }
    *ret_is_gone = r == HF_OK && id == 0;
    return r;
}

/* ---- the calls */

static int mysql_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    int r;

    hf__table_begin(&s->t, deadline, err);
    r = hf__wire_init(s);
    if (r == HF_OK) {
        r = hf__mysql_target_connect(s, url, allow, deadline);
    }
    if (r == HF_OK) {
        s->t.wait_ops = &hf__mysql_wait_ops;
        s->t.has_wake_locks = s->server.has_wake_locks;
        s->t.server_id = s->server.server_id;
        s->t.mark = s->server.mark;
        r = hf__stale_end(&s->t, end_marked);
    }
    if (r == HF_OK) {
        r = hf__mysql_schema_ready(s, s->pair.is_on ? &hf__mysql_pair_tables
                                                    : &hf__mysql_tables);
    }
    if (r == HF_OK && !s->pair.is_on && !s->server.is_galera &&
        s->server.has_pair_table) {
        r = hf__primary_refuse_alone(s);
    }
    return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r; /* no lock was touched */
}

static void mysql_close_session(void *state)
{
    struct hf__mysql *s = state;

    s->wire.is_dead |= hf__wait_state_is_owed(&s->t.wait_state);
    hf__stale_leave(&s->t, s->wire.is_dead,
                    s->server.is_galera ? HF__GALERA_STALE_MS : STALE_MS);
    hf__wire_fini(s);
    hf__text_fini(&s->sql);
    hf__text_fini(&s->stale);
}

void hf__mysql_interrupt(void *state)
{
    struct hf__mysql *s = state;

    hf__waker_wake(&s->t.waker);
}

static const char *mysql_ddl(const struct hf__url *url)
{
    return hf__mysql_schema_ddl(url->n_hosts > 1);
}

#define CAPS                                                                   \
    (HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |              \
     HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |               \
     HF_CAP_SLOTS | HF_CAP_CELLS | HF__CAP_WAIT_ONE)

/* Servers that replicate each other have no cells: a cell written on one may be
 * missing on the other that takes over. Several hosts may also be nodes of
 * Galera, unless the URL has longest_lease; the session finds out. */
static unsigned mysql_caps(const struct hf__url *url)
{
    return hf__url_option(url, "longest_lease") == NULL ? CAPS
                                                        : CAPS & ~HF_CAP_CELLS;
}

const struct hf__backend hf__mysql_table_backend = {
    .scheme = "mysql",
    .caps = CAPS,
    .caps_of = mysql_caps,
    .size = sizeof(struct hf__mysql),
    .open = mysql_open,
    .close = mysql_close_session,
    .execute = hf__pair_execute,
    .wait = hf__pair_wait,
    .list = hf__mysql_list,
    .gc = hf__mysql_gc,
    .cell = hf__mysql_cell,
    .check = hf__mysql_check,
    .ddl = mysql_ddl,
    .interrupt = hf__mysql_interrupt,
};
