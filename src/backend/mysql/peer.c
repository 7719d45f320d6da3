/* SPDX-License-Identifier: MIT */
/*
 * Reading another server of the same system, by a second connection that the
 * session uses in place of its own meanwhile. A grant of that server that ours
 * lacks could be held twice. Three facts show that there is none: it is
 * read-only; the highest epoch that it knows of is ours, so that its clients
 * stop even if it became writable again; and ours has all that is in its log,
 * if it ever was the primary. Called by the session's thread when it opens.
 */
#include "src/backend/mysql/pair.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pause between two reads. */
#define LOOK_MS 10
/* Time limit of a server that is asked only once. */
#define ONCE_MS 1000
/* Bytes for the longest list of positions: some dozen servers and domains. */
#define POSITIONS 2048

/* ---- a second connection */

/* The waker stays: another thread may be using it. */
static void swap(struct hf__wire *a, struct hf__wire *b)
{
    const struct hf__wire was = *a;

    a->handle = b->handle;
    a->fd = b->fd;
    a->is_suspended = b->is_suspended;
    a->is_dead = b->is_dead;
    b->handle = was.handle;
    b->fd = was.fd;
    b->is_suspended = was.is_suspended;
    b->is_dead = was.is_dead;
}

/* ---- positions in logs */

/* The positions in the server's own log and those it has applied from others:
 * the last of each, "domain-server-number,…"; "" if there is no such list
 * (MySQL). */
static int read_positions(struct hf__mysql *s, char to[POSITIONS])
{
    MYSQL_ROW row;
    int r;

    to[0] = '\0';
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "SELECT CONCAT_WS(',',NULLIF("
                          "@@global.gtid_binlog_state,''),"
                          "NULLIF(@@global.gtid_slave_pos,''))");
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error == 0 && (row = hf__wire_row(s)) != NULL &&
        row[0] != NULL && strlen(row[0]) < POSITIONS) {
        memcpy(to, row[0], strlen(row[0]) + 1);
    }
    return r;
}

struct position {
    uint64_t domain;
    uint64_t server;
    uint64_t number;
};

/* False at the end, or if the text is no position. */
static bool next_position(const char **text, struct position *ret_at)
{
    uint64_t *const parts[] = {&ret_at->domain, &ret_at->server,
                               &ret_at->number};

    for (int i = 0; i < 3; i++) {
        char *end = NULL;

        *parts[i] = strtoull(*text, &end, 10);
        if (end == *text || (i < 2 && *end != '-')) {
            return false;
        }
        *text = *end == '\0' ? end : end + 1;
    }
    return true;
}

static bool is_in(const struct position *wanted, const char *list)
{
    struct position at;

    while (next_position(&list, &at)) {
        if (at.domain == wanted->domain && at.server == wanted->server &&
            at.number >= wanted->number) {
            return true;
        }
    }
    return false;
}

/* Have we everything that the other's list names? False if the list is
 * empty. */
static bool is_all_in(const char *theirs, const char *ours)
{
    bool has_any = *theirs != '\0';
    struct position at;

    while (next_position(&theirs, &at)) {
        if (!is_in(&at, ours)) {
            return false;
        }
    }
    return has_any && *theirs == '\0';
}

/* ---- reading */

struct looking {
    struct hf__mysql *s;
    const struct hf__wire_target *target;
    const struct hf__view *ours;
    struct hf__wire wire; /* to the other; to ours while the session uses the
                             other */
    struct hf__server server;
    struct hf__peer *peer;
    char theirs[POSITIONS];
    char own[POSITIONS];
};

static void change_sides(struct looking *l)
{
    const struct hf__server was = l->s->server;

    swap(&l->s->wire, &l->wire);
    l->s->server = l->server;
    l->server = was;
}

/* How far its clock is ahead of ours. The time between the two readings counts
 * as if it had all passed before the second, so the value is the least
 * possible, and its grants last here until they surely are over. */
static void note_clock(struct looking *l)
{
    int64_t passed_us = hf__between_ns(l->ours->asked, hf__now()) / 1000;

    l->peer->ahead_us = l->peer->view.now_us - (l->ours->now_us + passed_us);
}

/* A server that can't be asked shows nothing. */
static void ask_other(struct looking *l)
{
    struct hf__mysql *s = l->s;
    int r = HF_OK;

    l->peer->view = (struct hf__view){0};
    if (s->wire.handle == NULL || s->wire.is_dead) {
        r = hf__wire_connect(s, l->target, s->t.deadline);
        /* Else each read would see the first one's snapshot. */
        if (r == HF_OK) {
            hf__text_clear(&s->sql);
            hf__text_add(&s->sql, "SET SESSION autocommit=1");
            r = hf__wire_run(s);
        }
    }
    /* HF_EINVAL: it does not have the database yet. */
    l->peer->is_reached = r == HF_OK || r == HF_EINVAL;
    if (r == HF_OK) {
        r = hf__view_read(s, l->ours, &l->peer->view);
    }
    if (r == HF_OK) {
        note_clock(l);
        r = read_positions(s, l->theirs);
    }
    l->peer->is_known |= r == HF_OK && l->peer->view.other_epoch != 0;
    if (r != HF_OK) {
        l->peer->view = (struct hf__view){0};
        s->wire.is_dead = s->wire.handle != NULL;
    }
}

static bool grants_no_more(const struct hf__view *v)
{
    return v->other_epoch > v->top && !v->is_writable;
}

/* HF_OK, or the connection to ours is dead. */
static int ask_both(struct looking *l)
{
    const struct hf__view *v = &l->peer->view;
    int r = HF_OK;

    change_sides(l);
    ask_other(l);
    change_sides(l);
    if (grants_no_more(v) && v->epoch != 0) {
        r = read_positions(l->s, l->own);
    }
    l->peer->has_all = r == HF_OK && grants_no_more(v) &&
                       (v->epoch == 0 || is_all_in(l->theirs, l->own));
    return r;
}

int hf__peer_look(struct hf__mysql *s, const struct hf__wire_target *target,
                  const struct hf__view *ours, hf__time until,
                  struct hf__peer *ret_peer)
{
    struct looking l = {.s = s, .target = target, .ours = ours, .wire.fd = -1};
    hf__time deadline = s->t.deadline;
    int r;

    l.peer = ret_peer;
    *ret_peer = (struct hf__peer){0};
    s->t.deadline = hf__earlier(
        deadline, hf__later(until, hf__after_ms(hf__now(), ONCE_MS)));
    do {
        r = ask_both(&l);
        if (r != HF_OK || ret_peer->has_all || ret_peer->view.is_writable ||
            !hf__before(hf__now(), until) || hf__is_interrupted(&s->t.head)) {
            break;
        }
        hf__table_rest(&s->t, hf__after_ms(hf__now(), LOOK_MS));
    } while (true);
    change_sides(&l);
    hf__wire_disconnect(s);
    change_sides(&l);
    s->t.deadline = deadline;
    return r;
}
