/* SPDX-License-Identifier: MIT */
/*
 * What the sessions of all stores on one machine have in common. A waiter
 * sleeps on a word of the side file and is woken through it. It also looks by
 * itself now and then, because nobody reports a killed holder, and a wake-up
 * may go to a waiter that was killed. A waiter in the queue sleeps on the word
 * of its ticket, so a hand-over wakes one waiter and not the whole queue.
 * Grants and tickets are judged by the boot clock; those of another clock by
 * whether the kernel says that the holder lives, or by the wall clock if they
 * are of another boot and depend on no process. check() describes files. The
 * stores read their records themselves. Called by the session's thread.
 */
#include "src/backend/local/local.h"

#include "src/backend/report.h"
#include "src/base/error.h"
#include "src/base/utf8.h"

#include <stdio.h>
#include <string.h>

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
    struct hf__wake_view *wake_view = &s->side->wake_view;
    struct hf__wake_key name = hf__wake_key_of_watch(w[0]);
    int r;

    hf__wake_table_subscribe(wake_view, name, n == 1);
    r = hf__engine_session_wait(s, w, n, deadline, err);
    hf__wake_table_unsubscribe(wake_view, name, n == 1);
    return r;
}

int hf__local_listen(void *state, hf__broken_fn fn, void *arg,
                     hf__time deadline, hf_error *err)
{
    struct hf__local *s = state;
    struct hf__listening l = {&s->side->words,         HF__SIDE_OFFSET(breaks),
                              s->side->life,           &s->sleep_slot,
                              &s->engine_session.head, &s->heard};
    int r = s->engine_session.primitives->look_around(s, err);

    if (r == HF_OK) {
        hf__breaks_listen(&l, fn, arg, deadline);
    }
    return r;
}

void hf__local_interrupt(void *state)
{
    hf__sleep_slot_end(&((struct hf__local *)state)->sleep_slot);
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
    hf__last_seen_set(&((struct hf__local *)state)->side->words,
                      HF__SIDE_OFFSET(last_seen),
                      hf__wake_key_of_ticket(&ticket->token), hf__now());
}

void hf__local_let_in(void *state, const struct hf__watch *w)
{
    hf__wake_table_allow(&((struct hf__local *)state)->side->wake_view,
                         hf__wake_key_of(&w->key));
}

unsigned hf__local_seen(void *state, struct hf__watch *w[], int n)
{
    const struct hf__side *side = ((struct hf__local *)state)->side;

    return hf__words_get(&side->words,
                         hf__word_of_watches(&side->wake_view, w, n));
}

void hf__local_park(void *state, struct hf__watch *w[], int n, unsigned seen,
                    hf__time until)
{
    struct hf__local *s = state;

    hf__sleep_slot_on(
        &s->sleep_slot, &s->engine_session.head,
        hf__words_name(&s->side->words,
                       hf__word_of_watches(&s->side->wake_view, w, n)),
        seen, until);
}

/* ---- state of grants and tickets */

bool hf__local_is_same_clock(const struct hf__local *s, const char *boot)
{
    return strncmp(boot, s->boot, sizeof s->boot) == 0;
}

/* The rest of lasts_us since the grant, by the wall clock; 0 if the grant is in
 * the future. */
static int64_t left_of(int64_t lasts_us, const struct hf__terms *terms,
                       const struct hf__name *name)
{
    return name->wall_us < terms->since_us
               ? 0
               : lasts_us - (name->wall_us - terms->since_us);
}

/* How long the name is still kept, by the clock of the boot in which that
 * began; after a restart by the wall clock, and then never above keep_us, nor
 * above 0 if that clock is behind the grant. */
static int64_t kept_for(const struct hf__local *s,
                        const struct hf__terms *terms,
                        const struct hf__name *name)
{
    if (terms->keep_us <= 0) {
        return 0;
    }
    if (hf__local_is_same_clock(s, terms->boot)) {
        return terms->keep_until_us - name->now_us;
    }
    /* It is kept for ever, so no clock ends it. */
    return terms->keep_us >= HF_KEEP_MAX_MS * 1000
               ? terms->keep_us
               : left_of(terms->keep_us, terms, name);
}

int64_t hf__local_kept_until(const struct hf__local *s,
                             const struct hf__terms *terms,
                             const struct hf__name *name)
{
    int64_t kept_us = kept_for(s, terms, name);

    return kept_us > 0 ? name->now_us + kept_us : 0;
}

/* The rest of a lease that began under another boot id and depends on no
 * process: by the wall clock, for as long as it was given in its own boot. Not
 * above 0 also if that clock is behind the grant. */
static int64_t left_by_wall(const struct hf__terms *terms,
                            const struct hf__name *name)
{
    int64_t granted_us = terms->keep_until_us - terms->keep_us;

    return left_of(terms->expires_us - granted_us, terms, name);
}

void hf__local_lease_state(const struct hf__local *s,
                           const struct hf__terms *terms,
                           const struct hf__name *name,
                           struct hf__participant *g)
{
    bool is_same_boot = strncmp(terms->boot, s->boot, HF__BOOT_ID_LENGTH) == 0;
    bool is_same_clock = hf__local_is_same_clock(s, terms->boot);

    g->holder_lives = -1;
    g->is_past = !is_same_clock;
    g->ends_us = is_same_clock ? terms->expires_us : INT64_MAX;
    if (g->ends_us <= name->now_us) {
        g->state = HF__PARTICIPANT_ENDED;
        return;
    }
    if (!is_same_boot && g->is_detached && left_by_wall(terms, name) > 0) {
        g->ends_us = name->now_us + left_by_wall(terms, name);
        return;
    }
    g->holder_lives = hf__side_probe(s->side, g->life);
    /* A container may show a boot id of its own. But a process whose byte is
     * locked did not run before a restart, whatever the id says. */
    if (!is_same_boot && g->holder_lives != 1) {
        g->state = HF__PARTICIPANT_ENDED;
        g->ends_us = name->now_us - name->wall_us; /* end is unknown */
    } else if (g->holder_lives == 0) {
        g->state = HF__PARTICIPANT_DEAD;
    } else if (!is_same_clock) {
        g->state = HF__PARTICIPANT_FOREIGN;
    }
}

/* Judge a ticket by when it was last seen. That time may have been reset since,
 * when nobody was in the store. A time in the future does not come from our
 * clock. A ticket whose process lives keeps its place in the queue, as the
 * process may only have been stopped. */
static enum hf__participant_state by_last_seen(const struct hf__local *s,
                                               int64_t now_us,
                                               const struct hf__participant *t,
                                               int lives)
{
    int64_t keep_us = HF__TICKET_KEEP_MS * INT64_C(1000);
    int64_t idle_ms = hf__ticket_idle_ms(
        &s->side->words, HF__SIDE_OFFSET(last_seen), &t->token, hf__now());

    if (idle_ms > -HF__TICKET_PATIENCE_MS && idle_ms < HF__TICKET_PATIENCE_MS) {
        return HF__PARTICIPANT_RUNNING;
    }
    return lives == 1 || (idle_ms >= 0 && idle_ms < HF__TICKET_KEEP_MS) ||
                   (t->seen_us <= now_us && t->seen_us > now_us - keep_us)
               ? HF__PARTICIPANT_DEAD
               : HF__PARTICIPANT_ENDED;
}

/* A ticket of another clock (another boot or time namespace) is judged only by
 * the locked byte of its process. */
void hf__local_ticket_state(const struct hf__local *s, int64_t now_us,
                            struct hf__participant *t)
{
    int lives = hf__side_probe(s->side, t->life);

    t->holder_lives = -1;
    if (lives == 0) {
        t->state = HF__PARTICIPANT_ENDED;
    } else if (!t->is_past) {
        t->state = by_last_seen(s, now_us, t, lives);
    } else {
        t->state = lives == 1 ? HF__PARTICIPANT_RUNNING : HF__PARTICIPANT_ENDED;
    }
}

void hf__local_copy_text(char *to, size_t size, const char *from,
                         size_t from_size)
{
    char text[HF_NOTE_MAX + 2] = "";
    size_t length;

    memcpy(text, from,
           from_size < sizeof text - 1 ? from_size : sizeof text - 1);
    length = hf__utf8_cut(text, size - 1);
    if (!hf__utf8_is_valid(text, length)) {
        length = 0;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

void hf__local_read_owner(const struct hf__owner *from, struct hf__owner *to)
{
    hf__local_copy_text(to->label, sizeof to->label, from->label,
                        sizeof from->label);
    hf__local_copy_text(to->host, sizeof to->host, from->host,
                        sizeof from->host);
    hf__local_copy_text(to->thread, sizeof to->thread, from->thread,
                        sizeof from->thread);
    hf__local_copy_text(to->note, sizeof to->note, from->note,
                        sizeof from->note);
    to->pid = from->pid;
}

/* ---- what check() says */

#define TMPFS_TYPE   0x01021994
#define SPACE_MIN_MB 16

void hf__local_tell_file(struct hf__report *to, const char *name,
                         const char *path, const struct stat *st,
                         const char *remedy)
{
    char value[512];

    (void)snprintf(value, sizeof value, "%.400s (%04o, user %ld, group %ld)",
                   path, (unsigned)st->st_mode & 07777, (long)st->st_uid,
                   (long)st->st_gid);
    hf__report_say(to, name, value, remedy);
}

void hf__local_tell_system(struct hf__report *to, const struct statfs *fs,
                           const struct hf__remedies *remedies)
{
    const char *network = hf__netfs_name((uint64_t)fs->f_type);
    uint64_t free_mb = (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize >> 20;
    char value[64];

    (void)snprintf(value, sizeof value, "%s 0x%lx",
                   network != NULL ? network : "local",
                   (unsigned long)(uint32_t)fs->f_type);
    hf__report_say(to, "file_system", value,
                   network != NULL                      ? remedies->network
                   : (uint32_t)fs->f_type == TMPFS_TYPE ? remedies->memory
                                                        : NULL);
    (void)snprintf(value, sizeof value, "%llu MB", (unsigned long long)free_mb);
    hf__report_say(to, "free_space", value,
                   free_mb < SPACE_MIN_MB ? remedies->space : NULL);
}
