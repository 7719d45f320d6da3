/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private ZooKeeper, or an
 * ensemble, and exits as that does.
 *
 *     with_zookeeper [--NAME=VALUE]... [--ensemble N] -- PROGRAM [ARGUMENT]...
 *
 * NAME=VALUE is a line of zoo.cfg. The program finds in its environment
 * HOLDFAST_TEST_ZOOKEEPER_URL, without a chroot, and HOLDFAST_TEST_ZOOKEEPER_
 * followed by PORT, PID and FOLDER, of an ensemble those of each member with a
 * space between, by ADMIN and ADMIN_PASSWORD, and by ASK, the command
 * zookeeper_ask. SIGUSR1 to this process, the program's parent, kills what
 * runs, SIGUSR2 starts what does not, with its data; other signals are passed
 * on. Without ZooKeeper it says in TAP that all is skipped, or in CI that it
 * failed.
 */
#include "tests/servers/beside.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct servers {
    struct hf__zookeeper_ensemble *ensemble; /* NULL: one alone */
    struct hf__zookeeper *members[HF__ZOOKEEPER_MEMBERS];
    int n;
};

/* ---- the servers */

static void start(struct servers *s, const char *const *lines, int n)
{
    const struct hf__zookeeper_opts opts = {.extra = lines};

    if (!n) {
        s->members[s->n++] = hf__zookeeper_start(&opts);
        return;
    }
    s->ensemble = hf__zookeeper_ensemble_start(n, &opts);
    for (; s->n < n; s->n++) {
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
        hf__beside_add("ZOOKEEPER", "FOLDER", z->folder, !i);
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
    const char *lines[HF__ZOOKEEPER_EXTRA + 1] = {0};
    struct servers s = {0};
    const struct hf__beside beside = {.command = "with_zookeeper",
                                      .servers = &s,
                                      .kill = kill_all,
                                      .launch = start_what_ended};
    int n = 0;
    int code;

    for (int i = 0; argc > 1 && strchr(argv[1], '=') && i < HF__ZOOKEEPER_EXTRA;
         i++, argc--) {
        lines[i] = *++argv + strlen("--");
    }
    argv = hf__beside_program(argc, argv, "--ensemble", &n);
    if (!hf__zookeeper_is_installed()) {
        return hf__beside_missing("zookeeper");
    }
    start(&s, lines, n);
    tell(&s);
    code = hf__beside_run(&beside, argv);
    end(&s);
    return code;
}
