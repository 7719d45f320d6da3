/* SPDX-License-Identifier: MIT */
/*
 * What the engine asks of the file store: loading a name, which has a file of
 * its own, and sleeping. Called by the session's thread.
 */
#include "src/backend/file/store.h"

#include "src/base/error.h"

/* So long somebody may be stopped between reading and writing, before we go
 * on to the next name. */
#define LOCK_MS 50
/* And before a break does without him. */
#define BREAK_MS 200

#define LOOK_NS (200 * HF__MS)
/* A claim that tries after each grant to others would come for nothing. */
#define NEWS_NS HF__SECOND

static struct hf__rules rules(void *state)
{
    const struct hf__file *s = state;

    return (struct hf__rules){.life = s->local.side->life,
                              .foreign = HF__LOCAL_FOREIGN};
}

/* ---- reading */

static void put_down(void *state)
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

static int load(void *state, const struct hf__key *key, const struct hf__op *op,
                bool to_change, struct hf__name **ret_name, hf_error *err)
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

static void settled(void *state, const struct hf__op *op)
{
    if (op->result == HF_LOST) {
        hf__held_remove(&((struct hf__local *)state)->side->held, &op->key,
                        &op->token);
    }
}

const struct hf__primitives hf__file_primitives = {
    .rules = rules,
    .load = load,
    .put_down = put_down,
    .commit = hf__file_commit,
    .settled = settled,
    .show = hf__local_show,
    .looks_first = true,
    .scan = hf__file_scan,
    .forget = hf__file_forget,
    .look_around = hf__file_check_ground,
    .let_in = hf__local_let_in,
    .seen = hf__local_seen,
    .park = hf__local_park,
    .news_ns = NEWS_NS,
    .look_ns = LOOK_NS,
};
