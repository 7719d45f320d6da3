/* SPDX-License-Identifier: MIT */
/*
 * What the engine asks of the SQLite store, and waiting. A waiter sleeps on
 * its word, and every 100 to 200 ms it looks, because nobody tells of those
 * who are killed and a wake-up may go to somebody who is. One in line sleeps on
 * the word of its ticket, so a hand-over wakes one, and not the line. Called by
 * the session's thread.
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
        .life = s->side->life,
        .damaged = "the record of this lock in holdfast_lock or "
                   "holdfast_beside was changed by somebody else and makes no "
                   "sense; delete that row when nobody uses the lock",
        .foreign = "the holder runs in another time namespace, or in a "
                   "container with a boot id of its own, so its lease can't "
                   "be judged by this one's clock; use the lock in one of the "
                   "two only"};
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

static void show(void *state, const struct hf__participant *ticket)
{
    struct hf__sqlite *s = state;

    hf__stamps_set(&s->side->words, HF__ON_BOARD(stamps),
                   hf__chime_of_ticket(&ticket->token), hf__now());
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

static void let_in(void *state, const struct hf__watch *w)
{
    hf__bells_allow(&((struct hf__sqlite *)state)->side->bells,
                    hf__chime_of(&w->key));
}

static unsigned seen_now(void *state, struct hf__watch *w[], int n)
{
    struct hf__sqlite *s = state;

    return hf__words_get(&s->side->words,
                         hf__word_of_watches(&s->side->bells, w, n));
}

static void park(void *state, struct hf__watch *w[], int n, unsigned from,
                 hf__time until)
{
    struct hf__sqlite *s = state;

    hf__nap_on(&s->nap, &s->head,
               hf__words_name(&s->side->words,
                              hf__word_of_watches(&s->side->bells, w, n)),
               from, until);
}

const struct hf__primitives hf__sqlite_primitives = {
    .rules = rules,
    .begin = begin,
    .end = end,
    .load = load,
    .put_down = put_down,
    .commit = hf__sqlite_commit,
    .show = show,
    .scan = hf__sqlite_scan,
    .is_sorted = true,
    .forget = hf__sqlite_forget,
    .look_around = look_around,
    .let_in = let_in,
    .seen = seen_now,
    .park = park,
    .news_ns = NEWS_NS,
    .look_ns = LOOK_NS,
};

/* ---- calls */

int hf__sqlite_wait(void *state, struct hf__watch *w[], int n,
                    hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__bells *bells = &s->side->bells;
    int r;

    hf__sqlite_begin(s, deadline, err);
    hf__bells_arm(bells, hf__chime_of_watch(w[0]), n == 1);
    r = hf__engine_wait(&hf__sqlite_primitives, s, w, n, deadline, err);
    hf__bells_disarm(bells, hf__chime_of_watch(w[0]), n == 1);
    return r;
}

int hf__sqlite_listen(void *state, hf__broken_fn fn, void *arg,
                      hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__listening l = {&s->side->words, HF__ON_BOARD(breaks),
                              s->side->life,   &s->nap,
                              &s->head,        &s->heard};
    int r;

    hf__sqlite_begin(s, deadline, err);
    r = look_around(s, err);
    if (r == HF_OK) {
        hf__breaks_listen(&l, fn, arg, deadline);
    }
    return r;
}
