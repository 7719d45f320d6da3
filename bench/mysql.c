/* SPDX-License-Identifier: MIT */
/*
 * The MySQL store on a private MariaDB, with the log flushed at each commit
 * and once a second; by hand in the better of two ways, and in the usual one.
 * How sides are compared is in sides.c, what waiters cost in contest.c and
 * waiting.c. Thread: main.
 */
#include "bench/mysql.h"

#include "bench/contest.h"
#include "bench/rawmysql.h"
#include "bench/report.h"
#include "bench/servermysql.h"
#include "bench/sides.h"
#include "bench/waiting.h"

#include <stdio.h>

static bool turn_raw(struct bench_worker *w)
{
    struct side_lane *lane = w->arg;

    return rawmysql_pair(lane->raw, lane->key);
}

struct arena {
    struct sides sides;
    const struct servermysql *mysql;
    char label[24];
    enum rawmysql_way way; /* the faster one */
    hf_client *client;
};

static void set_raw(const struct arena *a, struct side *side, int n,
                    enum rawmysql_way way)
{
    static const char *const names[] = {
        [RAWMYSQL_PREPARED] = "raw, prepared",
        [RAWMYSQL_TEXT] = "raw, text",
        [RAWMYSQL_CLASSIC] = "INSERT/DELETE",
    };
    int i;

    side_set_raw(side, names[way], n, turn_raw);
    for (i = 0; i < n; i++) {
        side->lane[i].raw = rawmysql_open(a->mysql, way);
    }
}

static void end_raw(struct side *side)
{
    int i;

    for (i = 0; i < side->n; i++) {
        rawmysql_close(side->lane[i].raw);
    }
}

/* Which yardstick is the longer one? */
static void choose(struct arena *a)
{
    static struct side prepared;
    static struct side text;
    struct side *side[] = {&prepared, &text};
    int rounds = sides_rounds(&a->sides, 15);

    set_raw(a, &prepared, 1, RAWMYSQL_PREPARED);
    set_raw(a, &text, 1, RAWMYSQL_TEXT);
    sides_take_turns(&a->sides, side, 2, rounds);
    end_raw(&prepared);
    end_raw(&text);
    sides_report_rate(&a->sides, &prepared, rounds);
    sides_report_rate(&a->sides, &text, rounds);
    a->way =
        bench_median(prepared.rate, rounds) >= bench_median(text.rate, rounds)
            ? RAWMYSQL_PREPARED
            : RAWMYSQL_TEXT;
}

struct bout {
    int n;
    int n_raw;
    bool is_in_flight;
    int rounds;
    double target;
};

static void compare(const struct arena *a, const struct bout *bout)
{
    static struct side raw;
    static struct side library;

    set_raw(a, &raw, bout->n_raw, a->way);
    side_set_library(&library, a->client, bout->n, bout->is_in_flight);
    sides_compare(&a->sides, &raw, &library, bout->rounds, bout->target);
    end_raw(&raw);
}

/* On names of their own, and all on one, where the deadlocks are. */
static void classic(const struct arena *a, int n, bool is_one)
{
    static struct side side;
    const struct server *server = servermysql_server(a->mysql);
    struct side *sides[] = {&side};
    struct report_figure f;
    uint64_t deadlocks;
    int i;

    set_raw(a, &side, n, RAWMYSQL_CLASSIC);
    for (i = 0; i < n && is_one; i++) {
        (void)snprintf(side.lane[i].key, sizeof side.lane[i].key, "one name");
    }
    (void)snprintf(side.what, sizeof side.what, "INSERT/DELETE, %s",
                   is_one ? "one name" : "own names");
    deadlocks = server->count(server).deadlocks;
    sides_take_turns(&a->sides, sides, 1, 4);
    deadlocks = server->count(server).deadlocks - deadlocks;
    end_raw(&side);
    sides_report_rate(&a->sides, &side, 4);
    f = sides_figure(&a->sides, &side,
                     is_one ? "its deadlocks, one name"
                            : "its deadlocks, own names",
                     (double)deadlocks);
    f.unit[0] = '\0';
    report_add(&f);
}

static void own_names(struct arena *a, int flush)
{
    static const struct bout bouts[] = {
        {1, 1, false, 11, 0.9},           {8, 8, false, 5, 0},
        {32, 32, false, 7, 2.5},          {128, 32, false, 5, 0},
        {SIDES_IN_FLIGHT, 8, true, 7, 6},
    };
    size_t i;

    (void)snprintf(a->label, sizeof a->label, "mysql flush=%d", flush);
    servermysql_flush(a->mysql, flush);
    servermysql_print(a->mysql);
    a->client = bench_open_as(a->sides.b, "mysql", "");
    choose(a);
    for (i = 0; i < sizeof bouts / sizeof bouts[0]; i++) {
        compare(a, &bouts[i]);
    }
    hf_close(a->client);
    classic(a, 8, false);
    classic(a, 8, true);
}

/* In one process and in several; in one, more waiters are no more work. */
static void one_name(const struct bench *b)
{
    static const int n[] = {2, 8, 64, 256};
    double statements[sizeof n / sizeof n[0]];
    struct report_figure f = {.unit = "x", .goal = REPORT_BELOW, .target = 1.3};
    size_t i;

    for (i = 0; i < sizeof n / sizeof n[0]; i++) {
        statements[i] =
            contest_threads(b, &(struct contest_field){"mysql", n[i], false});
    }
    (void)snprintf(f.name, sizeof f.name,
                   "mysql, statements a hand-over, 256 thr / 2");
    f.value = statements[3] / statements[0];
    report_add(&f);
    contest_crowds(b, "mysql");
    waiting_wake(b, "mysql", 2);
}

void bench_mysql(const struct bench *b)
{
    struct servermysql *mysql = servermysql_start();
    struct bench with = *b;
    struct arena a = {.sides = {&with, a.label}, .mysql = mysql};

    if (!mysql) {
        printf("-- mysql: left out, mariadbd is not installed "
               "(tools/setup.sh test)\n");
        return;
    }
    with.server = servermysql_server(mysql);
    own_names(&a, 1);
    own_names(&a, 2);
    one_name(&with);
    servermysql_stop(mysql);
}
