/* SPDX-License-Identifier: MIT */
/*
 * A list of deeds, in their order. Called by the session's thread.
 */
#include "src/backend/sqlite/deeds.h"

#include "src/backend/sqlite/sqlite.h"
#include "src/base/alloc.h"

#include <string.h>

static bool is_first(const struct hf__sqlite *s)
{
    return s->deeds.list == s->first;
}

static bool make_room(struct hf__sqlite *s)
{
    struct hf__deeds *deeds = &s->deeds;
    int room = 2 * deeds->room;
    struct hf__deed *list = NULL;

    if (deeds->list == NULL) {
        deeds->list = s->first;
        deeds->room = (int)(sizeof s->first / sizeof s->first[0]);
    }
    if (deeds->n < deeds->room) {
        return true;
    }
    list = hf__resize(is_first(s) ? NULL : deeds->list,
                      (size_t)room * sizeof *list);
    if (list == NULL) {
        return false;
    }
    if (is_first(s)) {
        memcpy(list, s->first, sizeof s->first);
    }
    deeds->list = list;
    deeds->room = room;
    return true;
}

int hf__deeds_note(struct hf__sqlite *s, const struct hf__deed *deed)
{
    if (!make_room(s)) {
        return SQLITE_NOMEM;
    }
    s->deeds.list[s->deeds.n++] = *deed;
    return SQLITE_OK;
}

void hf__deeds_fini(struct hf__sqlite *s)
{
    if (!is_first(s)) {
        hf__free(s->deeds.list);
    }
    s->deeds = (struct hf__deeds){0};
}

static void do_one(struct hf__sqlite *s, const struct hf__deed *deed)
{
    struct hf__side *side = s->local.side;

    switch (deed->kind) {
    case HF__DEED_HELD:
        break;
    case HF__DEED_LET_GO:
        hf__held_remove(&side->held, NULL, &deed->token);
        break;
    case HF__DEED_EXTEND:
        (void)hf__held_extend(&side->held, NULL, &deed->token, deed->ends_us);
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
        hf__nap_tell_taken(&s->local.nap, &side->bells, deed->op);
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
            hf__held_remove(&s->local.side->held, NULL,
                            &s->deeds.list[i].token);
        }
    }
    s->deeds.n = 0;
}
