/* SPDX-License-Identifier: MIT */
/*
 * wait() and listen(): sleep until a name may be free, or a grant of ours is
 * not. A waiter sleeps on its name's bell;
 * every 100 to 200 ms it reads the record all the same, because nobody tells
 * of those who are killed and a wake-up may go to somebody who is. It locks
 * nothing, so it is in nobody's way. Called by the session's thread.
 */
#include "src/backend/file/view.h"
#include "src/base/rand.h"

#define LOOK_MIN_NS (100 * HF__MS)
#define LOOK_MAX_NS (200 * HF__MS)
/* That another holder came is told at once if it was so before the wait, and
 * else not earlier than this: a claim that tries after each grant to others
 * would come for nothing. */
#define NEWS_NS (1 * HF__SECOND) /* tickets wait for their turn alone */

struct vigil {
    struct hf__file *s;
    struct hf__watch **watches;
    int n;
    hf__time news_at;
    hf__time due; /* the first lease or keeping that ends */
    bool has_fired;
};

static void close_cell(struct hf__cell *cell)
{
    hf__cell_close(cell);
}

static bool is_news(const struct hf__watch *watch, const struct hf__cell *cell,
                    const struct hf__file_view *view)
{
    bool is_kept = view->standing == HF__FILE_KEPT;

    return cell->record.fence != watch->fence ||
           (is_kept ? !hf__token_is_zero(&watch->token)
                    : !hf__token_equal(&cell->record.token, &watch->token));
}

static void weigh(struct vigil *v, struct hf__watch *watch,
                  const struct hf__cell *cell)
{
    bool has_ticket = !hf__token_is_zero(&watch->ticket);
    struct hf__file_view view;

    if (has_ticket) {
        hf__file_line_stamp(cell, &watch->ticket);
    }
    hf__file_look(cell, NULL, &view);
    if (view.remaining_us >= 0) {
        v->due =
            hf__earlier(v->due, hf__after_us(hf__now(), view.remaining_us));
    }
    if (has_ticket && !hf__file_line_has(&cell->line, &watch->ticket)) {
        watch->has_fired = true; /* it is to ask for another */
    } else if (hf__file_is_free(&view)) {
        watch->has_fired =
            !hf__file_line_is_before(cell, &watch->ticket, watch->manner);
        if (watch->has_fired && !has_ticket) {
            hf__bells_allow(&v->s->side->bells, hf__chime_of(&watch->key));
        }
    } else if (!has_ticket && is_news(watch, cell, &view)) {
        watch->has_fired = !hf__before(hf__now(), v->news_at);
        v->due = hf__earlier(v->due, v->news_at);
    }
}

/* Look at the name of watch i, and give how many of the watches from there on
 * are of the same: of many who wait in line it is read once. What can't be
 * read is for the next acquire to say. */
static int look_at(struct vigil *v, int first)
{
    HF_AUTO(close_cell) struct hf__cell cell;
    const struct hf__key *key = &v->watches[first]->key;
    int r = hf__cell_open(v->s, key, &cell, NULL);
    int i = first;

    if (r == HF_OK && cell.fd >= 0) {
        r = hf__cell_read(&cell, key, NULL);
    }
    while (i < v->n && hf__key_compare(&v->watches[i]->key, key) == 0) {
        if (r == HF_OK) {
            weigh(v, v->watches[i], &cell);
        } else {
            v->watches[i]->has_fired = true;
        }
        v->has_fired |= v->watches[i]->has_fired;
        i++;
    }
    return i - first;
}

static void look_at_all(struct vigil *v)
{
    int i = 0;

    while (i < v->n) {
        i += look_at(v, i);
    }
}

static void sleep_on(struct vigil *v, size_t word, unsigned seen)
{
    struct hf__file *s = v->s;
    hf__time limit =
        hf__after_ns(hf__now(), hf__random_between(LOOK_MIN_NS, LOOK_MAX_NS));

    limit = hf__earlier(limit, hf__earlier(v->due, s->deadline));
    hf__nap_on(&s->nap, &s->head, hf__words_name(&s->side->words, word), seen,
               limit);
}

static int watch_over(struct vigil *v, size_t word, hf_error *err)
{
    bool is_first = true;

    for (;;) {
        unsigned seen = hf__words_get(&v->s->side->words, word);
        int r = hf__file_check_ground(v->s, err);

        if (r != HF_OK) {
            return r;
        }
        v->due = HF__NEVER;
        look_at_all(v);
        if (v->has_fired || hf__file_is_over(v->s)) {
            return HF_OK;
        }
        if (is_first) {
            v->news_at = hf__after_ns(hf__now(), NEWS_NS);
            is_first = false;
        }
        sleep_on(v, word, seen);
    }
}

/* Who has a ticket is woken when its turn has come, else with the name. */
static struct hf__chime bell_of(const struct hf__watch *watch)
{
    return hf__token_is_zero(&watch->ticket)
               ? hf__chime_of(&watch->key)
               : hf__chime_of_ticket(&watch->ticket);
}

int hf__file_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                  hf_error *err)
{
    struct hf__file *s = state;
    struct hf__bells *bells = &s->side->bells;
    struct hf__chime name = bell_of(w[0]);
    size_t word = n == 1 ? hf__bells_word(bells, name) : hf__bells_any(bells);
    struct vigil v = {s, w, n, hf__now(), HF__NEVER, false};
    int r;

    s->deadline = deadline;
    hf__bells_arm(bells, name, n == 1);
    r = watch_over(&v, word, err);
    hf__bells_disarm(bells, name, n == 1);
    return r;
}

int hf__file_listen(void *state, hf__broken_fn fn, void *arg, hf__time deadline,
                    hf_error *err)
{
    struct hf__file *s = state;
    struct hf__listening l = {&s->side->words, HF__ON_FILE_BOARD(breaks),
                              s->side->life,   &s->nap,
                              &s->head,        &s->heard};
    int r = hf__file_check_ground(s, err);

    if (r == HF_OK) {
        hf__breaks_listen(&l, fn, arg, deadline);
    }
    return r;
}
