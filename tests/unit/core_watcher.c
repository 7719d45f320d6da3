/* SPDX-License-Identifier: MIT */
/*
 * Watchers over a store whose sessions wait for one name each, and over one
 * where they keep a place for each of many: who gets which session, and when a
 * place is let go of. The store only notes what it is
 * asked; the test says when something fires.
 */
#include "src/base/alloc.h"
#include "src/core/watcher.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

enum { SESSIONS = 16 };

/* What one session was asked last, and whether it keeps a place. */
struct seen {
    atomic_int n; /* names of the wait that runs; −1: none runs */
    atomic_int let_go;
    atomic_int waits;
    atomic_int fires; /* the wait that runs fires this time */
    atomic_int dies;  /* … or kills the session */
    char name[32];    /* of a wait for one */
};

static struct seen seen[SESSIONS];
static atomic_int opened;

struct session {
    struct hf__head head;
    struct seen *seen;
};

static int fake_open(void *state, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct session *s = state;

    (void)url;
    (void)allow;
    (void)deadline;
    (void)err;
    s->head.server_info =
        (struct hf__server_info){.grade = 'B', .reach = HF_REACH_HOST};
    s->seen = &seen[atomic_fetch_add(&opened, 1)];
    atomic_store(&s->seen->n, -1);
    return HF_OK;
}

static void fake_close(void *state)
{
    (void)state;
}

static int fake_wait(void *state, struct hf__watch *w[], int n,
                     hf__time deadline, hf_error *err)
{
    struct session *s = state;

    (void)err;
    if (n == 0) {
        atomic_fetch_add(&s->seen->let_go, 1);
        return HF_OK;
    }
    snprintf(s->seen->name, sizeof s->seen->name, "%.*s", w[0]->key.length,
             w[0]->key.bytes);
    atomic_fetch_add(&s->seen->waits, 1);
    atomic_store(&s->seen->n, n);
    while (!hf__is_interrupted(&s->head) && !w[0]->has_fired &&
           hf__before(hf__now(), deadline)) {
        w[0]->has_fired = atomic_exchange(&s->seen->fires, 0) != 0;
        if (atomic_exchange(&s->seen->dies, 0) != 0) {
            atomic_store(&s->seen->n, -1);
            return HF_EUNAVAIL;
        }
        hf__test_pause_ms(1);
    }
    atomic_store(&s->seen->n, -1);
    return HF_OK;
}

static void fake_interrupt(void *state)
{
    (void)state;
}

static const char *const no_options[] = {NULL};
static struct hf__backend fake = {
    .scheme = "fake",
    .caps = HF_CAP_WAIT | HF__CAP_WAIT_ONE,
    .size = sizeof(struct session),
    .options = no_options,
    .open = fake_open,
    .close = fake_close,
    .wait = fake_wait,
    .interrupt = fake_interrupt,
};

/* ---- guests */

struct guest {
    struct hf__watching watching;
    struct hf__parker parker;
};

static struct guest a;
static struct guest b;
static struct guest c;
static struct hf__url *url;
static struct hf__settings settings;
static struct hf__watchers watchers;

static void begin(int connections)
{
    EXPECT_IS(hf__url_parse("fake:", &url, NULL), HF_OK);
    settings = (struct hf__settings){.backend = &fake,
                                     .caps = fake.caps,
                                     .url = url,
                                     .allow = "",
                                     .io_timeout_ms = 1000,
                                     .wait_connections = connections};
    hf__watchers_init(&watchers, &settings);
}

static void begin_for_many(void)
{
    fake.caps = HF_CAP_WAIT | HF__CAP_WAIT_LEAVES;
    begin(4);
}

static void end(void)
{
    hf__watchers_close(&watchers);
    hf__watchers_fini(&watchers);
    hf__url_free(url);
}

static void join(struct guest *g, const char *name)
{
    g->watching.parker = &g->parker;
    g->watching.watch.key = (struct hf__key){name, (uint16_t)strlen(name), 0};
    EXPECT(hf__watchers_join(&watchers, &g->watching));
}

static void leave(struct guest *g)
{
    hf__watchers_leave(&watchers, &g->watching);
}

static void until(atomic_int *value, int wanted)
{
    UNTIL(atomic_load(value) == wanted);
}

/* Three guests of two sessions: the last session is shared. */
static void begin_shared(void)
{
    begin(2);
    join(&a, "a");
    until(&seen[0].n, 1);
    join(&b, "b");
    until(&seen[1].n, 1);
    join(&c, "c");
    until(&seen[1].n, 2);
}

TEST(each_name_has_a_session_while_there_are_some)
{
    begin_shared();
    EXPECT_IS(atomic_load(&opened), 2);
    EXPECT_IS(atomic_load(&seen[1].let_go), 1);
    EXPECT_IS(atomic_load(&seen[0].waits), 1);
    leave(&a);
    leave(&b);
    leave(&c);
    end();
}

TEST(who_shares_one_moves_to_one_that_is_free)
{
    begin_shared();
    leave(&a);
    until(&seen[0].n, -1);
    hf__watcher_pause(&c.watching);
    join(&c, "c");
    until(&seen[0].n, 1);
    EXPECT_TEXT(seen[0].name, "c");
    until(&seen[1].n, 1);
    leave(&b);
    leave(&c);
    end();
}

TEST(a_place_is_kept_while_its_guest_tries)
{
    begin(4);
    join(&a, "a");
    until(&seen[0].n, 1);
    atomic_store(&seen[0].fires, 1);
    until(&a.watching.has_fired, 1);
    hf__test_pause_ms(50);
    hf__watcher_pause(&a.watching);
    EXPECT_IS(atomic_load(&seen[0].let_go), 0);
    join(&a, "a"); /* it was in vain */
    until(&seen[0].n, 1);
    hf__watcher_pause(&a.watching); /* and once more, by itself */
    hf__test_pause_ms(50);
    EXPECT_IS(atomic_load(&seen[0].let_go), 0);
    EXPECT_IS(atomic_load(&seen[0].n), -1);
    leave(&a);
    until(&seen[0].let_go, 1);
    hf__test_pause_ms(20);
    EXPECT_IS(atomic_load(&seen[0].let_go), 1); /* once is enough */
    EXPECT_IS(atomic_load(&opened), 1);
    end();
}

TEST(who_wants_another_name_does_not_get_the_place)
{
    begin(1);
    join(&a, "a");
    until(&seen[0].n, 1);
    hf__watcher_pause(&a.watching);
    join(&b, "b");
    until(&seen[0].waits, 2);
    EXPECT_IS(atomic_load(&seen[0].let_go), 1);
    EXPECT_TEXT(seen[0].name, "b");
    leave(&a);
    leave(&b);
    end();
}

/* The store drops who keeps a place and is silent for long: no failure. */
TEST(a_session_that_was_dropped_with_its_place_is_replaced_quietly)
{
    begin(1);
    join(&a, "a");
    until(&seen[0].n, 1);
    hf__watcher_pause(&a.watching);
    until(&seen[0].n, -1);
    join(&a, "a");
    until(&seen[0].n, 1);
    atomic_store(&seen[0].dies, 1);
    until(&opened, 2);
    until(&seen[1].n, 1);
    EXPECT_IS(atomic_load(&a.watching.has_fired), 0);
    /* A second time is one. */
    atomic_store(&seen[1].dies, 1);
    until(&a.watching.has_fired, 1);
    leave(&a);
    end();
}

/* As if the system gave no thread for the second one. */
TEST(who_gets_no_session_of_its_own_shares_another)
{
    struct hf__watcher *w = hf__alloc(sizeof *w);

    begin(2);
    join(&a, "a");
    until(&seen[0].n, 1);
    hf__watcher_init(w, &settings);
    w->is_closing = true; /* it starts none */
    watchers.list[watchers.n++] = w;
    join(&b, "b");
    until(&seen[0].n, 2);
    EXPECT_IS(watchers.n, 1);
    leave(&b);
    join(&b, "b"); /* there are threads again */
    until(&seen[1].n, 1);
    leave(&a);
    leave(&b);
    end();
}

static void until_no_call_runs(struct hf__conn *conn)
{
    for (bool is_running = true; is_running;) {
        HF_SCOPED_LOCK(&conn->mutex);
        is_running = conn->is_running;
    }
}

/*
 * Its guest leaves when the store's call is over and the watcher has not yet
 * said so: who has just had the mutex gets it again before one who must be
 * woken for it.
 */
TEST(a_place_is_let_go_of_although_its_wait_had_just_ended)
{
    begin(1);
    for (int i = 0; i < 100; i++) {
        a = (struct guest){0};
        join(&a, "a");
        until(&seen[0].n, 1);
        struct hf__watcher *w = watchers.list[0];
        hf__mutex_lock(&w->mutex);
        atomic_store(&seen[0].fires, 1);
        until(&seen[0].n, -1);
        until_no_call_runs(&w->conn);
        hf__mutex_unlock(&w->mutex);
        leave(&a);
        until(&seen[0].let_go, i + 1);
    }
    end();
}

TEST(closing_fires_what_is_left)
{
    begin(1);
    join(&a, "a");
    until(&seen[0].n, 1);
    hf__watchers_close(&watchers);
    EXPECT_IS(atomic_load(&a.watching.has_fired), 1);
    leave(&a);
    EXPECT(!hf__watchers_join(&watchers, &a.watching));
    hf__watchers_fini(&watchers);
    hf__url_free(url);
}

/* ---- many places */

TEST(many_share_a_session_and_the_last_lets_go)
{
    begin_for_many();
    join(&a, "a");
    until(&seen[0].n, 1);
    join(&b, "b");
    until(&seen[0].n, 2);
    leave(&a);
    until(&seen[0].n, 1);
    EXPECT_IS(atomic_load(&seen[0].let_go), 0);
    leave(&b);
    until(&seen[0].let_go, 1);
    hf__test_pause_ms(20);
    EXPECT_IS(atomic_load(&seen[0].let_go), 1);
    EXPECT_IS(atomic_load(&opened), 1);
    end();
}

TEST(nothing_is_let_go_of_while_one_of_many_tries)
{
    begin_for_many();
    join(&a, "a");
    join(&b, "b");
    until(&seen[0].n, 2);
    hf__watcher_pause(&a.watching);
    until(&seen[0].n, 1);
    leave(&b);
    until(&seen[0].n, -1);
    hf__test_pause_ms(50);
    EXPECT_IS(atomic_load(&seen[0].let_go), 0);
    leave(&a);
    until(&seen[0].let_go, 1);
    end();
}
