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
#include "bench/usermysql.h"
#include "bench/waiting.h"

#include <stdio.h>

struct arena {
    struct sides sides;
    const struct servermysql *mysql;
    char label[24];
    enum rawmysql_way way;
};

static void *open_raw(const void *of)
{
    const struct arena *a = of;

    return rawmysql_open(a->mysql, a->way);
}

static void close_raw(void *raw)
{
    rawmysql_close(raw);
}

static bool pair_raw(void *raw, const char *key)
{
    return rawmysql_pair(raw, key);
}

static void choose(struct arena *a, enum rawmysql_way way)
{
    static const char *const names[] = {
        [RAWMYSQL_PREPARED] = "raw, prepared",
        [RAWMYSQL_TEXT] = "raw, text",
        [RAWMYSQL_CLASSIC] = "INSERT/DELETE",
    };

    a->way = way;
    a->sides.raw =
        (struct sides_raw){names[way], a, open_raw, close_raw, pair_raw, NULL};
}

static void set_raw(struct arena *a, struct side *side, int n,
                    enum rawmysql_way way)
{
    choose(a, way);
    side_set_raw(side, &a->sides.raw, n, false);
}

/* Which yardstick is the longer one? */
static void choose_longer(struct arena *a)
{
    static struct side prepared;
    static struct side text;
    struct side *side[] = {&prepared, &text};
    int rounds = sides_rounds(&a->sides, 15);

    set_raw(a, &prepared, 1, RAWMYSQL_PREPARED);
    set_raw(a, &text, 1, RAWMYSQL_TEXT);
    sides_take_turns(&a->sides, side, 2, rounds);
    side_end_raw(&prepared);
    side_end_raw(&text);
    sides_report_rate(&a->sides, &prepared, rounds);
    sides_report_rate(&a->sides, &text, rounds);
    choose(a, bench_median(prepared.rate, rounds) >=
                      bench_median(text.rate, rounds)
                  ? RAWMYSQL_PREPARED
                  : RAWMYSQL_TEXT);
}

/* On names of their own, and all on one, where the deadlocks are. */
static void classic(struct arena *a, int n, bool is_one)
{
    static struct side side;
    const struct server *server = a->sides.b->server;
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
    side_end_raw(&side);
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
    static const struct sides_bout bouts[] = {
        {1, 1, false, 11, 0.9},           {8, 8, false, 5, 0},
        {32, 32, false, 7, 2.5},          {128, 32, false, 5, 0},
        {SIDES_IN_FLIGHT, 8, true, 7, 6},
    };

    (void)snprintf(a->label, sizeof a->label, "mysql flush=%d", flush);
    servermysql_flush(a->mysql, flush);
    servermysql_print(a->mysql);
    choose_longer(a);
    sides_own_names(&a->sides, bouts, sizeof bouts / sizeof bouts[0]);
    classic(a, 8, false);
    classic(a, 8, true);
}

/* In one process and in several. */
static void one_name(const struct bench *b)
{
    static const int n[] = {2, 8, 64, 256};

    contest_steady(b, "mysql", n, sizeof n / sizeof n[0]);
    contest_crowds(b, "mysql", 0);
    waiting_wake(b, "mysql", 2);
}

void bench_mysql(const struct bench *b)
{
    struct servermysql *mysql = servermysql_start();
    struct bench with = *b;
    struct arena a = {.sides = {.b = &with, .label = a.label}, .mysql = mysql};

    if (!mysql) {
        server_leave_out("mysql", "mariadbd");
        return;
    }
    with.server = servermysql_server(mysql);
    own_names(&a, 1);
    own_names(&a, 2);
    one_name(&with);
    servermysql_stop(mysql);
}

void bench_mysql_session(const struct bench *b)
{
    struct servermysql *mysql = servermysql_start();
    struct bench with = *b;

    if (!mysql) {
        server_leave_out("session", "mariadbd");
        return;
    }
    with.server = servermysql_server(mysql);
    usermysql_run(&with, mysql);
    servermysql_stop(mysql);
}
