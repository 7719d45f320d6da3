/* SPDX-License-Identifier: MIT */
/*
 * Last in, first out. A connection that failed is not given back: its session
 * is dead then, and takes it away when it closes. Called by each session's
 * thread, at the begin and end of what it does with the database.
 */
#include "src/backend/sqlite/pool.h"

#include "src/backend/sqlite/sqlite.h"

void hf__pool_take(struct hf__sqlite *s)
{
    struct hf__side *side = s->local.side;

    if (s->db == NULL) {
        HF_SCOPED_LOCK(&side->lock);
        /* There is one: as many were given as sessions are open. */
        HF_ASSERT(!hf__list_is_empty(&side->idle));
        s->db = HF__ELEMENT(side->idle.prev, struct hf__connection, idle);
        hf__list_remove(&s->db->idle);
    }
    s->db->session = s;
    atomic_store(&s->db->is_busy, true);
}

void hf__pool_give(struct hf__sqlite *s)
{
    struct hf__side *side = s->local.side;

    atomic_store(&s->db->is_busy, false);
    s->db->session = NULL;
    HF_SCOPED_LOCK(&side->lock);
    hf__list_push(&side->idle, &s->db->idle);
    s->db = NULL;
}
