/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and being told, by the side file's words. A waiter sleeps on its
 * word, and looks by itself now and then, because nobody tells of those who are
 * killed and a wake-up may go to somebody who is. One in line sleeps on the
 * word of its ticket, so a hand-over wakes one, and not the line. Called by the
 * session's thread.
 */
#include "src/backend/local/local.h"

#include "src/base/error.h"

int hf__local_begin(struct hf__local *s, const struct hf__url *url,
                    const char *whose, const char *form, hf_error *err)
{
    int r = hf__boot_read(s->boot, err);

    return r == HF_OK && url->n_hosts > 0
               ? hf__fail(err, HF_EINVAL, "%s has no host; write %s", whose,
                          form)
               : r;
}

/* ---- calls */

int hf__local_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__local *s = state;
    struct hf__bells *bells = &s->side->bells;
    struct hf__chime name = hf__chime_of_watch(w[0]);
    int r;

    hf__bells_arm(bells, name, n == 1);
    r = hf__plain_wait(s, w, n, deadline, err);
    hf__bells_disarm(bells, name, n == 1);
    return r;
}

int hf__local_listen(void *state, hf__broken_fn fn, void *arg,
                     hf__time deadline, hf_error *err)
{
    struct hf__local *s = state;
    struct hf__listening l = {&s->side->words, HF__ON_BOARD(breaks),
                              s->side->life,   &s->nap,
                              &s->plain.head,  &s->heard};
    int r = s->plain.primitives->look_around(s, err);

    if (r == HF_OK) {
        hf__breaks_listen(&l, fn, arg, deadline);
    }
    return r;
}

void hf__local_interrupt(void *state)
{
    hf__nap_end(&((struct hf__local *)state)->nap);
}

int hf__local_lock_fds(void *state, int *fds, int max)
{
    const struct hf__local *s = state;

    if (max > 0) {
        fds[0] = s->side->fd;
    }
    return 1;
}

/* ---- primitives */

void hf__local_show(void *state, const struct hf__participant *ticket)
{
    hf__stamps_set(&((struct hf__local *)state)->side->words,
                   HF__ON_BOARD(stamps), hf__chime_of_ticket(&ticket->token),
                   hf__now());
}

void hf__local_let_in(void *state, const struct hf__watch *w)
{
    hf__bells_allow(&((struct hf__local *)state)->side->bells,
                    hf__chime_of(&w->key));
}

unsigned hf__local_seen(void *state, struct hf__watch *w[], int n)
{
    const struct hf__side *side = ((struct hf__local *)state)->side;

    return hf__words_get(&side->words, hf__word_of_watches(&side->bells, w, n));
}

void hf__local_park(void *state, struct hf__watch *w[], int n, unsigned seen,
                    hf__time until)
{
    struct hf__local *s = state;

    hf__nap_on(&s->nap, &s->plain.head,
               hf__words_name(&s->side->words,
                              hf__word_of_watches(&s->side->bells, w, n)),
               seen, until);
}
