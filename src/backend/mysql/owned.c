/* SPDX-License-Identifier: MIT */
/*
 * What the owner of a grant does with it, alone or beside others: renewing,
 * letting go, raising its fence, handing over. Whatever it may do in any state
 * of the name it does without regard to who else changes that. Called by the
 * session's thread.
 */
#include "src/backend/mysql/crowded.h"

/* ---- lost */

static int lose(struct hf__mysql_change *c, const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);

    hf__mysql_name_tell(name, op->ret_record);
    op->result = HF_LOST;
    if (own == NULL) {
        op->ret_reason =
            hf__reason_for(op->fence, name->row.fence, name->row.broken);
    } else {
        op->ret_reason = own->is_ended ? HF_REASON_BROKEN : HF_REASON_EXPIRED;
    }
    op->fence = name->row.fence;
    return HF_OK;
}

/* Not the owner: perhaps that can't be told. */
static int not_ours(struct hf__mysql_change *c,
                    const struct hf__mysql_name *name)
{
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &c->op->token);

    if (name->row.is_damaged || (own != NULL && own->is_damaged)) {
        c->op->result = hf__mysql_crowd_damaged(c->op);
        return HF_OK;
    }
    return lose(c, name);
}

static int end(struct hf__mysql_change *c)
{
    int r = hf__mysql_change_send(c);

    if (c->is_done) {
        c->op->result = HF_OK;
    }
    return r;
}

/* ---- without reading */

static void set_own_beside(struct hf__mysql_change *c, const char *statement)
{
    hf__text_add(c->sql, " WHERE name_key=");
    hf__text_key(c->sql, &c->op->key);
    hf__text_add(c->sql, " AND crowd<>0");
    hf__mysql_change_then(c);
    hf__text_add(c->sql, statement);
}

/* That row, and no more than that one. */
static void where_own_beside(struct hf__mysql_change *c, const char *condition)
{
    hf__text_add(c->sql, " WHERE ");
    hf__mysql_sql_own(c->sql, &c->op->key, &c->op->token);
    hf__text_add(c->sql, HF__CHANGED " AND ended=0");
    hf__text_add(c->sql, condition);
    hf__text_add(c->sql, ";SET @hf=IF(ROW_COUNT()=1,@hf,0)");
}

static int try_renew(struct hf__mysql_change *c)
{
    struct hf__op *op = c->op;
    int r;

    hf__mysql_change_begin(c);
    set_own_beside(c, ";UPDATE holdfast_beside SET ");
    hf__mysql_sql_prolong(c->sql, op->lease_us);
    hf__text_add(c->sql, op->is_detached ? ",detached=1" : "");
    where_own_beside(c, " AND expires>" HF__SQL_NOW);
    hf__text_add(c->sql, ";SET @hf_slot=(SELECT slot FROM holdfast_beside "
                         "WHERE ");
    hf__mysql_sql_own(c->sql, &op->key, &op->token);
    hf__text_add(c->sql, ")");
    r = end(c);
    op->slot = c->is_done ? c->slot : -1;
    return r;
}

/* What is left of others is looked up when the row is gone. */
static void mark_crowd(struct hf__mysql_change *c)
{
    hf__text_add(c->sql, ";UPDATE holdfast_lock SET crowd="
                         "IF(EXISTS(SELECT 1 FROM holdfast_beside b "
                         "WHERE b.name_key=");
    hf__text_key(c->sql, &c->op->key);
    hf__text_addf(c->sql,
                  "),%d,0)|IF(EXISTS(SELECT 1 FROM holdfast_ticket t "
                  "WHERE t.name_key=",
                  HF__CROWD_BESIDE);
    hf__text_key(c->sql, &c->op->key);
    hf__text_addf(c->sql, "),%d,0) WHERE name_key=", HF__CROWD_LINE);
    hf__text_key(c->sql, &c->op->key);
    hf__text_add(c->sql, HF__CHANGED);
}

static int try_release(struct hf__mysql_change *c)
{
    c->frees = &c->op->token;
    hf__mysql_change_begin(c);
    hf__text_add(c->sql, ",changed_at=GREATEST(changed_at," HF__SQL_NOW ")");
    set_own_beside(c, ";DELETE FROM holdfast_beside");
    where_own_beside(c, "");
    mark_crowd(c);
    return end(c);
}

int hf__mysql_crowd_try_own(struct hf__mysql_change *c)
{
    return c->op->kind == HF__OP_RENEW ? try_renew(c) : try_release(c);
}

/* ---- with it read */

/* A grant that try_own() should have found: by now it would. */
static bool is_passing(const struct hf__mysql_name *name,
                       const struct hf__mysql_grant *own)
{
    return own != NULL && (name->row.crowd & HF__CROWD_BESIDE) != 0;
}

int hf__mysql_crowd_renew(struct hf__mysql_change *c,
                          const struct hf__mysql_name *name)
{
    const struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);

    if (!hf__mysql_name_is_of(name, &op->token)) {
        c->is_raced = is_passing(name, own) && hf__mysql_grant_runs(own);
        return c->is_raced ? HF_OK : not_ours(c, name);
    }
    hf__mysql_change_begin(c);
    hf__text_add(c->sql, ",");
    hf__mysql_sql_prolong(c->sql, op->lease_us);
    hf__text_add(c->sql, op->is_detached ? ",detached=1" : "");
    hf__text_add(c->sql, " WHERE ");
    hf__mysql_sql_own(c->sql, &op->key, &op->token);
    hf__text_add(c->sql, " AND expires>" HF__SQL_NOW);
    hf__mysql_change_then(c);
    return end(c);
}

/* Its ticket, and what an operator left for it to hear. */
static int leave(struct hf__mysql_change *c, const struct hf__mysql_name *name)
{
    const struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);
    int r;

    if (own == NULL && hf__mysql_ticket_of(name, &op->token) == NULL) {
        return not_ours(c, name);
    }
    hf__mysql_change_begin(c);
    hf__text_add(c->sql, " WHERE name_key=");
    hf__text_key(c->sql, &op->key);
    hf__mysql_change_then(c);
    hf__mysql_line_clear(c, name, &op->token);
    if (own != NULL) {
        hf__text_add(c->sql, ";DELETE FROM holdfast_beside WHERE ");
        hf__mysql_sql_own(c->sql, &op->key, &op->token);
        hf__text_add(c->sql, HF__CHANGED);
    }
    mark_crowd(c);
    r = hf__mysql_change_send(c);
    return c->is_done ? lose(c, name) : r;
}

int hf__mysql_crowd_release(struct hf__mysql_change *c,
                            const struct hf__mysql_name *name)
{
    const struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);

    if (!hf__token_equal(&name->row.token, &op->token)) {
        c->is_raced = is_passing(name, own) && !own->is_ended;
        return c->is_raced ? HF_OK : leave(c, name);
    }
    c->frees = &op->token;
    hf__mysql_change_begin(c);
    hf__text_add(c->sql, ",freed=token,token='',expires=0");
    hf__text_add(c->sql, op->reopens ? ",keep_until=0" : "");
    hf__text_add(c->sql,
                 ",changed_at=GREATEST(changed_at," HF__SQL_NOW ") WHERE ");
    hf__mysql_sql_own(c->sql, &op->key, &op->token);
    hf__mysql_change_then(c);
    hf__mysql_line_clear(c, name, &op->token);
    mark_crowd(c);
    return end(c);
}

/* Fences of a name are unlike each other, also those of grants side by side. */
static int raise_beside(struct hf__mysql_change *c,
                        const struct hf__mysql_name *name,
                        const struct hf__mysql_grant *own)
{
    struct hf__op *op = c->op;
    uint64_t fence =
        op->fence > name->row.fence ? op->fence : name->row.fence + 1;
    int r;

    hf__mysql_change_begin(c);
    hf__text_addf(c->sql, ",fence=%llu", (unsigned long long)fence);
    hf__mysql_change_where(c, name);
    hf__mysql_change_then(c);
    hf__text_addf(c->sql, ";UPDATE holdfast_beside SET fence=%llu WHERE ",
                  (unsigned long long)fence);
    hf__mysql_sql_own(c->sql, &op->key, &own->token);
    hf__text_add(c->sql, HF__CHANGED);
    r = end(c);
    op->fence = c->is_done ? fence : op->fence;
    return r;
}

static int raise_alone(struct hf__mysql_change *c,
                       const struct hf__mysql_name *name)
{
    hf__mysql_change_begin(c);
    hf__text_addf(c->sql, ",fence=%llu", (unsigned long long)c->op->fence);
    hf__mysql_change_where(c, name);
    hf__mysql_change_then(c);
    return end(c);
}

int hf__mysql_crowd_raise(struct hf__mysql_change *c,
                          const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);
    bool is_ours =
        hf__token_equal(&name->row.token, &op->token) && !name->row.is_damaged;
    uint64_t has = name->row.fence;

    if (!is_ours) {
        if (own == NULL || own->is_ended || own->is_damaged) {
            return not_ours(c, name);
        }
        has = own->fence;
    }
    if (op->fence > has) {
        return is_ours ? raise_alone(c, name) : raise_beside(c, name, own);
    }
    op->result = HF_OK;
    op->fence = has;
    return HF_OK;
}

/* ---- handing over */

/* Is anybody in line but the one who is to have it? */
static bool is_awaited_by_others(const struct hf__mysql_name *name,
                                 const struct hf__op *op)
{
    for (int i = 0; i < name->n_tickets; i++) {
        const struct hf__mysql_ticket *t = &name->tickets[i];

        if (t->presence == HF__IN_LINE &&
            !hf__token_equal(&t->token, &op->next_token)) {
            return true;
        }
    }
    return false;
}

int hf__mysql_crowd_handover(struct hf__mysql_change *c,
                             const struct hf__mysql_name *name)
{
    struct hf__op *op = c->op;
    const struct hf__mysql_grant *own = hf__mysql_grant_of(name, &op->token);
    bool is_ours = hf__mysql_name_is_of(name, &op->token);

    if (is_ours && name->row.is_damaged) {
        op->result = hf__mysql_crowd_damaged(op);
        return HF_OK;
    }
    if (!is_ours && (own == NULL || !hf__mysql_grant_runs(own))) {
        return not_ours(c, name);
    }
    if (!is_ours || is_awaited_by_others(name, op)) {
        hf__mysql_name_tell(name, op->ret_record);
        op->result = HF_BUSY;
        return HF_OK;
    }
    c->frees = &op->token;
    return hf__mysql_crowd_grant_alone(c, name, &op->next_token);
}
