/* SPDX-License-Identifier: MIT */
/*
 * Counts statements by SQLite's own trace. The library is linked to the same
 * SQLite, so an automatic extension of this process meets its connections.
 */
#include "bench/traffic.h"

#include "bench/measure.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

static atomic_ullong transactions;
static atomic_ullong looks;
static atomic_ullong statements;

static int count(unsigned event, void *arg, void *statement, void *text)
{
    const char *sql = text;

    (void)event;
    (void)arg;
    (void)statement;
    if (!strcmp(sql, "BEGIN IMMEDIATE")) {
        atomic_fetch_add_explicit(&transactions, 1, memory_order_relaxed);
    } else if (!strcmp(sql, "BEGIN")) {
        atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
    } else if (strcmp(sql, "COMMIT") && strcmp(sql, "ROLLBACK")) {
        atomic_fetch_add_explicit(&statements, 1, memory_order_relaxed);
    }
    return 0;
}

static int watch(sqlite3 *db, char **ret_error, const void *api)
{
    (void)ret_error;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count, NULL);
}

/* The type that SQLite asks for says nothing of the arguments it gives. */
static void (*extension(void))(void)
{
    return (void (*)(void))watch;
}

void traffic_start(void)
{
    if (sqlite3_auto_extension(extension()) != SQLITE_OK) {
        bench_fail("SQLite takes no automatic extension");
    }
    (void)traffic_since();
}

void traffic_stop(void)
{
    (void)sqlite3_cancel_auto_extension(extension());
}

struct traffic traffic_since(void)
{
    return (struct traffic){
        .transactions = atomic_exchange(&transactions, 0),
        .looks = atomic_exchange(&looks, 0),
        .statements = atomic_exchange(&statements, 0),
    };
}
