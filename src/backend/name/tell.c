/* SPDX-License-Identifier: MIT */
/*
 * Fills the records that tell the core, and people, of a name.
 */
#include "src/backend/name/name.h"

static int64_t left_us(const struct hf__name *name, int64_t until_us)
{
    return until_us == INT64_MAX ? -1 : until_us - name->now_us;
}

void hf__participant_tell(const struct hf__name *name,
                          const struct hf__participant *g,
                          struct hf__record *record)
{
    *record = (struct hf__record){
        .is_held = true,
        .lock_mode = g->lock_mode,
        .slot = g->slot,
        .holder_lives = g->holder_lives,
        .fence = g->fence,
        .token = g->token,
        .remaining_us = left_us(name, g->ends_us),
        .acquired_us = g->since_us,
        .owner = g->owner,
    };
}

void hf__name_tell(const struct hf__name *name, struct hf__record *record)
{
    const struct hf__participant *g = hf__name_first_to_end(name);

    if (record == NULL) {
        return;
    }
    *record =
        (struct hf__record){.holder_lives = -1, .slot = -1, .remaining_us = -1};
    if (hf__name_is_kept(name)) {
        record->is_kept = true;
        record->remaining_us = left_us(name, name->keep_until_us);
    } else if (g != NULL) {
        hf__participant_tell(name, g, record);
    } else {
        record->is_promised = hf__name_is_awaited(name, NULL);
    }
    record->fence = name->fence;
}

int hf__name_tell_all(const struct hf__name *name,
                      struct hf__participant_list *participants)
{
    int r = HF_OK;

    for (int i = 0; i < name->grants.n && r == HF_OK; i++) {
        struct hf__participant_info participant = {.is_waiting = false};

        if (hf__participant_holds(name->grants.list[i]) &&
            !hf__name_is_kept(name)) {
            hf__participant_tell(name, name->grants.list[i],
                                 &participant.record);
            r = hf__participant_list_add(participants, &participant);
        }
    }
    for (int i = 0; i < name->waiters.n && r == HF_OK; i++) {
        const struct hf__participant *t = name->waiters.list[i];
        struct hf__participant_info participant = {
            .is_waiting = true,
            .record = {.lock_mode = t->lock_mode,
                       .slot = -1,
                       .holder_lives = t->holder_lives,
                       .remaining_us = -1,
                       .acquired_us = t->since_us,
                       .owner = t->owner},
        };

        if (t->state == HF__PARTICIPANT_RUNNING) {
            r = hf__participant_list_add(participants, &participant);
        }
    }
    return r;
}
