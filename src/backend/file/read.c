/* SPDX-License-Identifier: MIT */
/*
 * Loading a name from its own file: the grant and the tickets, in their present
 * state. Called by the session's thread.
 */
#include "src/backend/file/file.h"

#include "src/base/error.h"

/* How long to wait for a session that may be stopped between reading and
 * writing, before going on to the next name. */
#define LOCK_MS 50
/* How long a break waits for it before it goes on without the lock. */
#define BREAK_MS 200

/* ---- from the record to the name */

static int judge_grant(const struct hf__lockfile *lockfile,
                       const struct hf__op *op, const struct hf__terms *terms,
                       struct hf__name *name)
{
    const struct hf__file_record *r = &lockfile->record;
    struct hf__participant *g = hf__participants_add(&name->grants, -1);

    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->token = r->token;
    g->fence = r->fence;
    g->life = hf__file_life_of(lockfile, r->side, r->life);
    g->is_detached = r->life == 0;
    g->since_us = r->acquired_at_us;
    hf__local_lease_state(&lockfile->s->local, terms, name, g);
    /* A token that renews, releases or raises its own grant needs no owner. */
    if (op == NULL || !hf__token_equal(&g->token, &op->token) ||
        (op->kind != HF__OP_RENEW && op->kind != HF__OP_RELEASE &&
         op->kind != HF__OP_RAISE)) {
        hf__local_read_owner(&r->owner, &g->owner);
    }
    return HF_OK;
}

/* The name has no record, perhaps because its file was deleted. Then its holder
 * is unknown, but may hold it nevertheless. */
static int judge_missing(const struct hf__lockfile *lockfile,
                         const struct hf__token *mine, struct hf__name *name)
{
    const struct hf__file_record *r = &lockfile->record;
    const struct hf__key key = {r->key, (uint16_t)r->key_length, 0};
    int64_t until_us =
        hf__file_held_until(lockfile->s->local.side, &key, mine, name->now_us);
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

int hf__file_judge(const struct hf__lockfile *lockfile, const struct hf__op *op,
                   bool is_whole, struct hf__name *name)
{
    static const struct hf__token nobody;
    const struct hf__file_record *r = &lockfile->record;
    const struct hf__terms terms = {r->boot, r->expires_us, r->keep_until_us,
                                    r->keep_us, r->acquired_at_us};
    int result = HF_OK;

    name->now_us = hf__now().ns / 1000;
    name->wall_us = hf__wall_us();
    name->fence_floor = name->wall_us;
    name->is_there = lockfile->fd >= 0;
    name->fence = r->fence;
    name->broken = r->broken;
    name->touched_us =
        r->acquired_at_us > r->freed_at_us ? r->acquired_at_us : r->freed_at_us;
    name->keep_until_us =
        hf__local_kept_until(&lockfile->s->local, &terms, name);
    if (r->fence == 0) {
        result =
            judge_missing(lockfile, op == NULL ? &nobody : &op->token, name);
    } else if (!hf__token_is_zero(&r->token)) {
        result = judge_grant(lockfile, op, &terms, name);
    }
    /* Renewing and raising do not depend on the queue. */
    name->is_partial = lockfile->waiters.n > 0 && !is_whole && op != NULL &&
                       (op->kind == HF__OP_RENEW || op->kind == HF__OP_RAISE);
    return result == HF_OK && !name->is_partial
               ? hf__file_waiters_judge(lockfile, op, name)
               : result;
}

/* ---- loading */

void hf__file_put_down(void *state)
{
    struct hf__file *s = state;

    hf__name_fini(&s->name);
    hf__lockfile_close(&s->lockfile);
}

static int read_name(struct hf__file *s, const struct hf__key *key,
                     const struct hf__op *op, bool to_change, hf_error *err)
{
    bool is_break = op != NULL && op->kind == HF__OP_BREAK;
    int r = HF_OK;

    if (s->lockfile.fd < 0) {
        r = hf__lockfile_open(s, key, &s->lockfile, err);
    }
    if (r != HF_OK || s->lockfile.fd < 0) {
        return r;
    }
    if (to_change &&
        !hf__lockfile_lock(
            &s->lockfile,
            hf__after_ms(hf__now(), is_break ? BREAK_MS : LOCK_MS)) &&
        !is_break) {
        return HF__AGAIN;
    }
    return hf__lockfile_read(&s->lockfile, key, err);
}

int hf__file_load(void *state, const struct hf__key *key,
                  const struct hf__op *op, bool to_change,
                  struct hf__name **ret_name, hf_error *err)
{
    struct hf__file *s = state;
    bool is_whole = s->name.is_partial;
    int r = read_name(s, key, op, to_change, err);

    hf__name_fini(&s->name);
    *ret_name = &s->name;
    if (r == HF_OK &&
        hf__file_judge(&s->lockfile, op, is_whole, &s->name) != HF_OK) {
        r = hf__fail(err, HF_ENOMEM, "out of memory for a lock");
    }
    return r;
}
