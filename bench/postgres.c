/* SPDX-License-Identifier: MIT */
/*
 * The PostgreSQL store on a private server, whose log is flushed at each
 * commit, or never: threads against a raw connection each, a call for many
 * names against calls for one, being refused against being granted. How sides
 * are compared is in sides.c, what waiters cost in contest.c and waiting.c.
 * Thread: main.
 */
#include "bench/postgres.h"

#include "bench/contest.h"
#include "bench/rawpostgres.h"
#include "bench/report.h"
#include "bench/serverpostgres.h"
#include "bench/sides.h"
#include "bench/waiting.h"

#include <stdio.h>

enum { NAMES = 64, CONNECTIONS = 8 };

static void *open_raw(const void *url)
{
    return rawpostgres_open(url);
}

static void close_raw(void *raw)
{
    rawpostgres_close(raw);
}

static bool pair_raw(void *raw, const char *key)
{
    return rawpostgres_pair(raw, key);
}

/* ---- many names in one call */

static bool turn_many(struct bench_worker *w)
{
    struct side_lane *lane = w->arg;
    char names[NAMES][16];
    const char *name[NAMES];
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int i;

    for (i = 0; i < NAMES; i++) {
        (void)snprintf(names[i], sizeof names[i], "many:%d", i);
        name[i] = names[i];
    }
    if (hf_acquire_many(lane->client, name, NAMES, NULL, &lock, &err)) {
        bench_fail("acquire many: %s", err.text);
    }
    bench_release(lock);
    return true;
}

static void many(const struct sides *s)
{
    static struct side one;
    static struct side many;
    hf_client *client = bench_open_as(s->b, s->b->server->scheme, "");

    side_set_library(&one, client, 1, false);
    side_set_library(&many, client, 1, false);
    many.turn = turn_many;
    many.pairs_a_turn = NAMES;
    (void)snprintf(many.what, sizeof many.what, "library, %d names", NAMES);
    sides_compare(s, &one, &many, 9, 10);
    hf_close(client);
}

/* ---- refusals */

static bool turn_refused(struct bench_worker *w)
{
    struct side_lane *lane = w->arg;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = 0;
    if (hf_acquire(lane->client, "busy", &opts, &lock, &err) != HF_BUSY) {
        bench_fail("acquire: not refused: %s", err.text);
    }
    return true;
}

/* Of a name that somebody else has; each thread has a client of its own. */
static void refusals(const struct sides *s)
{
    static struct side granted;
    static struct side refused;
    hf_client *holder = bench_open_as(s->b, s->b->server->scheme, "");
    hf_lock *lock = bench_acquire(holder, "busy");
    int i;

    side_set_library(&granted, NULL, CONNECTIONS, false);
    for (i = 0; i < CONNECTIONS; i++) {
        granted.lane[i].client = bench_open_as(s->b, s->b->server->scheme, "");
    }
    refused = granted;
    refused.turn = turn_refused;
    (void)snprintf(refused.what, sizeof refused.what, "refusals");
    sides_compare(s, &granted, &refused, 9, 5);
    for (i = 0; i < CONNECTIONS; i++) {
        hf_close(granted.lane[i].client);
    }
    bench_release(lock);
    hf_close(holder);
}

/* ---- the part */

static void own_names(const struct bench *b,
                      const struct serverpostgres *postgres, bool is_flushed)
{
    static const struct sides_bout bouts[] = {
        {1, 0, false, 15, 0.9},
        {8, 0, false, 7, 1},
        {32, 0, false, 9, 1.5},
        {128, 32, false, 5, 0},
    };
    const struct sides s = {
        b,
        is_flushed ? "postgres fsync=on" : "postgres fsync=off",
        {"raw", b->server->url, open_raw, close_raw, pair_raw, NULL},
        NULL};

    serverpostgres_flush(postgres, is_flushed);
    serverpostgres_print(postgres);
    sides_own_names(&s, bouts, sizeof bouts / sizeof bouts[0]);
    many(&s);
    if (is_flushed) {
        refusals(&s);
    }
}

/* In one process and in several. */
static void one_name(const struct bench *b)
{
    static const int n[] = {2, 8, 64, 256};

    contest_steady(b, "postgres", n, sizeof n / sizeof n[0]);
    contest_crowds(b, "postgres", 1.5);
    waiting_wake(b, "postgres", 2);
}

void bench_postgres(const struct bench *b)
{
    struct serverpostgres *postgres = serverpostgres_start();
    struct bench with = *b;

    if (!postgres) {
        server_leave_out("postgres", "postgres");
        return;
    }
    with.server = serverpostgres_server(postgres);
    own_names(&with, postgres, true);
    own_names(&with, postgres, false);
    one_name(&with);
    serverpostgres_stop(postgres);
}
