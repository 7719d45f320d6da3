/* SPDX-License-Identifier: MIT */
/*
 * A private server of the benchmarks, as those measurements see it that are
 * the same for every kind. What starts one is in server<KIND>.h.
 * Thread: main.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include "bench/measure.h"

/* Since the server started. */
struct server_counts {
    uint64_t asked; /* by clients: statements, scripts */
    uint64_t deadlocks;
};

struct server {
    const char *scheme; /* of its URL */
    const char *url;
    const char *asked; /* what it is that clients ask: "statements" */
    bool has_deadlocks;
    struct server_counts (*count)(const struct server *);
    /* Of processor time that it has used. */
    double (*seconds)(const struct server *);
};

/* Zeroed memory. */
void *server_new(size_t size);
/* Says that this part is. */
void server_leave_out(const char *part, const char *program);
/* Is a store of that scheme on it? None (NULL) has any. */
bool server_has(const struct server *server, const char *scheme);
/* Of processor time that a process has used. */
double server_process_seconds(pid_t pid);
/* … and its children, also those that have ended. */
double server_family_seconds(pid_t pid);

#endif
