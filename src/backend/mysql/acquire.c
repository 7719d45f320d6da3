/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE of any name: the rule of crowd.h decides, here is what is then
 * written. A claim that gets a place in line does not mind who else changed
 * the name meanwhile: it looks again when it begins to wait. Called by the
 * session's thread.
 */
#include "src/backend/mysql/crowded.h"

#include "src/base/error.h"

/* A claim in line that asks again is shown to be there, not more often. */
#define SHOW_US (HF__TICKET_PATIENCE_MS * INT64_C(1000) / 8)

int hf__mysql_crowd_damaged(const struct hf__op *op)
{
    return hf__fail(op->err, HF_EPROTO,
                    "the rows of this lock in holdfast_lock or "
                    "holdfast_beside were changed by somebody else and make "
                    "no sense; delete them when nobody uses the lock");
}

/* ---- granting */

static unsigned crowd_after(const struct hf__mysql_name *name,
                            const struct hf__token *token, bool is_alone)
{
    bool has_beside =
        !is_alone || hf__mysql_beside_will_remain(name, token, is_alone);
    bool has_line = hf__mysql_line_will_remain(name, token);

    return (has_beside ? HF__CROWD_BESIDE : 0U) |
           (has_line ? HF__CROWD_LINE : 0U);
}

/* The rest of the record of a grant, or of nobody's. */
static void set_record(struct hf__mysql_change *c,
                       const struct hf__mysql_name *name,
                       const struct hf__token *token, uint64_t fence)
{
    static const struct hf__owner nobody;
    bool is_alone = token != NULL;
    const struct hf__op *op = c->op;

    hf__text_addf(c->sql,
                  ",fence=%llu,crowd=%u,acquired_at=" HF__SQL_NOW
                  ",changed_at=GREATEST(changed_at," HF__SQL_NOW ")"
                  ",detached=%d,token=",
                  (unsigned long long)fence,
                  crowd_after(name, is_alone ? token : &op->token, is_alone),
                  (int)(is_alone && op->is_detached));
    if (is_alone) {
        hf__text_token(c->sql, token);
        hf__text_addf(c->sql, ",expires=" HF__SQL_NOW "+%lld",
                      (long long)op->lease_us);
    } else {
        hf__text_add(c->sql, "'',expires=0");
    }
    if (is_alone && op->keep_us > 0) {
        hf__text_addf(c->sql, ",keep_until=" HF__SQL_NOW "+%lld,",
                      (long long)op->keep_us);
    } else {
        hf__text_add(c->sql, ",keep_until=0,");
    }
    hf__mysql_owner_set(c->sql, is_alone ? op->owner : &nobody);
}

/* Is there anything of others that has run out, and was not ended? */
static bool takes_over(const struct hf__mysql_name *name,
                       const struct hf__token *token)
{
    bool takes_over = !hf__token_is_zero(&name->row.token) &&
                      !hf__token_equal(&name->row.token, token);

    for (int i = 0; i < name->n_grants; i++) {
        const struct hf__mysql_grant *g = &name->grants[i];

        takes_over |= g->expires_in <= 0 && !g->is_ended &&
                      !hf__token_equal(&g->token, token);
    }
    return takes_over;
}

static int granted(struct hf__mysql_change *c, uint64_t fence, int slot)
{
    int r = hf__mysql_change_send(c);

    if (c->is_done) {
        c->op->result = HF_OK;
        c->op->fence = fence;
        c->op->slot = slot;
    }
    return r;
}

int hf__mysql_crowd_grant_alone(struct hf__mysql_change *c,
                                const struct hf__mysql_name *name,
                                const struct hf__token *token)
{
    bool is_handover = !hf__token_equal(token, &c->op->token);
    uint64_t fence = hf__fence_after(name->row.fence, name->now_us);

    c->takes = c->op->is_detached ? NULL : token;
    hf__mysql_change_begin(c);
    set_record(c, name, token, fence);
    hf__mysql_change_where(c, name);
    if (is_handover) {
        hf__text_add(c->sql, " AND expires>" HF__SQL_NOW);
    }
    hf__mysql_change_then(c);
    hf__mysql_beside_clear(c, name, token, true);
    hf__mysql_line_clear(c, name, token);
    return granted(c, fence, -1);
}

static int grant_beside(struct hf__mysql_change *c,
                        const struct hf__mysql_name *name, int slot)
{
    const struct hf__op *op = c->op;
    uint64_t fence = hf__fence_after(name->row.fence, name->now_us);

    c->takes = op->is_detached ? NULL : &op->token;
    hf__mysql_change_begin(c);
    set_record(c, name, NULL, fence);
    hf__mysql_change_where(c, name);
    hf__mysql_change_then(c);
    hf__mysql_beside_clear(c, name, &op->token, false);
    hf__mysql_beside_put(c, fence, slot);
    hf__mysql_line_clear(c, name, &op->token);
    return granted(c, fence, slot);
}

/* A second attempt of a claim whose first answer was lost. */
static int grant_alone_again(struct hf__mysql_change *c,
                             const struct hf__mysql_name *name)
{
    const struct hf__op *op = c->op;

    c->takes = op->is_detached ? NULL : &op->token;
    hf__mysql_change_begin(c);
    hf__text_add(c->sql, ",");
    hf__mysql_sql_prolong(c->sql, op->lease_us);
    hf__text_addf(c->sql, ",keep_until=IF(%d," HF__SQL_NOW "+%lld,0)",
                  (int)(op->keep_us > 0), (long long)op->keep_us);
    hf__text_addf(c->sql, ",detached=%d,", (int)op->is_detached);
    hf__mysql_owner_set(c->sql, op->owner);
    hf__mysql_change_where(c, name);
    hf__text_add(c->sql, " AND expires>" HF__SQL_NOW);
    hf__mysql_change_then(c);
    return granted(c, name->row.fence, -1);
}

static int grant_beside_again(struct hf__mysql_change *c,
                              const struct hf__mysql_name *name,
                              const struct hf__mysql_grant *own)
{
    const struct hf__op *op = c->op;

    c->takes = op->is_detached ? NULL : &op->token;
    hf__mysql_change_begin(c);
    hf__mysql_change_where(c, name);
    hf__mysql_change_then(c);
    hf__text_add(c->sql, ";UPDATE holdfast_beside SET ");
    hf__mysql_sql_prolong(c->sql, op->lease_us);
    hf__text_addf(c->sql, ",detached=%d,", (int)op->is_detached);
    hf__mysql_owner_set(c->sql, op->owner);
    hf__text_add(c->sql, " WHERE ");
    hf__mysql_sql_own(c->sql, &op->key, &op->token);
    hf__text_add(c->sql, HF__CHANGED " AND ended=0 AND expires>" HF__SQL_NOW
                                     ";SET @hf=IF(ROW_COUNT()=1,@hf,0)");
    return granted(c, own->fence, own->slot);
}

static bool is_same_grant(const struct hf__op *op,
                          const struct hf__mysql_grant *own)
{
    return own != NULL && hf__mysql_grant_runs(own) &&
           own->manner.mode == op->manner.mode &&
           own->manner.slots == op->manner.slots;
}

/* ---- standing in line */

/* At the end, behind all who are there when it runs. */
static int join_line(struct hf__mysql_change *c,
                     const struct hf__mysql_name *name)
{
    const struct hf__op *op = c->op;
    int r;

    hf__mysql_change_begin(c);
    hf__text_addf(c->sql, ",crowd=crowd|%d WHERE name_key=", HF__CROWD_LINE);
    hf__text_key(c->sql, &op->key);
    hf__mysql_change_then(c);
    hf__mysql_line_clear(c, name, &op->token);
    hf__text_add(c->sql,
                 ";INSERT INTO holdfast_ticket(name_key,seq,token,mode,slots,"
                 "since,asked,label,host,pid,thread,note) SELECT ");
    hf__text_key(c->sql, &op->key);
    hf__text_add(c->sql, ",GREATEST(COALESCE(MAX(seq),0)+1,(SELECT l.revision "
                         "FROM holdfast_lock l WHERE l.name_key=");
    hf__text_key(c->sql, &op->key);
    hf__text_add(c->sql, ")),");
    hf__text_token(c->sql, &op->token);
    hf__text_addf(c->sql, ",%d,%d," HF__SQL_NOW "," HF__SQL_NOW ",",
                  (int)op->manner.mode, op->manner.slots);
    hf__mysql_owner_values(c->sql, op->owner);
    hf__text_add(c->sql, " FROM holdfast_ticket WHERE name_key=");
    hf__text_key(c->sql, &op->key);
    hf__text_add(c->sql, " HAVING @hf=1");
    r = hf__mysql_change_send(c);
    if (c->is_done) {
        c->op->result = HF_BUSY;
        c->op->is_queued = true;
    }
    return r;
}

/* Of no matter to anybody's decision: whom it keeps in line is there. */
static int show_ticket(struct hf__mysql *s, struct hf__op *op,
                       const struct hf__mysql_ticket *own)
{
    int r;

    op->is_queued = true;
    if (own->idle_us < SHOW_US) {
        return HF_OK;
    }
    hf__mysql_packet_begin(s);
    hf__text_add(&s->sql, "UPDATE holdfast_ticket SET asked=GREATEST(asked,"
                          "" HF__SQL_NOW ") WHERE name_key=");
    hf__text_key(&s->sql, &op->key);
    hf__text_addf(&s->sql, " AND seq=%llu", (unsigned long long)own->seq);
    r = hf__wire_run(s);
    return r != HF_OK || s->reply.error != 0 ? hf__mysql_refused(s, op, r)
                                             : HF_OK;
}

/* It has, or gets, its place in line if it is to have one. */
static int be_busy(struct hf__mysql_change *c,
                   const struct hf__mysql_name *name,
                   const struct hf__stands *stands)
{
    const struct hf__mysql_ticket *own =
        hf__mysql_ticket_of(name, &c->op->token);

    c->op->result = HF_BUSY;
    hf__mysql_name_tell(name, c->op->ret_record);
    if (own != NULL) {
        return show_ticket(c->s, c->op, own);
    }
    return hf__leaves_ticket(stands, c->op) ? join_line(c, name) : HF_OK;
}

/* ---- entering */

static int enter(struct hf__mysql_change *c, const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;
    struct hf__stands stands = hf__mysql_name_stands(name, &op->token);
    int slot = -1;
    int r;

    switch (hf__may_enter(&stands, &op->token, op->manner, &slot)) {
    case HF__ENTRY_OPEN:
        r = op->manner.mode == HF__MODE_EXCLUSIVE
                ? hf__mysql_crowd_grant_alone(c, name, &op->token)
                : grant_beside(c, name, slot);
        op->took_over = c->is_done && takes_over(name, &op->token);
        return r;
    case HF__ENTRY_MISFIT:
        op->result = hf__tell_misfit(op, slot);
        return HF_OK;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    return be_busy(c, name, &stands);
}

int hf__mysql_crowd_acquire(struct hf__mysql_change *c,
                            const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);

    if (!name->row.is_there) {
        c->is_raced = true; /* deleted between two statements */
        return HF_OK;
    }
    if (hf__mysql_name_is_damaged(name, &op->token)) {
        op->result = hf__mysql_crowd_damaged(op);
        return HF_OK;
    }
    if (hf__mysql_name_is_of(name, &op->token)) {
        return grant_alone_again(c, name);
    }
    if (is_same_grant(op, own)) {
        return grant_beside_again(c, name, own);
    }
    if (!hf__mysql_row_is_free_for(&name->row, &op->token)) {
        struct hf__stands stands = hf__mysql_name_stands(name, &op->token);

        return be_busy(c, name, &stands);
    }
    return enter(c, name);
}
