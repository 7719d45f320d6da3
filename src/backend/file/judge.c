/* SPDX-License-Identifier: MIT */
/*
 * Where those at a name stand: by the boot clock and, where that is another
 * one, by the kernel's knowledge of the holder. Called by the session's thread.
 */
#include "src/backend/file/store.h"

#include "src/base/utf8.h"

#include <string.h>

/* Of the process that the record is bound to; 0: none, or one that has another
 * side file. */
static uint64_t life_of(const struct hf__cell *cell)
{
    const struct hf__file_record *r = &cell->record;
    const struct hf__file_side *side = cell->s->side;

    return r->side_dev == side->dev && r->side_ino == side->ino ? r->life : 0;
}

/* How long the last grant still keeps the name closed: by the clock of the
 * boot in which it was made, and after a restart by the wall clock, within
 * which the time that it was to be kept bounds it on both sides. */
static int64_t kept_for(const struct hf__cell *cell,
                        const struct hf__name *name)
{
    const struct hf__file_record *r = &cell->record;

    if (r->keep_us > 0 && memcmp(r->boot, cell->s->boot, sizeof r->boot) == 0) {
        return r->keep_until_us - name->now_us;
    }
    if (r->keep_us >= HF_KEEP_MAX_MS * 1000) {
        return r->keep_us; /* for ever: no clock ends it */
    }
    return r->keep_us > 0 && name->wall_us >= r->acquired_at_us
               ? r->keep_us - (name->wall_us - r->acquired_at_us)
               : 0;
}

/* How long a lease still runs that began under another boot id and is tied to
 * no process: by the wall clock, for as long as it was given in its own boot.
 * Not above 0 also if that clock is behind the grant. */
static int64_t left_by_wall(const struct hf__file_record *r,
                            const struct hf__name *name)
{
    int64_t granted_us = r->keep_until_us - r->keep_us;
    int64_t lasts_us = r->expires_us - granted_us;

    return name->wall_us < r->acquired_at_us
               ? 0
               : lasts_us - (name->wall_us - r->acquired_at_us);
}

static void judge_lease(const struct hf__cell *cell,
                        const struct hf__name *name, struct hf__participant *g)
{
    const struct hf__file_record *r = &cell->record;
    const char *boot = cell->s->boot;
    bool is_same_boot = memcmp(r->boot, boot, HF__BOOT_ID_LENGTH) == 0;
    bool is_same_clock = memcmp(r->boot, boot, sizeof r->boot) == 0;

    g->is_past = !is_same_clock;
    g->ends_us = is_same_clock ? r->expires_us : INT64_MAX;
    if (is_same_clock && r->expires_us <= name->now_us) {
        g->standing = HF__STANDS_ENDED;
        return;
    }
    if (!is_same_boot && r->life == 0 && left_by_wall(r, name) > 0) {
        g->ends_us = name->now_us + left_by_wall(r, name);
        return;
    }
    if (g->life != 0) {
        g->holder_lives = hf__file_side_probe(cell->s->side, g->life);
    }
    /* A container may show a boot id of its own. Whose byte is locked was
     * not there before a restart, whatever the id says. */
    if (!is_same_boot && g->holder_lives != 1) {
        g->standing = HF__STANDS_ENDED;
        g->ends_us = name->now_us - name->wall_us; /* nobody knows when */
    } else if (g->holder_lives == 0) {
        g->standing = HF__STANDS_DEAD;
    } else if (!is_same_clock) {
        g->standing = HF__STANDS_FOREIGN;
    }
}

/* A text of a file that may have been edited by hand: what is not UTF-8 is
 * dropped. */
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

static void read_owner(const struct hf__file_record *r, struct hf__owner *o)
{
    o->pid = r->pid;
    hf__file_copy_text(o->label, sizeof o->label, r->label, sizeof r->label);
    hf__file_copy_text(o->host, sizeof o->host, r->host, sizeof r->host);
    hf__file_copy_text(o->thread, sizeof o->thread, r->thread,
                       sizeof r->thread);
    hf__file_copy_text(o->note, sizeof o->note, r->note, sizeof r->note);
}

/* Its own owner is told of none but others. */
static bool is_told_of(const struct hf__op *op, const struct hf__token *token)
{
    return op == NULL || !hf__token_equal(token, &op->token) ||
           (op->kind != HF__OP_RENEW && op->kind != HF__OP_RELEASE &&
            op->kind != HF__OP_RAISE);
}

static int judge_grant(const struct hf__cell *cell, const struct hf__op *op,
                       struct hf__name *name)
{
    const struct hf__file_record *r = &cell->record;
    struct hf__participant *g = hf__participants_add(&name->grants, -1);

    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->token = r->token;
    g->fence = r->fence;
    g->life = life_of(cell);
    g->is_detached = r->life == 0;
    g->since_us = r->acquired_at_us;
    g->holder_lives = -1;
    judge_lease(cell, name, g);
    if (is_told_of(op, &g->token)) {
        read_owner(r, &g->owner);
    }
    return HF_OK;
}

/* Nothing is known of the name, perhaps because its file was deleted: then its
 * holder has no name, and is there all the same. */
static int judge_missing(const struct hf__cell *cell,
                         const struct hf__token *mine, struct hf__name *name)
{
    const struct hf__file_record *r = &cell->record;
    const struct hf__key key = {r->key, (uint16_t)r->key_length, 0};
    int64_t until_us =
        hf__file_side_held_until(cell->s->side, &key, mine, name->now_us);
    struct hf__participant *g = NULL;

    if (until_us <= 0) {
        return HF_OK;
    }
    g = hf__participants_add(&name->grants, -1);
    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->ends_us = until_us;
    g->holder_lives = 1;
    return HF_OK;
}

/* Who goes on with what it has does not mind the line. */
static bool minds_line(const struct hf__op *op)
{
    return op == NULL || (op->kind != HF__OP_RENEW && op->kind != HF__OP_RAISE);
}

int hf__file_judge(const struct hf__cell *cell, const struct hf__op *op,
                   bool is_whole, struct hf__name *name)
{
    static const struct hf__token nobody;
    const struct hf__file_record *r = &cell->record;
    int64_t kept_us;
    int result = HF_OK;

    name->now_us = hf__now().ns / 1000;
    name->wall_us = hf__wall_us();
    name->fence_floor = name->wall_us;
    name->is_there = cell->fd >= 0;
    name->fence = r->fence;
    name->broken = r->broken;
    name->touched_us =
        r->acquired_at_us > r->freed_at_us ? r->acquired_at_us : r->freed_at_us;
    kept_us = kept_for(cell, name);
    name->keep_until_us = kept_us > 0 ? name->now_us + kept_us : 0;
    if (r->fence == 0) {
        result = judge_missing(cell, op == NULL ? &nobody : &op->token, name);
    } else if (!hf__token_is_zero(&r->token)) {
        result = judge_grant(cell, op, name);
    }
    name->is_partial = cell->line.n > 0 && !is_whole && !minds_line(op);
    return result == HF_OK && !name->is_partial
               ? hf__file_line_judge(cell, op, name)
               : result;
}
