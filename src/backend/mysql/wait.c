/* SPDX-License-Identifier: MIT */
/*
 * The operations of src/backend/table/wait.h in SQL: wake locks and turns are
 * user locks. The first statement's reply may take long; those of the others
 * follow at once. They read the rows, so that no change is missed between an
 * answer and the next question. Called by the session's thread.
 */
#include "src/backend/table/wait.h"

#include "src/backend/mysql/commit.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/sql.h"

#include <string.h>

#define LOOK_MS 500

_Static_assert(HF__MYSQL_KEY_MAX <= HF__TABLE_KEY_MAX, "room for a tag");

/* ---- questions */

static bool is_fractional(const struct hf__mysql *s)
{
    return strstr(s->server.version, "MariaDB") != NULL;
}

/* Write the seconds of GET_LOCK(). A server that takes only whole seconds gets
 * at least one; for shorter waits the client uses its own timer. */
static void add_seconds(struct hf__mysql *s, int64_t ms)
{
    if (is_fractional(s)) {
        hf__text_addf(&s->sql, "%lld.%03lld", (long long)(ms / 1000),
                      (long long)(ms % 1000));
    } else {
        hf__text_addf(&s->sql, "%lld", (long long)(ms < 1500 ? 1 : ms / 1000));
    }
}

static void add_name(struct hf__text *t, const struct hf__wait_state *p,
                     enum hf__question q)
{
    if (q == HF__ASK_TURN) {
        hf__mysql_wake_lock_of_turn(t, &p->queue.key);
    } else if (q == HF__ASK_OWN_WAKE_LOCK) {
        hf__mysql_wake_lock_of_ticket(t, &p->queue.ticket);
    } else if (p->view.is_ticket) {
        hf__mysql_wake_lock_of_ticket(t, &p->view.wake_lock);
    } else {
        hf__mysql_wake_lock_of_grant(t, &p->view.wake_lock);
    }
}

/* Write the question, up to the statement that reads the rows. */
static void add_question(struct hf__mysql *s, const struct hf__wait_state *p,
                         enum hf__question q, int64_t ms)
{
    struct hf__text *t = &s->sql;

    hf__text_add(t, "SELECT ");
    if (q == HF__ASK_TURN) {
        hf__text_add(t, "IS_USED_LOCK(");
        add_name(t, p, q);
        hf__text_add(t, ")");
    } else {
        hf__text_add(t, "NULL");
    }
    hf__text_add(t, ",GET_LOCK(");
    add_name(t, p, q);
    hf__text_add(t, ",");
    add_seconds(s, ms);
    hf__text_add(t, ")");
    if (q == HF__ASK_WAKE_LOCK) {
        hf__text_add(t, ",RELEASE_LOCK(");
        add_name(t, p, q);
        hf__text_add(t, ")");
    }
    hf__text_add(t, p->is_short ? ";" : ";SET SESSION wait_timeout=1;");
}

/* Add the statements that read the rows. Returns the number of replies that
 * come before theirs. */
static int add_look(struct hf__mysql *s, struct hf__watch *const w[], int n)
{
    int n_before = hf__pair_guard(s);

    hf__mysql_name_ask_watched(s, w, n, HF__TO_WAIT);
    hf__text_add(&s->sql, ";");
    return n_before;
}

static int ask(void *state, struct hf__wait_state *p, enum hf__question q,
               int64_t ms)
{
    struct hf__mysql *s = state;
    struct hf__watch *w[1] = {&p->queue};
    int r;

    hf__text_clear(&s->sql);
    if (q != HF__ASK_LOOK) {
        add_question(s, p, q, ms);
    }
    (void)add_look(s, w, 1);
    r = hf__wire_begin(s);
    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->t.err) : r;
}

/* ---- answers */

static int await(void *state, hf__time until, bool *ret_has_reply)
{
    return hf__wire_await(state, until, ret_has_reply);
}

static int hear(void *state, enum hf__question q, struct hf__answer *ret_answer)
{
    struct hf__mysql *s = state;
    int r = HF_OK;

    if (s->reply.error == 0 && q != HF__ASK_LOOK) {
        MYSQL_ROW row = hf__wire_row(s);
        bool is_told = row != NULL && row[1] != NULL;

        ret_answer->is_had = is_told ? *row[1] == '1' : q == HF__ASK_WAKE_LOCK;
        ret_answer->was_free = row != NULL && row[0] == NULL;
    }
    while (r == HF_OK && !s->reply.is_last) {
        r = hf__wire_next(s);
    }
    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->t.err) : r;
}

static int read_rows(void *state, struct hf__table_name *name)
{
    return hf__mysql_name_take(state, name);
}

static int dead(void *state)
{
    struct hf__mysql *s = state;

    s->wire.is_dead = true;
    return hf__mysql_dead(s);
}

/* ---- leaving */

/* Refresh the ticket's last-seen time, so that it lives on for a while after
 * its waiter leaves. */
static void write_stamp(struct hf__text *sql, const struct hf__watch *queue)
{
    hf__text_add(sql, ";UPDATE holdfast_ticket FORCE INDEX(PRIMARY) "
                      "SET asked=" HF__SQL_NOW " WHERE name_key=");
    hf__text_key(sql, &queue->key);
    hf__text_add(sql, " AND token=");
    hf__text_token(sql, &queue->ticket);
}

static void write_release(struct hf__text *sql, const struct hf__wait_state *p)
{
    hf__text_add(sql, "DO RELEASE_LOCK(");
    add_name(sql, p, p->has_turn ? HF__ASK_TURN : HF__ASK_OWN_WAKE_LOCK);
    hf__text_add(sql, ")");
}

static int send_release(struct hf__mysql *s, const struct hf__wait_state *p)
{
    int r;

    hf__text_clear(&s->sql);
    write_release(&s->sql, p);
    r = hf__wire_run(s);
    /* A live session would keep the lock. */
    return r == HF_OK && s->reply.error != 0 ? dead(s) : r;
}

/* Until the ticket's last-seen time is refreshed, only the wake lock shows that
 * the waiter is in the queue. So the wake lock is released last, since the
 * refresh may wait for a row that others have locked. If the server refuses the
 * refresh, the packet stops before the release; then that is sent by itself. */
static int leave(void *state, struct hf__wait_state *p)
{
    struct hf__mysql *s = state;
    bool has_lock = p->has_turn || p->has_own_wake_lock;
    int r;

    hf__mysql_packet_begin(s);
    hf__text_add(&s->sql, "SET SESSION wait_timeout=28800");
    if (p->has_own_wake_lock) {
        write_stamp(&s->sql, &p->queue);
    }
    if (has_lock) {
        hf__text_add(&s->sql, ";");
        write_release(&s->sql, p);
    }
    r = hf__wire_run(s);
    if (r == HF_OK && s->reply.error != 0) {
        s->lock_wait_s = -1; /* the statement that sets it may not have run */
        r = has_lock ? send_release(s, p) : HF_OK;
    }
    return r;
}

/* ---- waiting without wake locks */

/* Refresh the last-seen times of those watches' tickets. */
static void add_showing(struct hf__mysql *s, struct hf__watch *const w[], int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        count += !hf__token_is_zero(&w[i]->ticket);
    }
    if (count == 0) {
        return;
    }
    hf__text_add(&s->sql, "UPDATE holdfast_ticket FORCE INDEX(PRIMARY) "
                          "SET asked=" HF__SQL_NOW " WHERE name_key IN(''");
    for (int i = 0; i < n; i++) {
        if (!hf__token_is_zero(&w[i]->ticket)) {
            hf__text_add(&s->sql, ",");
            hf__text_key(&s->sql, &w[i]->key);
        }
    }
    hf__text_add(&s->sql, ") AND token IN(''");
    for (int i = 0; i < n; i++) {
        if (!hf__token_is_zero(&w[i]->ticket)) {
            hf__text_add(&s->sql, ",");
            hf__text_token(&s->sql, &w[i]->ticket);
        }
    }
    hf__text_add(&s->sql, ")");
}

static int look(void *state, struct hf__watch *const w[], int n, bool shows)
{
    struct hf__mysql *s = state;
    int n_before;
    int r;

    hf__text_clear(&s->sql);
    n_before = add_look(s, w, n);
    if (shows) {
        add_showing(s, w, n);
    }
    r = hf__wire_send(s);
    for (; r == HF_OK && s->reply.error == 0 && n_before > 0; n_before--) {
        r = hf__wire_next(s);
    }
    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->t.err) : r;
}

static int skip(void *state)
{
    return hf__wire_skip(state);
}

/* ---- the call */

const struct hf__wait_ops hf__mysql_wait_ops = {
    .ask = ask,
    .await = await,
    .hear = hear,
    .leave = leave,
    .look = look,
    .skip = skip,
    .read = read_rows,
    .dead = dead,
};

int hf__mysql_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__mysql *s = state;

    hf__table_begin(&s->t, deadline, err);
    s->t.wait_state.look_ms = LOOK_MS;
    s->t.wait_state.is_coarse = !is_fractional(s);
    return hf__wait_state_wait(&s->t, w, n);
}
