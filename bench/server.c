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

double server_process_seconds(pid_t pid)
{
    char path[64];
    char text[1024] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    char *after;
    FILE *in;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    in = fopen(path, "re");
    if (in) {
        (void)fread(text, 1, sizeof text - 1, in);
        (void)fclose(in);
    }
    after = strrchr(text, ')');
    if (after) {
        /* utime and stime are the 12th and 13th field after it. */
        for (int i = 0; i < 12 && after; i++) {
            after = strchr(after + 1, ' ');
        }
        user = after ? strtoul(after, &after, 10) : 0;
        system = after ? strtoul(after, NULL, 10) : 0;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
