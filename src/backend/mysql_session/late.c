/* SPDX-License-Identifier: MIT */
/*
 * Answers that come when nobody waits for them any more. What one says of the
 * locks that are held is true as of when it was asked for, and renews them as
 * of then: where a network is slow no other kind comes. One answer of a line is
 * under way at a time, so each is about all its locks there. Called by the
 * front's thread, which has taken the line.
 */
#include "src/backend/mysql_session/scheme.h"

#include "src/backend/mysql/row.h"

/* An answer of a network that is not slow. */
#define WELL_MS 20

/* A line apart has its lock as long as its transaction goes on, too. */
static bool is_alive(struct hf__ul_front *f, const struct hf__ul_line *line,
                     MYSQL_ROW row)
{
    return hf__ul_is_same(f, row) &&
           (!line->is_apart || (f->mysql.wire.handle->server_status &
                                SERVER_STATUS_IN_TRANS) != 0);
}

void hf__ul_late_hear(struct hf__ul_front *f, const struct hf__ul_line *line)
{
    MYSQL_RES *rows = f->mysql.reply.rows;
    unsigned n = rows == NULL ? 0 : mysql_num_fields(rows);
    MYSQL_ROW row = n == 0 ? NULL : hf__ul_row(f, n);
    HF_SCOPED_LOCK(&f->link->mutex);

    if (row == NULL || !is_alive(f, line, row)) {
        return;
    }
    HF__LIST_EACH (it, &line->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_line);

        if (lock->state == HF__UL_HELD && lock->question == line->question &&
            lock->column < n &&
            hf__column_u64(row[lock->column]) == line->connection_id) {
            lock->heard = line->asked;
        }
    }
}

static bool renews_only(const struct hf__ul_front *f)
{
    for (int i = 0; i < f->n_tasks; i++) {
        if (f->tasks[i].op->kind != HF__OP_RENEW) {
            return false;
        }
    }
    return f->n_tasks > 0;
}

/* A renewal that would wait in vain, going by the answer before, gives up at
 * once, unless the network is well again, and is tried again soon: so it keeps
 * no other from what has come for that. */
hf__time hf__ul_late_until(const struct hf__ul_front *f,
                           const struct hf__ul_line *line, hf__time limit)
{
    hf__time expected =
        hf__after_ns(line->asked, atomic_load(&f->link->took_ns));
    bool is_vain = renews_only(f) && hf__before(limit, expected);

    return is_vain ? hf__earlier(limit, hf__after_ms(hf__now(), WELL_MS))
                   : limit;
}

void hf__ul_late_take(struct hf__ul_front *f, const struct hf__ul_line *line)
{
    HF_SCOPED_LOCK(&f->link->mutex);

    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];
        struct hf__ul_lock *lock;

        if (t->stage != HF__UL_TO_ASK || t->op->kind != HF__OP_RENEW) {
            continue;
        }
        lock = hf__ul_lock_of(f->link, &t->op->token);
        if (lock != NULL && lock->line == line && lock->heard.ns != 0 &&
            hf__wire_look(&f->mysql) == HF_OK) {
            t->op->sent = lock->heard;
            t->op->fence = lock->fence;
            t->op->result = HF_OK;
            t->stage = HF__UL_OVER;
            lock->heard = (hf__time){0};
        }
    }
}
