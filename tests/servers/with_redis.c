/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private Redis, or several,
 * and exits as that does.
 *
 *     with_redis [--group N] [--tls] [--NAME=VALUE]... [--] PROGRAM [ARG]...
 *
 * NAME and VALUE are a line of redis.conf; --requirepass is a password of the
 * ordinary user. What is written stays in an append-only file, unless
 * --appendonly=no. The program finds in its environment
 * HOLDFAST_TEST_REDIS_URL (redis:, or of a group redlock:), and
 * HOLDFAST_TEST_REDIS_ followed by PORT, PID, SOCKET, TLS_PORT and FOLDER, of a
 * group those of each member with a space between, and by ADMIN and
 * ADMIN_PASSWORD. SIGUSR1 to this process, the program's parent, kills what
 * runs, SIGUSR2 starts what does not, with its data; other signals are passed
 * on. Without Redis it says in TAP that all is skipped, or in CI that it
 * failed.
 */
#include "tests/servers/beside.h"
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"
#include "tests/servers/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, LINE = 256 };

#define PASSWORD "--requirepass="

struct wish {
    struct hf__redis_opts opts;
    int n; /* of the group; 0: no group, but one */
    int n_lines;
    char text[HF__REDIS_EXTRA][LINE];
    const char *lines[HF__REDIS_EXTRA + 1];
};

/* ---- what is wished */

/* False: it is none of ours, or one too many. */
static bool add_line(struct wish *w, const char *arg)
{
    const char *equals = strchr(arg, '=');
    char *line;

    if (!equals || w->n_lines == HF__REDIS_EXTRA) {
        return false;
    }
    line = w->text[w->n_lines];
    snprintf(line, LINE, "%.*s %s", (int)(equals - arg - 2), arg + 2,
             equals + 1);
    w->lines[w->n_lines++] = line;
    return true;
}

/* The program and its arguments; NULL: wrong usage. */
static char **read_wish(struct wish *w, char **argv)
{
    for (; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
        if (!(*argv)[2]) {
            return argv[1] ? argv + 1 : NULL;
        }
        if (strcmp(*argv, "--group") == 0 && argv[1]) {
            w->n = (int)strtol(*++argv, NULL, 10);
            if (w->n < 1 || w->n > HF__REDIS_MEMBERS) {
                return NULL;
            }
        } else if (strcmp(*argv, "--tls") == 0) {
            w->opts.has_tls = true;
        } else if (strncmp(*argv, PASSWORD, strlen(PASSWORD)) == 0) {
            w->opts.password = *argv + strlen(PASSWORD);
        } else if (!add_line(w, *argv)) {
            return NULL;
        }
    }
    return *argv ? argv : NULL;
}

/* ---- what is told */

static void tell(const struct hf__redis_group *g, bool is_group)
{
    char url[HF__REDIS_URL];

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        const struct hf__redis *s = hf__redis_member(g, i);

        hf__beside_add_number("REDIS", "PORT", hf__redis_port(s), i == 0);
        hf__beside_add_number("REDIS", "TLS_PORT", hf__redis_tls_port(s),
                              i == 0);
        hf__beside_add_number("REDIS", "PID", hf__redis_pid(s), i == 0);
        hf__beside_add("REDIS", "SOCKET", hf__redis_socket(s), i == 0);
        hf__beside_add("REDIS", "FOLDER", hf__redis_folder(s), i == 0);
    }
    if (is_group) {
        hf__redis_group_url(g, 0, url, sizeof url);
    } else {
        hf__redis_url(hf__redis_member(g, 0), 0, url, sizeof url);
    }
    hf__beside_tell("REDIS", "URL", url);
    hf__beside_tell("REDIS", "ADMIN", HF__REDIS_ADMIN);
    hf__beside_tell("REDIS", "ADMIN_PASSWORD", HF__REDIS_ADMIN_PASSWORD);
}

/* ---- the servers */

static void kill_all(void *group)
{
    struct hf__redis_group *g = group;

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        hf__redis_kill(hf__redis_member(g, i));
    }
}

static void start_what_ended(void *group)
{
    struct hf__redis_group *g = group;
    bool is_started[HF__REDIS_MEMBERS] = {false};

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        if (hf__redis_has_ended(hf__redis_member(g, i))) {
            hf__redis_launch(hf__redis_member(g, i), NULL);
            is_started[i] = true;
        }
    }
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        if (is_started[i]) {
            hf__redis_await(hf__redis_member(g, i));
        }
    }
}

int main(int argc, char **argv)
{
    static struct wish w = {.opts = {.has_aof = true}};
    struct hf__beside beside = {
        .command = "with_redis", .kill = kill_all, .launch = start_what_ended};
    struct hf__redis_group *g;
    char path[HF__SERVERS_PATH];
    int code;

    (void)argc;
    argv = read_wish(&w, argv + 1);
    if (!argv) {
        fputs("usage: with_redis [--group N] [--tls] [--NAME=VALUE]... "
              "PROGRAM [ARGUMENT]...\n",
              stderr);
        return USAGE;
    }
    if (!hf__redis_is_installed()) {
        return hf__beside_missing("redis-server");
    }
    if (w.opts.has_tls && !hf__servers_find("openssl", path, sizeof path)) {
        return hf__beside_missing("openssl");
    }
    w.opts.extra = w.lines;
    g = hf__redis_group_start(w.n ? w.n : 1, &w.opts);
    tell(g, w.n > 0);
    beside.servers = g;
    code = hf__beside_run(&beside, argv);
    hf__redis_group_free(g);
    return code;
}
