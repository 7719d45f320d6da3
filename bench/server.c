/* SPDX-License-Identifier: MIT */
/*
 * What is asked of every kind of server. Thread: main.
 */
#include "bench/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *server_new(size_t size)
{
    void *server = calloc(1, size);

    if (!server) {
        bench_fail("out of memory");
    }
    return server;
}

void server_leave_out(const char *part, const char *program)
{
    printf("-- %s: left out, %s is not installed (tools/setup.sh test)\n", part,
           program);
}

bool server_has(const struct server *server, const char *scheme)
{
    return server && !strcmp(server->scheme, scheme);
}

/* Ticks, with those of children that have ended or without; 0: it is gone. */
static unsigned long ticks(pid_t pid, bool with_children)
{
    char path[64];
    char text[1024] = "";
    unsigned long sum = 0;
    char *after;
    FILE *in;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    in = fopen(path, "re");
    if (in) {
        (void)fread(text, 1, sizeof text - 1, in);
        (void)fclose(in);
    }
    after = strrchr(text, ')');
    /* utime, stime, cutime and cstime are the 12th to 15th field after it. */
    for (int i = 0; i < 12 && after; i++) {
        after = strchr(after + 1, ' ');
    }
    for (int i = 0; i < (with_children ? 4 : 2) && after; i++) {
        sum += strtoul(after, &after, 10);
    }
    return sum;
}

double server_process_seconds(pid_t pid)
{
    return (double)ticks(pid, false) / (double)sysconf(_SC_CLK_TCK);
}

double server_family_seconds(pid_t pid)
{
    unsigned long sum = ticks(pid, true);
    char path[64];
    char text[16384] = "";
    char *at = text;
    FILE *in;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid,
                   (int)pid);
    in = fopen(path, "re");
    if (in) {
        (void)fread(text, 1, sizeof text - 1, in);
        (void)fclose(in);
    }
    for (long child = strtol(at, &at, 10); child > 0;
         child = strtol(at, &at, 10)) {
        sum += ticks((pid_t)child, false);
    }
    return (double)sum / (double)sysconf(_SC_CLK_TCK);
}
