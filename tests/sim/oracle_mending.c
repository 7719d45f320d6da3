/* SPDX-License-Identifier: MIT */
/*
 * What attempts of others leave behind on a quorum's members: nothing that
 * keeps a holder from them. This file follows each member's fences by what is
 * applied there, and decides which of them still mean something.
 */
#include "tests/sim/oracles.h"

#include <inttypes.h>

static void follow(struct hf__trail *t, const struct hf__applied *a)
{
    if (a->m->op == HF__OP_RELEASE && a->m->undoes && a->m->result == HF_OK &&
        t->token == a->m->token) {
        t->valid = t->before;
        t->token = 0;
    } else if (a->after->fence != a->before->fence) {
        t->before = t->valid;
        t->token = a->m->op == HF__OP_ACQUIRE ? a->m->token : 0;
        t->valid = a->after->fence;
    }
    t->seen = a->after->fence;
}

/* A member that nobody has, and which gave no fence above the holder's but to
 * those whose attempts came to nothing, is the holder's once more: else others
 * that wait would keep it from there for ever, and the next member that fails
 * would cost it its grant. */
void hf__oracle_followed(struct hf__oracle *o, const struct hf__applied *a,
                         const struct hf__grant_fact *mine)
{
    struct hf__trail *t = &o->trails[a->m->member];
    const struct hf__view *view = &o->clients[a->m->client].last;
    bool is_free = a->before->token == 0 || a->before->ends <= a->m->begun;

    if (t->seen != a->before->fence) { /* by a crash, a break, … */
        *t = (struct hf__trail){
            .valid = a->before->fence > t->valid ? a->before->fence : t->valid};
    }
    if (a->m->op == HF__OP_RENEW && a->m->result == HF_LOST && is_free &&
        mine != NULL && view->is_held && view->token == a->m->token &&
        t->valid < mine->fence) {
        hf__oracle_convict(o, HF__RULE_MENDING,
                           "client %d, holding fence %" PRIu64
                           ", is refused by member %d, which is nobody's",
                           a->m->client, mine->fence, a->m->member);
    }
    follow(t, a);
}
