/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleep until a name may be free. A waiter reads the record once,
 * then sleeps on its word; every 100 to 200 ms it looks, without SQL, whether
 * the word moved, the holder's byte is free or the lease is over, because
 * nobody tells of those who are killed and a wake-up may go to somebody who
 * is. Called by the session's thread.
 */
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/row.h"
#include "src/backend/sqlite/sqlite.h"
#include "src/base/alloc.h"
#include "src/base/rand.h"

#define LOOK_MIN_NS (100 * HF__MS)
#define LOOK_MAX_NS (200 * HF__MS)
/* That another holder came is told at once if it was so before the wait, and
 * else not earlier than this: a claim that tries after each grant to others
 * would write for nothing. */
#define NEWS_NS (1 * HF__SECOND)

/* What is known of a watched name. */
struct sight {
    unsigned seen; /* of the bell's word, before reading */
    uint64_t life; /* of the holder's process; 0: unknown */
    hf__time due;  /* the lease or the keeping ends */
};

struct vigil {
    struct hf__sqlite *s;
    struct hf__watch **watches;
    struct sight *sights;
    int n;
    hf__time news_at;
    unsigned any_seen;
};

static void sights_free(struct sight **sights)
{
    hf__free(*sights);
}

static atomic_uint *word_of(const struct vigil *v, int i)
{
    unsigned index = hf__bell_index(hf__chime_of(&v->watches[i]->key));

    return &v->s->side->board->belfry.bell[index].word;
}

static bool is_news(const struct hf__watch *watch, const struct hf__row *row)
{
    static const struct hf__token nobody;
    bool is_kept = row->standing == HF__STANDS_KEPT;

    return row->fence != watch->fence ||
           !hf__token_equal(is_kept ? &nobody : &row->token, &watch->token);
}

static void note(struct sight *sight, const struct hf__row *row)
{
    sight->life = row->life;
    sight->due = row->remaining_us < 0
                     ? HF__NEVER
                     : hf__after_ns(hf__now(), row->remaining_us * 1000);
}

/* Decide what a record that was just read means for watch i. */
static void weigh(struct vigil *v, int i, const struct hf__row *row)
{
    struct hf__watch *watch = v->watches[i];

    note(&v->sights[i], row);
    if (hf__row_is_free(row)) {
        hf__bells_allow(&v->s->side->bells, hf__chime_of(&watch->key));
        watch->has_fired = true;
    } else if (row->standing == HF__STANDS_DAMAGED) {
        watch->has_fired = true;
    } else if (is_news(watch, row)) {
        watch->has_fired = !hf__before(hf__now(), v->news_at);
        v->sights[i].due = hf__earlier(v->sights[i].due, v->news_at);
    }
}

/* Read the record of watch i. */
static int read_one(struct vigil *v, int i)
{
    struct hf__sqlite *s = v->s;
    struct hf__row row;
    int rc;

    v->sights[i].seen = atomic_load(word_of(v, i));
    hf__pool_take(s);
    hf__row_set_clock(s);
    rc = hf__row_get(s, &v->watches[i]->key, &row, NULL);
    if (hf__sql_is_fatal(s, rc)) {
        return rc;
    }
    hf__pool_give(s);
    if (rc == SQLITE_OK) {
        weigh(v, i, &row);
    }
    return rc;
}

/* Without SQL: can the record have become free, or have changed? */
static bool may_differ(const struct vigil *v, int i, hf__time now)
{
    const struct sight *sight = &v->sights[i];

    return atomic_load(word_of(v, i)) != sight->seen ||
           !hf__before(now, sight->due) ||
           (sight->life != 0 && hf__side_probe(v->s->side, sight->life) == 0);
}

/* Look at all; the first time in the database, then where needed. */
static int look(struct vigil *v, bool is_first, bool *ret_has_fired)
{
    hf__time now = hf__now();
    int rc = SQLITE_OK;

    for (int i = 0; i < v->n && rc == SQLITE_OK; i++) {
        if (is_first || may_differ(v, i, now)) {
            rc = read_one(v, i);
        }
        *ret_has_fired |= v->watches[i]->has_fired;
    }
    return rc;
}

static void sleep_once(struct vigil *v)
{
    struct hf__sqlite *s = v->s;
    bool is_alone = v->n == 1;
    atomic_uint *word =
        is_alone ? word_of(v, 0) : &s->side->board->belfry.any.word;
    unsigned seen = is_alone ? v->sights[0].seen : v->any_seen;
    hf__time limit =
        hf__after_ns(hf__now(), hf__random_between(LOOK_MIN_NS, LOOK_MAX_NS));

    for (int i = 0; i < v->n; i++) {
        limit = hf__earlier(limit, v->sights[i].due);
    }
    limit = hf__earlier(limit, s->deadline);
    hf__nap_on(&s->nap, &s->head, word, seen, limit);
}

static int watch_over(struct vigil *v, hf_error *err)
{
    struct hf__sqlite *s = v->s;
    bool is_first = true;
    bool has_fired = false;

    for (;;) {
        int rc;

        v->any_seen = atomic_load(&s->side->board->belfry.any.word);
        s->moved_file = hf__place_changed(&s->place, &s->watch);
        if (s->moved_file >= 0) {
            return hf__sqlite_fail_moved(s, s->moved_file, err);
        }
        rc = look(v, is_first, &has_fired);
        if (s->db != NULL) {
            return hf__sql_status(s, rc, err);
        }
        /* Without memory, or past the deadline: whoever asked looks again. */
        if (rc != SQLITE_OK || has_fired || hf__is_interrupted(&s->head) ||
            !hf__before(hf__now(), s->deadline)) {
            return HF_OK;
        }
        if (is_first) {
            v->news_at = hf__after_ns(hf__now(), NEWS_NS);
            is_first = false;
        }
        sleep_once(v);
    }
}

int hf__sqlite_wait(void *state, struct hf__watch *w[], int n,
                    hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    HF_AUTO(sights_free)
    struct sight *sights = hf__alloc((size_t)n * sizeof *sights);
    struct vigil v = {s, w, sights, n, hf__now(), 0};
    bool is_alone = n == 1;
    int r;

    hf__sqlite_begin(s, deadline, err);
    if (sights == NULL) {
        return HF_OK; /* nothing fired; the core waits in its own way */
    }
    hf__bells_arm(&s->side->bells, hf__chime_of(&w[0]->key), is_alone);
    r = watch_over(&v, err);
    hf__bells_disarm(&s->side->bells, hf__chime_of(&w[0]->key), is_alone);
    return r;
}
