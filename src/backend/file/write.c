/* SPDX-License-Identifier: MIT */
/*
 * Writing what a decision changed. This file decides in which order a change
 * becomes known: to the kernel, for other processes; to the file; and, once the
 * file is seen to be still in its place, to this process and to waiters. It
 * also notes until when names are held, for sessions that find no file. Called
 * by the session's thread.
 */
#include "src/backend/file/file.h"

#include "src/base/error.h"

#include <string.h>

/* ---- until when names are held */

/* The time noted is this much later than the lease's end, so that a name that
 * is acquired again and again is noted seldom. The cost: a name whose file was
 * deleted while held becomes free this much later. */
#define AHEAD_US INT64_C(100000)

struct layout {
    struct hf__side_layout layout;
    /* By channel: no bound grant of its names has a lease that ends later (boot
     * clock); the time is often a little late. It can be early only if a
     * process was stopped with the words locked: another one stops waiting for
     * it, as hf__words_lock() does, and may then replace a later time that was
     * just written. */
    _Alignas(8) int64_t until_us[HF__WAKE_CHANNELS];
};

static struct hf__fork_list sides;

/* Since version 2 the layout is that of SQLite's stores. */
const struct hf__side_kind hf__file_side_kind = {
    .head = {.magic = {'H', 'F', 'f', 'l', 's', 'i', 'd', 'e'},
             .version = 2,
             .size = sizeof(struct layout)},
    .names_have_bytes = true,
    .sides = &sides};

static size_t until_at(const struct hf__key *key)
{
    return offsetof(struct layout, until_us) +
           hf__wake_channel_index(hf__wake_key_of(key)) * sizeof(int64_t);
}

static int64_t until_of(const struct hf__side *side, const struct hf__key *key)
{
    int64_t until_us;

    hf__words_read(&side->words, until_at(key), &until_us, sizeof until_us);
    return until_us;
}

static int note_until(struct hf__side *side, const struct hf__key *key,
                      int64_t until_us)
{
    bool is_noted = true;

    if (until_of(side, key) >= until_us) {
        return HF_OK; /* it never gets earlier */
    }
    hf__words_lock(&side->words);
    if (until_of(side, key) < until_us) {
        until_us += AHEAD_US;
        is_noted = hf__words_write(&side->words, until_at(key), &until_us,
                                   sizeof until_us);
    }
    hf__words_unlock(&side->words);
    return is_noted ? HF_OK : HF_EUNAVAIL;
}

int64_t hf__file_held_until(struct hf__side *side, const struct hf__key *key,
                            const struct hf__token *mine, int64_t now_us)
{
    struct hf__held *held = &side->held;
    int64_t latest_us = now_us + HF_LEASE_MAX_MS * INT64_C(1000);
    int64_t ends_us = hf__held_until(held, key, mine);

    if (ends_us <= now_us) {
        ends_us = until_of(side, key);
        /* No lease ends later than that: the page was overwritten. Without a
         * time it may have been cut off, and only a holder's byte counts. */
        if (ends_us <= 0 || ends_us > latest_us) {
            ends_us = latest_us;
        }
        return ends_us > now_us && hf__held_elsewhere(held, key) ? ends_us : 0;
    }
    return ends_us;
}

/* ---- the record */

static void put_grant(struct hf__lockfile *lockfile,
                      const struct hf__participant *g)
{
    struct hf__file_record *r = &lockfile->record;

    if (g->marks != 0) {
        r->token = g->token;
    }
    /* A holder that adopted it may have another side file, and then no life
     * here. */
    if (g->is_detached || (g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0) {
        r->life = g->life;
    }
    if ((g->marks & (HF__MARK_NEW | HF__MARK_LEASE)) != 0) {
        r->expires_us = g->ends_us;
    }
    if ((g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0) {
        r->acquired_at_us = g->since_us;
        r->freed_at_us = 0;
        r->side = lockfile->s->local.side->id;
        memcpy(r->boot, lockfile->s->local.boot, sizeof r->boot);
        r->owner = g->owner;
    }
}

/* False: the record stays as it is; only the queue may change. */
static bool put_record(struct hf__lockfile *lockfile,
                       const struct hf__name *name)
{
    const struct hf__participant *g = hf__name_holder(name);
    struct hf__file_record *r = &lockfile->record;

    if (name->marks == 0 && (g == NULL || g->marks == 0)) {
        return false;
    }
    r->fence = name->fence;
    r->broken = name->broken;
    if (g != NULL) {
        put_grant(lockfile, g);
    } else {
        memset(&r->token, 0, sizeof r->token);
        r->expires_us = 0;
        r->life = 0;
        r->freed_at_us = name->wall_us;
    }
    if ((name->marks & HF__MARK_KEEP) != 0) {
        r->keep_us =
            name->keep_until_us > 0 ? name->keep_until_us - name->now_us : 0;
        r->keep_until_us = name->now_us + r->keep_us;
    }
    return true;
}

/* A break leaves a new file, so that a process which is stopped with the old
 * one locked delays nobody. On a full disk the old one is written. */
static int write_record(struct hf__lockfile *lockfile, const struct hf__op *op)
{
    int r;

    if (op->kind != HF__OP_BREAK) {
        return hf__lockfile_write(lockfile, op->err);
    }
    r = hf__lockfile_replace(lockfile, lockfile->is_locked ? NULL : op->err);
    return r != HF_OK && lockfile->is_locked
               ? hf__lockfile_write(lockfile, op->err)
               : r;
}

/* ---- what this process holds */

/* The byte is locked first. Then whoever deletes the file and whoever makes a
 * new one sees the byte, or we see afterwards that the file is not in its
 * place. */
static int hold(struct hf__file *s, const struct hf__op *op,
                const struct hf__participant *g, bool *ret_is_new)
{
    struct hf__held *held = &s->local.side->held;
    int r = HF_OK;

    *ret_is_new = false;
    if (g == NULL || g->life == 0) {
        return HF_OK;
    }
    if ((g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0) {
        r = note_until(s->local.side, &op->key, g->ends_us);
        if (r == HF_OK) {
            r = hf__held_add(held, &op->key, &g->token, g->ends_us, ret_is_new);
        }
    } else if ((g->marks & HF__MARK_LEASE) != 0 &&
               hf__held_extend(held, &op->key, &g->token, g->ends_us)) {
        r = note_until(s->local.side, &op->key, g->ends_us);
    }
    return r == HF_OK ? r
                      : hf__fail(op->err, r,
                                 "there is no room to note who holds the lock");
}

/* A grant that is gone may have been granted again to the same token. */
static bool is_let_go(const struct hf__name *name,
                      const struct hf__participant *g)
{
    if ((g->marks & HF__MARK_GONE) != 0) {
        return hf__participants_find(&name->grants, &g->token) == NULL;
    }
    return (g->marks & HF__MARK_BROKEN) != 0 || g->is_detached;
}

static void let_go(struct hf__file *s, const struct hf__op *op,
                   const struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (is_let_go(name, g)) {
            hf__held_remove(&s->local.side->held, &op->key, &g->token);
        }
        if ((g->marks & HF__MARK_BROKEN) != 0) {
            hf__breaks_tell(&s->local.side->words, HF__SIDE_OFFSET(breaks),
                            &g->token, g->life);
        }
    }
}

/* ---- the queue */

/* Called after the record was written: if the process is killed in between, a
 * ticket too many is left, which nobody refreshes. */
static void change_waiters(struct hf__lockfile *lockfile,
                           const struct hf__name *name, struct hf__outcome *out)
{
    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        if ((t->marks & HF__MARK_GONE) != 0) {
            hf__file_waiters_leave(lockfile, &t->token);
        } else if ((t->marks & HF__MARK_NEW) != 0) {
            out->is_queued = hf__file_waiters_join(lockfile, t);
        }
    }
}

/* Without a queue, wake some waiter; else the first in the queue, which alone
 * may enter. */
static void wake_next(struct hf__file *s, const struct hf__op *op,
                      const struct hf__name *name)
{
    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        if ((t->marks & HF__MARK_GONE) == 0 &&
            t->state == HF__PARTICIPANT_RUNNING) {
            hf__wake_table_notify(&s->local.side->wake_view,
                                  hf__wake_key_of_ticket(&t->token));
            return;
        }
    }
    hf__wake_table_freed(&s->local.side->wake_view, hf__wake_key_of(&op->key));
}

/* ---- changing */

/* Make sure that the file is in its place and whole, before a change. */
static int prepare(struct hf__lockfile *lockfile, const struct hf__op *op)
{
    int r = HF_OK;

    if (lockfile->fd < 0) {
        r = hf__lockfile_create(lockfile, &op->key, op->err);
        return r == HF_OK ? HF__RACED : r;
    }
    /* A new file may only replace the file that was read. */
    if ((lockfile->is_left || op->kind == HF__OP_BREAK) &&
        !hf__lockfile_is_in_place(lockfile)) {
        return HF__RACED;
    }
    if (lockfile->is_left && op->kind == HF__OP_ACQUIRE) {
        r = hf__lockfile_replace(lockfile, op->err);
        return r == HF_OK ? HF__RACED : r;
    }
    return HF_OK;
}

static int write_grant(struct hf__file *s, const struct hf__op *op,
                       const struct hf__name *name)
{
    struct hf__lockfile *lockfile = &s->lockfile;
    const struct hf__participant *g = hf__name_holder(name);
    bool is_new = false;
    int r = hold(s, op, g, &is_new);

    if (r != HF_OK) {
        return r;
    }
    r = write_record(lockfile, op);
    if (r == HF_OK && op->kind != HF__OP_BREAK &&
        !hf__lockfile_is_in_place(lockfile)) {
        r = HF__RACED;
    }
    if (r == HF_OK || r == HF_EUNKNOWN || !is_new) {
        return r;
    }
    /* The change was not applied after all. */
    if (op->kind == HF__OP_HANDOVER) {
        /* The token has an entry, so this cannot fail. */
        (void)!hf__held_add(&s->local.side->held, &op->key, &op->token,
                            g->ends_us, &is_new);
    } else {
        hf__held_remove(&s->local.side->held, &op->key, &g->token);
    }
    return r;
}

/* The queue is written after the record. If only the queue changes, the change
 * counts only if the file is still in its place afterwards. */
static int write_all(struct hf__file *s, const struct hf__op *op,
                     const struct hf__name *name, struct hf__outcome *out)
{
    bool has_record = put_record(&s->lockfile, name);
    int r = has_record ? write_grant(s, op, name) : HF_OK;

    if (r == HF_OK && op->kind != HF__OP_BREAK) {
        change_waiters(&s->lockfile, name, out);
        r = has_record || hf__lockfile_is_in_place(&s->lockfile) ? HF_OK
                                                                 : HF__RACED;
    }
    return r;
}

int hf__file_commit(void *state, const struct hf__op *op, struct hf__name *name,
                    struct hf__outcome *out)
{
    struct hf__file *s = state;
    int r = prepare(&s->lockfile, op);

    /* With one slot torn, the other may be the older state. Nothing is granted
     * from it while another token may have been granted the lock in the newer
     * one. */
    if (r == HF_OK && s->lockfile.is_torn && op->kind == HF__OP_ACQUIRE &&
        out->is_taken &&
        hf__file_held_until(s->local.side, &op->key, &op->token, name->now_us) >
            0) {
        r = hf__fail(op->err, HF_EPROTO,
                     "%s/%s is damaged, and somebody holds the lock",
                     s->file_dir.dir.store, s->lockfile.name);
    }
    if (r == HF_OK) {
        r = write_all(s, op, name, out);
    }
    if (r != HF_OK) {
        return r;
    }
    let_go(s, op, name);
    if (out->is_taken) {
        hf__sleep_slot_tell_taken(&s->local.sleep_slot,
                                  &s->local.side->wake_view, op);
    }
    if (out->wakes) {
        wake_next(s, op, name);
    }
    return HF_OK;
}
