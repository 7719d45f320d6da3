/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private ZooKeeper, or an
 * ensemble, and exits as that does.
 *
 *     with_zookeeper [--ensemble N] [--on-disk] [--for-speed]
 *                    [--NAME=VALUE]... [-DNAME=VALUE]... [--] PROGRAM [ARG]...
 *
 * NAME=VALUE is a line of zoo.cfg, with -D a property of the JVM. The program
 * finds in its environment HOLDFAST_TEST_ZOOKEEPER_URL, without a chroot, and
 * HOLDFAST_TEST_ZOOKEEPER_ followed by PORT, PID and FOLDER, of an ensemble
 * those of each member with a space between, by ADMIN and ADMIN_PASSWORD, and
 * by ASK, the command zookeeper_ask. SIGUSR1 to this process, the program's
 * parent, kills what runs, SIGUSR2 starts what does not, with its data; other
 * signals are passed on. Without ZooKeeper it says in TAP that all is skipped,
 * or in CI that it failed.
 */
#include "tests/servers/beside.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USAGE = 2 };

struct wish {
    struct hf__zookeeper_opts opts;
    int n; /* of the ensemble; 0: none, but one alone */
    int n_lines;
    int n_java;
    const char *lines[HF__ZOOKEEPER_EXTRA + 1];
    const char *java[HF__ZOOKEEPER_EXTRA + 1];
};

struct servers {
    struct hf__zookeeper_ensemble *ensemble; /* NULL: one alone */
    struct hf__zookeeper *members[HF__ZOOKEEPER_MEMBERS];
    int n;
};

/* ---- what is wished */

/* False: it is none of ours, or one too many. */
static bool add_line(struct wish *w, const char *arg)
{
    if (strncmp(arg, "-D", 2) == 0 && w->n_java < HF__ZOOKEEPER_EXTRA) {
        w->java[w->n_java++] = arg;
        return true;
    }
    if (strncmp(arg, "--", 2) == 0 && strchr(arg, '=') &&
        w->n_lines < HF__ZOOKEEPER_EXTRA) {
        w->lines[w->n_lines++] = arg + 2;
        return true;
    }
    return false;
}

/* The program and its arguments; NULL: wrong usage. */
static char **read_wish(struct wish *w, char **argv)
{
    for (; *argv && (*argv)[0] == '-'; argv++) {
        if (strcmp(*argv, "--") == 0) {
            return argv[1] ? argv + 1 : NULL;
        }
        if (strcmp(*argv, "--ensemble") == 0 && argv[1]) {
            w->n = (int)strtol(*++argv, NULL, 10);
            if (w->n < 2 || w->n > HF__ZOOKEEPER_MEMBERS) {
                return NULL;
            }
        } else if (strcmp(*argv, "--on-disk") == 0) {
            w->opts.on_disk = true;
        } else if (strcmp(*argv, "--for-speed") == 0) {
            w->opts.is_for_speed = true;
        } else if (!add_line(w, *argv)) {
            return NULL;
        }
    }
    return *argv ? argv : NULL;
}

/* ---- the servers */

static void start(struct servers *s, const struct wish *w)
{
    if (!w->n) {
        s->members[s->n++] = hf__zookeeper_start(&w->opts);
        return;
    }
    s->ensemble = hf__zookeeper_ensemble_start(w->n, &w->opts);
    for (; s->n < w->n; s->n++) {
        s->members[s->n] = hf__zookeeper_member(s->ensemble, s->n);
    }
}

static void end(struct servers *s)
{
    if (s->ensemble) {
        hf__zookeeper_ensemble_free(s->ensemble);
    } else {
        hf__zookeeper_free(s->members[0]);
    }
}

static void kill_all(void *servers)
{
    struct servers *s = servers;

    for (int i = 0; i < s->n; i++) {
        hf__zookeeper_kill(s->members[i]);
    }
}

static void start_what_ended(void *servers)
{
    struct servers *s = servers;

    for (int i = 0; i < s->n; i++) {
        if (hf__zookeeper_has_ended(s->members[i])) {
            hf__zookeeper_launch(s->members[i], NULL);
        }
    }
    for (int i = 0; i < s->n; i++) {
        hf__zookeeper_await(s->members[i]);
    }
}

/* ---- what is told */

/* It lies beside this program. */
static void tell_ask(void)
{
    char path[HF__SERVERS_PATH];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash + 1, (size_t)(path + sizeof path - slash - 1), "%s",
             "zookeeper_ask");
    hf__beside_tell("ZOOKEEPER", "ASK", path);
}

static void tell(const struct servers *s)
{
    char url[HF__ZOOKEEPER_URL];

    for (int i = 0; i < s->n; i++) {
        const struct hf__zookeeper *z = s->members[i];

        hf__beside_add_number("ZOOKEEPER", "PORT", hf__zookeeper_port(z), !i);
        hf__beside_add_number("ZOOKEEPER", "PID", hf__zookeeper_pid(z), !i);
        hf__beside_add("ZOOKEEPER", "FOLDER", hf__zookeeper_folder(z), !i);
    }
    if (s->ensemble) {
        hf__zookeeper_ensemble_url(s->ensemble, "", url, sizeof url);
    } else {
        hf__zookeeper_url(s->members[0], "", url, sizeof url);
    }
    hf__beside_tell("ZOOKEEPER", "URL", url);
    hf__beside_tell("ZOOKEEPER", "ADMIN", HF__ZOOKEEPER_ADMIN);
    hf__beside_tell("ZOOKEEPER", "ADMIN_PASSWORD",
                    HF__ZOOKEEPER_ADMIN_PASSWORD);
    tell_ask();
}

int main(int argc, char **argv)
{
    static struct wish w;
    struct servers s = {0};
    const struct hf__beside beside = {.command = "with_zookeeper",
                                      .servers = &s,
                                      .kill = kill_all,
                                      .launch = start_what_ended};
    int code;

    (void)argc;
    w.opts.extra = w.lines;
    w.opts.java = w.java;
    argv = read_wish(&w, argv + 1);
    if (!argv) {
        fputs("usage: with_zookeeper [--ensemble N] [--on-disk] [--for-speed] "
              "[--NAME=VALUE]... [-DNAME=VALUE]... PROGRAM [ARGUMENT]...\n",
              stderr);
        return USAGE;
    }
    if (!hf__zookeeper_is_installed()) {
        return hf__beside_missing("zookeeper");
    }
    start(&s, &w);
    tell(&s);
    code = hf__beside_run(&beside, argv);
    end(&s);
    return code;
}
