/* SPDX-License-Identifier: MIT */
/*
 * What the engine asks of the SQLite store. Called by the session's thread.
 */
#include "src/backend/sqlite/commit.h"
#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/name.h"
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/row.h"
#include "src/base/error.h"

#define LOOK_NS (200 * HF__MS)
/* That another holder came is told at once if it was so before the wait, and
 * else not earlier than this: a claim that tries after each grant to others
 * would write for nothing. */
#define NEWS_NS HF__SECOND

static struct hf__rules rules(void *state)
{
    const struct hf__sqlite *s = state;

    return (struct hf__rules){
        .life = s->local.side->life,
        .damaged = "the record of this lock in holdfast_lock or "
                   "holdfast_beside was changed by somebody else and makes no "
                   "sense; delete that row when nobody uses the lock",
        .foreign = HF__LOCAL_FOREIGN};
}

/* ---- a name */

static void put_down(void *state)
{
    hf__name_fini(&((struct hf__sqlite *)state)->name);
}

static int load(void *state, const struct hf__key *key, const struct hf__op *op,
                bool to_change, struct hf__name **ret_name, hf_error *err)
{
    struct hf__sqlite *s = state;
    enum hf__extent extent =
        s->name.is_partial ? HF__ALL_OF_IT : HF__WHAT_MATTERS;

    (void)to_change;
    (void)err;
    hf__name_fini(&s->name);
    s->rc = hf__name_read(s, key, op, extent);
    s->is_unfit |= hf__sql_is_fatal(s, s->rc);
    s->name.fence_floor = hf__fence_floor(s, s->name.is_there);
    *ret_name = &s->name;
    return s->rc == SQLITE_OK ? HF_OK : HF__ABORTED;
}

/* ---- waiting */

static void begin(void *state)
{
    struct hf__sqlite *s = state;

    hf__pool_take(s);
    s->rc = SQLITE_OK;
    s->is_unfit = false;
    hf__sqlite_set_clock(s);
}

static void end(void *state)
{
    struct hf__sqlite *s = state;

    if (!s->is_unfit && !hf__sql_is_fatal(s, s->rc)) {
        hf__pool_give(s);
    }
}

static int look_around(void *state, hf_error *err)
{
    struct hf__sqlite *s = state;

    return hf__sqlite_has_moved(s)
               ? hf__sqlite_fail_moved(s, s->moved_file, err)
               : HF_OK;
}

const struct hf__primitives hf__sqlite_primitives = {
    .rules = rules,
    .begin = begin,
    .end = end,
    .load = load,
    .put_down = put_down,
    .commit = hf__sqlite_commit,
    .show = hf__local_show,
    .scan = hf__sqlite_scan,
    .is_sorted = true,
    .forget = hf__sqlite_forget,
    .look_around = look_around,
    .let_in = hf__local_let_in,
    .seen = hf__local_seen,
    .park = hf__local_park,
    .news_ns = NEWS_NS,
    .look_ns = LOOK_NS,
};
