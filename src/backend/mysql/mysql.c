/* SPDX-License-Identifier: MIT */
/*
 * The store mysql:// of scheme=table. Here a session is opened,
 * closed and interrupted; see mysql.h for where the rest is. Called as
 * backend.h says.
 */
#include "src/backend/mysql/mysql.h"

#include "src/backend/mysql/ghost.h"
#include "src/backend/mysql/place.h"
#include "src/backend/mysql/schema.h"

void hf__mysql_begin(struct hf__mysql *s, hf__time deadline, hf_error *err)
{
    s->deadline = deadline;
    s->err = err;
}

static int mysql_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    int r;

    hf__mysql_begin(s, deadline, err);
    r = hf__wire_init(s);
    if (r == HF_OK) {
        r = hf__mysql_place_connect(s, url, allow, deadline);
    }
    if (r == HF_OK) {
        r = hf__ghost_end(s);
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

    s->wire.is_dead |= hf__parked_is_owed(&s->parked);
    hf__ghost_leave(s);
    hf__wire_fini(s);
    hf__text_fini(&s->sql);
    hf__text_fini(&s->stale);
}

void hf__mysql_interrupt(void *state)
{
    struct hf__mysql *s = state;

    hf__wire_wake(&s->wire);
}

static const char *mysql_ddl(const struct hf__url *url)
{
    return hf__mysql_schema_ddl(url->n_hosts > 1);
}

#define CAPS                                                                   \
    (HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |              \
     HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR | HF_CAP_SHARED |               \
     HF_CAP_SLOTS | HF_CAP_CELLS | HF__CAP_WAIT_ONE)

/* Servers that replicate each other have no cells: what one has put need not be
 * on the other that takes over. Several hosts may be nodes of Galera as well,
 * unless the URL says otherwise; then the session finds out. */
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
    .list = hf__pair_list,
    .gc = hf__pair_gc,
    .cell = hf__mysql_cell,
    .check = hf__mysql_check,
    .ddl = mysql_ddl,
    .interrupt = hf__mysql_interrupt,
};
