/* SPDX-License-Identifier: MIT */
/*
 * Rows of holdfast_beside and holdfast_ticket as parts of a change: those of
 * who is gone by the reader's judgement are named one by one, so that none is
 * left whose clock said something else when the statement ran. Called by the
 * session's thread.
 */
#include "src/backend/mysql/change.h"

void hf__mysql_beside_put(struct hf__mysql_change *c, uint64_t fence, int slot)
{
    const struct hf__op *op = c->op;

    hf__text_add(c->sql,
                 ";INSERT INTO holdfast_beside(name_key,token,fence,mode,slots,"
                 "slot,expires,acquired_at,changed_at,detached,ended,"
                 "label,host,pid,thread,note) SELECT ");
    hf__text_key(c->sql, &op->key);
    hf__text_add(c->sql, ",");
    hf__text_token(c->sql, &op->token);
    hf__text_addf(c->sql,
                  ",%llu,%d,%d,%d," HF__SQL_NOW "+%lld," HF__SQL_NOW
                  "," HF__SQL_NOW ",%d,0,",
                  (unsigned long long)fence, (int)op->manner.mode,
                  op->manner.slots, slot, (long long)op->lease_us,
                  (int)op->is_detached);
    hf__mysql_owner_values(c->sql, op->owner);
    hf__text_add(c->sql, " FROM DUAL WHERE @hf=1");
}

/* ---- who goes */

static bool goes(const struct hf__mysql_grant *g, const struct hf__token *token,
                 bool is_alone)
{
    return hf__token_equal(&g->token, token) || g->expires_in <= 0 ||
           (is_alone && !g->is_ended);
}

bool hf__mysql_beside_will_remain(const struct hf__mysql_name *name,
                                  const struct hf__token *token, bool is_alone)
{
    for (int i = 0; i < name->n_grants; i++) {
        if (!goes(&name->grants[i], token, is_alone)) {
            return true;
        }
    }
    return false;
}

void hf__mysql_beside_clear(struct hf__mysql_change *c,
                            const struct hf__mysql_name *name,
                            const struct hf__token *token, bool is_alone)
{
    int n = 0;

    for (int i = 0; i < name->n_grants; i++) {
        if (!goes(&name->grants[i], token, is_alone)) {
            continue;
        }
        if (n++ == 0) {
            hf__text_add(c->sql, ";DELETE FROM holdfast_beside "
                                 "WHERE name_key=");
            hf__text_key(c->sql, &c->op->key);
            hf__text_add(c->sql, HF__CHANGED " AND token IN(");
        } else {
            hf__text_add(c->sql, ",");
        }
        hf__text_token(c->sql, &name->grants[i].token);
    }
    hf__text_add(c->sql, n > 0 ? ")" : "");
}

static bool leaves(const struct hf__mysql_ticket *t,
                   const struct hf__token *token)
{
    return t->presence == HF__LEFT_LINE || hf__token_equal(&t->token, token);
}

bool hf__mysql_line_will_remain(const struct hf__mysql_name *name,
                                const struct hf__token *token)
{
    for (int i = 0; i < name->n_tickets; i++) {
        if (!leaves(&name->tickets[i], token)) {
            return true;
        }
    }
    return false;
}

void hf__mysql_line_clear(struct hf__mysql_change *c,
                          const struct hf__mysql_name *name,
                          const struct hf__token *token)
{
    int n = 0;

    for (int i = 0; i < name->n_tickets; i++) {
        if (!leaves(&name->tickets[i], token)) {
            continue;
        }
        if (n++ == 0) {
            hf__text_add(c->sql, ";DELETE FROM holdfast_ticket "
                                 "WHERE name_key=");
            hf__text_key(c->sql, &c->op->key);
            hf__text_add(c->sql, HF__CHANGED " AND seq IN(");
        } else {
            hf__text_add(c->sql, ",");
        }
        hf__text_addf(c->sql, "%llu", (unsigned long long)name->tickets[i].seq);
    }
    hf__text_add(c->sql, n > 0 ? ")" : "");
}
