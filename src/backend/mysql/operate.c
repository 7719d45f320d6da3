/* SPDX-License-Identifier: MIT */
/*
 * What operators ask of a name: who has it, and to end that. Called by the
 * session's thread.
 */
#include "src/backend/mysql/crowded.h"

#include "src/base/error.h"

int hf__mysql_crowd_inspect(struct hf__mysql_change *c,
                            const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;

    op->result = name->row.is_damaged ? hf__mysql_crowd_damaged(op) : HF_OK;
    op->fence = name->row.fence;
    hf__mysql_name_tell(name, op->ret_record);
    if (op->ret_crowd == NULL) {
        return HF_OK;
    }
    op->ret_crowd->n = 0; /* of an attempt before */
    if (hf__mysql_name_tell_all(name, op->ret_crowd) != HF_OK) {
        op->result = hf__fail(op->err, HF_ENOMEM, "out of memory for a look");
    }
    return HF_OK;
}

/* ---- breaking */

static bool is_meant(const struct hf__op *op,
                     const struct hf__mysql_grant *grant)
{
    return hf__mysql_grant_runs(grant) &&
           (op->fence == 0 || op->fence == grant->fence);
}

/* Of the name's own record: is there something to break? */
static bool is_breakable(const struct hf__op *op,
                         const struct hf__mysql_row *row)
{
    return (hf__mysql_row_is_held(row) || hf__mysql_row_is_kept(row)) &&
           (op->fence == 0 || op->fence == row->fence);
}

/* The record is told of the one that was meant, or of the first to end. */
static int tell_meant(const struct hf__op *op,
                      const struct hf__mysql_name *name)
{
    int n = 0;

    hf__mysql_name_tell(name, op->ret_record);
    for (int i = 0; i < name->n_grants; i++) {
        if (!is_meant(op, &name->grants[i])) {
            continue;
        }
        n++;
        if (op->fence != 0 && op->ret_record != NULL) {
            hf__mysql_grant_tell(&name->grants[i], op->ret_record);
        }
    }
    return n;
}

/* Rows beside stay, so that their holders can hear what became of them. */
static void end_beside(struct hf__mysql_change *c)
{
    hf__text_add(c->sql, ";UPDATE holdfast_beside SET ended=1 "
                         "WHERE name_key=");
    hf__text_key(c->sql, &c->op->key);
    hf__text_add(c->sql, HF__CHANGED " AND ended=0 AND expires>" HF__SQL_NOW);
    if (c->op->fence != 0) {
        hf__text_addf(c->sql, " AND fence=%llu",
                      (unsigned long long)c->op->fence);
    }
}

int hf__mysql_crowd_break(struct hf__mysql_change *c,
                          const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;
    bool is_own = is_breakable(op, &name->row);
    int n_beside = tell_meant(op, name);
    uint64_t fence = hf__fence_after(name->row.fence, name->now_us);
    int r;

    if (name->row.is_damaged) {
        op->result = hf__mysql_crowd_damaged(op);
        return HF_OK;
    }
    if (!is_own && n_beside == 0) {
        op->result = HF_CONFLICT;
        return HF_OK;
    }
    c->frees = is_own ? &name->row.token : NULL;
    hf__mysql_change_begin(c);
    hf__text_addf(c->sql,
                  ",changed_at=GREATEST(changed_at," HF__SQL_NOW "),fence=%llu",
                  (unsigned long long)fence);
    if (is_own) {
        hf__text_addf(c->sql, ",token='',expires=0,keep_until=0,broken=%llu",
                      (unsigned long long)name->row.fence);
    }
    hf__mysql_change_where(c, name);
    hf__mysql_change_then(c);
    if (n_beside > 0) {
        end_beside(c);
    }
    r = hf__mysql_change_send(c);
    if (c->is_done) {
        op->result = HF_OK;
        op->fence = fence;
    }
    return r;
}
