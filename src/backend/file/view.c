/* SPDX-License-Identifier: MIT */
/*
 * Judging records: by the boot clock and, where that is another one, by the
 * kernel's knowledge of the holder. What is done about it is apply.c's and
 * wait.c's. Called by the session's thread.
 */
#include "src/backend/file/view.h"

#include "src/base/utf8.h"

#include <string.h>

uint64_t hf__file_life(const struct hf__cell *cell)
{
    const struct hf__file_record *r = &cell->record;
    const struct hf__file_side *side = cell->s->side;

    return r->side_dev == side->dev && r->side_ino == side->ino ? r->life : 0;
}

/* How long the last grant still keeps the name closed: by the clock of the
 * boot in which it was made, and after a restart by the wall clock, within
 * which the time that it was to be kept bounds it on both sides. */
static void judge_keeping(const struct hf__cell *cell, struct hf__file_view *v)
{
    const struct hf__file_record *r = &cell->record;
    int64_t left = 0;

    if (r->keep_us > 0 && memcmp(r->boot, cell->s->boot, sizeof r->boot) == 0) {
        left = r->keep_until_us - v->now_us;
    } else if (r->keep_us >= HF_KEEP_MAX_MS * 1000) {
        left = r->keep_us; /* for ever: no clock ends it */
    } else if (r->keep_us > 0 && v->wall_us >= r->acquired_at_us) {
        left = r->keep_us - (v->wall_us - r->acquired_at_us);
    }
    if (left > 0) {
        v->standing = HF__FILE_KEPT;
        v->remaining_us = left;
    }
}

/* How long a lease still runs that began under another boot id and is tied to
 * no process: by the wall clock, for as long as it was given in its own boot.
 * Not above 0 also if that clock is behind the grant. */
static int64_t left_by_wall(const struct hf__file_record *r,
                            const struct hf__file_view *v)
{
    int64_t granted_us = r->keep_until_us - r->keep_us;
    int64_t lasts_us = r->expires_us - granted_us;

    return v->wall_us < r->acquired_at_us
               ? 0
               : lasts_us - (v->wall_us - r->acquired_at_us);
}

static void judge_lease(const struct hf__cell *cell, struct hf__file_view *v)
{
    const struct hf__file_record *r = &cell->record;
    const char *boot = cell->s->boot;
    bool is_same_boot = memcmp(r->boot, boot, HF__BOOT_ID_LENGTH) == 0;
    bool is_same_clock = memcmp(r->boot, boot, sizeof r->boot) == 0;
    uint64_t life = hf__file_life(cell);

    if (is_same_clock) {
        v->remaining_us = r->expires_us - v->now_us;
        if (v->remaining_us <= 0) {
            v->standing = HF__FILE_EXPIRED;
            return;
        }
    }
    if (!is_same_boot && r->life == 0 && left_by_wall(r, v) > 0) {
        v->standing = HF__FILE_HELD;
        v->remaining_us = left_by_wall(r, v);
        return;
    }
    if (life != 0) {
        v->holder_lives = hf__file_side_probe(cell->s->side, life);
    }
    /* A container may show a boot id of its own. Whose byte is locked was
     * not there before a restart, whatever the id says. */
    if (!is_same_boot && v->holder_lives != 1) {
        v->standing = HF__FILE_STALE;
    } else if (v->holder_lives == 0) {
        v->standing = HF__FILE_DEAD;
    } else {
        v->standing = is_same_clock ? HF__FILE_HELD : HF__FILE_FOREIGN;
    }
}

/* Nothing is known of the name; perhaps because its file was deleted. */
static void judge_missing(const struct hf__cell *cell,
                          const struct hf__token *mine, struct hf__file_view *v)
{
    static const struct hf__token nobody;
    const struct hf__file_record *r = &cell->record;
    const struct hf__key key = {r->key, (uint16_t)r->key_length, 0};
    int64_t until_us = hf__file_side_held_until(
        cell->s->side, &key, mine != NULL ? mine : &nobody, v->now_us);

    if (until_us > 0) {
        v->standing = HF__FILE_GHOST;
        v->remaining_us = until_us - v->now_us;
        v->holder_lives = 1;
    }
}

void hf__file_look(const struct hf__cell *cell, const struct hf__token *mine,
                   struct hf__file_view *v)
{
    const struct hf__file_record *r = &cell->record;

    *v = (struct hf__file_view){.remaining_us = -1,
                                .holder_lives = -1,
                                .now_us = hf__now().ns / 1000,
                                .wall_us = hf__wall_us()};
    if (r->fence == 0) {
        judge_missing(cell, mine, v);
        return;
    }
    if (!hf__token_is_zero(&r->token)) {
        judge_lease(cell, v);
    }
    /* What a holder that is gone kept closed stays closed. */
    if (hf__file_is_free(v)) {
        judge_keeping(cell, v);
    }
}

bool hf__file_is_free(const struct hf__file_view *v)
{
    switch (v->standing) {
    case HF__FILE_FREE:
    case HF__FILE_DEAD:
    case HF__FILE_EXPIRED:
    case HF__FILE_STALE:
        return true;
    case HF__FILE_KEPT:
    case HF__FILE_HELD:
    case HF__FILE_FOREIGN:
    case HF__FILE_GHOST:
        break;
    }
    return false;
}

bool hf__file_is_held(const struct hf__file_view *v)
{
    return v->standing == HF__FILE_HELD || v->standing == HF__FILE_DEAD ||
           v->standing == HF__FILE_FOREIGN || v->standing == HF__FILE_GHOST;
}

void hf__file_copy_text(char *to, size_t size, const char *from,
                        size_t from_size)
{
    char text[HF_NOTE_MAX + 2] = "";
    size_t length;

    memcpy(text, from, from_size);
    length = hf__utf8_cut(text, size - 1);
    if (!hf__utf8_is_valid(text, length)) {
        length = 0;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

void hf__file_tell(const struct hf__cell *cell, const struct hf__file_view *v,
                   struct hf__record *record)
{
    const struct hf__file_record *r = &cell->record;

    if (record == NULL) {
        return;
    }
    *record = (struct hf__record){.is_held = hf__file_is_held(v),
                                  .is_kept = v->standing == HF__FILE_KEPT,
                                  .holder_lives = v->holder_lives,
                                  .fence = r->fence,
                                  .remaining_us = v->remaining_us,
                                  .slot = -1};
    if (!record->is_held && !record->is_kept) {
        record->remaining_us = -1;
        record->is_promised =
            r->fence != 0 && hf__file_line_first(cell, NULL) != NULL;
    }
    if (!record->is_held) {
        return;
    }
    record->token = r->token;
    record->acquired_us = r->acquired_at_us;
    record->owner.pid = r->pid;
    hf__file_copy_text(record->owner.label, sizeof record->owner.label,
                       r->label, sizeof r->label);
    hf__file_copy_text(record->owner.host, sizeof record->owner.host, r->host,
                       sizeof r->host);
    hf__file_copy_text(record->owner.thread, sizeof record->owner.thread,
                       r->thread, sizeof r->thread);
    hf__file_copy_text(record->owner.note, sizeof record->owner.note, r->note,
                       sizeof r->note);
}
