/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleep until the name may be had. A waiter reads the record once,
 * then sleeps on its word; every 100 to 200 ms it looks, without SQL, whether
 * the word moved, the holder's byte is free or the lease is over, because
 * nobody tells of those who are killed and a wake-up may go to somebody who
 * is.
 *
 * One in line sleeps on the word of its ticket, shows at each look by its
 * stamp that it is there, and looks at the name's word no oftener than that:
 * so a hand-over wakes one, and not the line. Of those in its way it minds one
 * at a time, for while that one is there it may not enter; for a slot any of
 * the holders may be the one who leaves, so it reads again at each look.
 * Called by the session's thread.
 */
#include "src/backend/sqlite/entry.h"
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
    unsigned seen;    /* of the bell's word, before reading */
    unsigned ring;    /* the same of the ticket's */
    uint64_t life;    /* of the holder's process; 0: unknown */
    hf__time due;     /* the lease or the keeping ends */
    hf__time look_at; /* for one in line: minds the name's word from then on */
    bool is_behind;   /* `ahead` is in its way */
    struct hf__ticket ahead;
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

static bool has_ticket(const struct hf__watch *watch)
{
    return !hf__token_is_zero(&watch->ticket);
}

/* On which it sleeps. */
static struct hf__chime chime_of(const struct hf__watch *watch)
{
    return has_ticket(watch) ? hf__chime_of_ticket(&watch->ticket)
                             : hf__chime_of(&watch->key);
}

static unsigned word_of(const struct vigil *v, struct hf__chime chime)
{
    return hf__words_get(&v->s->side->words,
                         hf__bells_word(&v->s->side->bells, chime));
}

/* Of the name itself. */
static unsigned name_word(const struct vigil *v, int i)
{
    return word_of(v, hf__chime_of(&v->watches[i]->key));
}

static unsigned any_word(const struct hf__sqlite *s)
{
    return hf__words_get(&s->side->words, hf__bells_any(&s->side->bells));
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
    sight->is_behind = false;
    sight->life = row->life;
    sight->due = row->remaining_us < 0
                     ? HF__NEVER
                     : hf__after_us(hf__now(), row->remaining_us);
}

/* It may enter, or has to be told why not. */
static void fire(struct vigil *v, struct hf__watch *watch)
{
    hf__bells_allow(&v->s->side->bells, hf__chime_of(&watch->key));
    watch->has_fired = true;
}

/* Who is in the way of watch i, whose name is another's by now? One in line
 * does not mind who it is. */
static void mind(struct vigil *v, int i, const struct hf__row *row)
{
    struct hf__watch *watch = v->watches[i];
    struct sight *sight = &v->sights[i];

    if (!has_ticket(watch) && is_news(watch, row)) {
        watch->has_fired = !hf__before(hf__now(), v->news_at);
        sight->due = hf__earlier(sight->due, v->news_at);
    }
}

/* The same where others stand beside or in line. */
static int weigh_crowd(struct vigil *v, int i, struct hf__row *name)
{
    struct hf__watch *watch = v->watches[i];
    struct sight *sight = &v->sights[i];
    const struct hf__entrant claim = {&watch->key, &watch->ticket,
                                      watch->manner, false};
    struct hf__entry_view view;
    int rc = hf__entry_view(v->s, name, &claim, &view);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (view.is_damaged || view.entry == HF__ENTRY_OPEN ||
        view.entry == HF__ENTRY_MISFIT) {
        fire(v, watch);
        return SQLITE_OK;
    }
    if (view.entry == HF__ENTRY_HELD) {
        note(sight, &view.holder);
        name->token = view.holder.token;
        mind(v, i, name);
    } else {
        /* Who holds it is no news to one who is only behind the line. */
        sight->is_behind = true;
        sight->ahead = view.ticket;
    }
    if (watch->manner.mode == HF__MODE_SLOTS) {
        sight->due = hf__earlier(sight->due, sight->look_at);
    }
    return SQLITE_OK;
}

/* Decide what a record that was just read means for watch i. */
static int weigh(struct vigil *v, int i, struct hf__row *row)
{
    struct hf__watch *watch = v->watches[i];
    bool is_in_line = true;
    int rc = SQLITE_OK;

    note(&v->sights[i], row);
    if (has_ticket(watch)) {
        is_in_line = false;
        rc = row->has_line
                 ? hf__line_has(v->s, &watch->key, &watch->ticket, &is_in_line)
                 : SQLITE_OK;
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!is_in_line || row->standing == HF__STANDS_DAMAGED) {
        watch->has_fired = true;
    } else if (!hf__row_is_free(row)) {
        mind(v, i, row);
    } else if (row->has_beside || row->has_line) {
        return weigh_crowd(v, i, row);
    } else {
        fire(v, watch);
    }
    return SQLITE_OK;
}

/* Read the record of watch i. */
static int read_one(struct vigil *v, int i)
{
    struct hf__sqlite *s = v->s;
    struct sight *sight = &v->sights[i];
    struct hf__row row;
    int rc;

    sight->seen = name_word(v, i);
    sight->look_at = hf__after_ns(hf__now(), LOOK_MIN_NS);
    hf__pool_take(s);
    hf__row_set_clock(s);
    rc = hf__row_get(s, &v->watches[i]->key, &row, NULL);
    if (rc == SQLITE_OK) {
        rc = weigh(v, i, &row);
    }
    if (!hf__sql_is_fatal(s, rc)) {
        hf__pool_give(s);
    }
    return rc;
}

/* Has the ticket's bell rung since it was read last? */
static bool has_rung(struct vigil *v, int i)
{
    const struct hf__watch *watch = v->watches[i];
    unsigned ring = 0;
    bool has_moved;

    if (!has_ticket(watch)) {
        return false;
    }
    hf__line_show(v->s, &watch->ticket);
    ring = word_of(v, chime_of(watch));
    has_moved = ring != v->sights[i].ring;
    v->sights[i].ring = ring;
    return has_moved;
}

/* Without SQL: can the record have become free, or have changed? */
static bool may_differ(const struct vigil *v, int i, hf__time now)
{
    const struct sight *sight = &v->sights[i];
    bool is_told =
        !has_ticket(v->watches[i]) || !hf__before(now, sight->look_at);

    return (is_told && name_word(v, i) != sight->seen) ||
           !hf__before(now, sight->due) ||
           (sight->is_behind && hf__line_has_gone(v->s, &sight->ahead)) ||
           (sight->life != 0 && hf__side_probe(v->s->side, sight->life) == 0);
}

/* Look at all; the first time in the database, then where needed. */
static int look(struct vigil *v, bool must_read, bool *ret_has_fired)
{
    hf__time now = hf__now();
    int rc = SQLITE_OK;

    for (int i = 0; i < v->n && rc == SQLITE_OK; i++) {
        bool is_rung = has_rung(v, i);

        if (must_read || is_rung || may_differ(v, i, now)) {
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
    const struct hf__bells *bells = &s->side->bells;
    size_t word = is_alone ? hf__bells_word(bells, chime_of(v->watches[0]))
                           : hf__bells_any(bells);
    unsigned seen = !is_alone                   ? v->any_seen
                    : has_ticket(v->watches[0]) ? v->sights[0].ring
                                                : v->sights[0].seen;
    hf__time limit =
        hf__after_ns(hf__now(), hf__random_between(LOOK_MIN_NS, LOOK_MAX_NS));

    for (int i = 0; i < v->n; i++) {
        limit = hf__earlier(limit, v->sights[i].due);
    }
    limit = hf__earlier(limit, s->deadline);
    hf__nap_on(&s->nap, &s->head, hf__words_name(bells->words, word), seen,
               limit);
}

/* Without memory nothing can be read now: look again in a while. */
static void sleep_blind(struct hf__sqlite *s)
{
    size_t word = hf__bells_any(&s->side->bells);
    hf__time limit =
        hf__after_ns(hf__now(), hf__random_between(LOOK_MIN_NS, LOOK_MAX_NS));

    hf__nap_on(&s->nap, &s->head, hf__words_name(&s->side->words, word),
               any_word(s), hf__earlier(limit, s->deadline));
}

static int watch_over(struct vigil *v, hf_error *err)
{
    struct hf__sqlite *s = v->s;
    bool is_first = true;
    bool must_read = true;
    bool has_fired = false;

    for (;;) {
        int rc;

        v->any_seen = any_word(s);
        if (hf__sqlite_has_moved(s)) {
            return hf__sqlite_fail_moved(s, s->moved_file, err);
        }
        rc = look(v, must_read, &has_fired);
        if (s->db != NULL) {
            return hf__sql_status(s, rc, err);
        }
        if (has_fired || hf__is_interrupted(&s->head) ||
            !hf__before(hf__now(), s->deadline)) {
            return HF_OK;
        }
        must_read = rc != SQLITE_OK; /* what rang meanwhile was heard */
        if (must_read) {
            sleep_blind(s);
            continue;
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
        sleep_blind(s);
        return HF_OK; /* nothing fired: the core asks again */
    }
    hf__bells_arm(&s->side->bells, chime_of(w[0]), is_alone);
    r = watch_over(&v, err);
    hf__bells_disarm(&s->side->bells, chime_of(w[0]), is_alone);
    return r;
}

int hf__sqlite_listen(void *state, hf__broken_fn fn, void *arg,
                      hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__listening l = {&s->side->words, HF__ON_BOARD(breaks),
                              s->side->life,   &s->nap,
                              &s->head,        &s->heard};

    hf__sqlite_begin(s, deadline, err);
    if (hf__sqlite_has_moved(s)) {
        return hf__sqlite_fail_moved(s, s->moved_file, err);
    }
    hf__breaks_listen(&l, fn, arg, deadline);
    return HF_OK;
}
