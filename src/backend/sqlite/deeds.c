/* SPDX-License-Identifier: MIT */
/*
 * A list of deeds, in their order. Called by the session's thread.
 */
#include "src/backend/sqlite/deeds.h"

#include "src/backend/sqlite/sqlite.h"
#include "src/base/alloc.h"

int hf__deeds_note(struct hf__sqlite *s, const struct hf__deed *deed)
{
    struct hf__deeds *deeds = &s->deeds;

    if (deeds->n == deeds->room) {
        int room = deeds->room == 0 ? 16 : 2 * deeds->room;
        struct hf__deed *list =
            hf__resize(deeds->list, (size_t)room * sizeof *list);

        if (list == NULL) {
            return SQLITE_NOMEM;
        }
        deeds->list = list;
        deeds->room = room;
    }
    deeds->list[deeds->n++] = *deed;
    return SQLITE_OK;
}

static void do_one(struct hf__sqlite *s, const struct hf__deed *deed)
{
    struct hf__side *side = s->side;

    switch (deed->kind) {
    case HF__DEED_HELD:
        break;
    case HF__DEED_LET_GO:
        hf__held_remove(&side->held, &deed->token);
        break;
    case HF__DEED_EXTEND:
        hf__held_extend(&side->held, &deed->token, deed->ends_us);
        break;
    case HF__DEED_BROKEN:
        hf__breaks_tell(&side->words, HF__ON_BOARD(breaks), &deed->token,
                        deed->life);
        break;
    case HF__DEED_RING:
        hf__bells_ring(&side->bells, hf__chime_of_ticket(&deed->token));
        break;
    case HF__DEED_FREED:
        hf__bells_freed(&side->bells, hf__chime_of(&deed->op->key));
        break;
    case HF__DEED_OPENED:
        hf__bells_ring(&side->bells, hf__chime_of(&deed->op->key));
        break;
    case HF__DEED_TAKEN:
        hf__nap_tell_taken(&s->nap, &side->bells, deed->op);
        break;
    }
}

void hf__deeds_do(struct hf__sqlite *s)
{
    for (int i = 0; i < s->deeds.n; i++) {
        do_one(s, &s->deeds.list[i]);
    }
    s->deeds.n = 0;
}

void hf__deeds_undo(struct hf__sqlite *s)
{
    for (int i = 0; i < s->deeds.n; i++) {
        if (s->deeds.list[i].kind == HF__DEED_HELD) {
            hf__held_remove(&s->side->held, &s->deeds.list[i].token);
        }
    }
    s->deeds.n = 0;
}
