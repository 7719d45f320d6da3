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
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 2, CANT_RUN = 127, BY_SIGNAL = 128, LINE = 256 };

#define PASSWORD "--requirepass="

static const int handled[] = {SIGCHLD, SIGTERM, SIGINT,
                              SIGHUP,  SIGUSR1, SIGUSR2};

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

static int say_missing(const char *program)
{
    const char *ci = getenv("CI");

    if (ci && ci[0]) {
        printf("Bail out! %s is not installed (tools/setup.sh test)\n",
               program);
        return EXIT_FAILURE;
    }
    printf("1..0 # SKIP %s is not installed (tools/setup.sh test)\n", program);
    return EXIT_SUCCESS;
}

static void export_text(const char *name, const char *value)
{
    char full[64];

    snprintf(full, sizeof full, "HOLDFAST_TEST_REDIS_%s", name);
    setenv(full, value, 1);
}

/* One text more in the list of that name. */
static void export_member(const char *name, const char *value, bool is_first)
{
    char full[64];
    char list[HF__REDIS_MEMBERS * (HF__SERVERS_PATH + 8)];
    const char *before;

    snprintf(full, sizeof full, "HOLDFAST_TEST_REDIS_%s", name);
    before = is_first ? NULL : getenv(full);
    snprintf(list, sizeof list, "%s%s%s", before ? before : "",
             before ? " " : "", value);
    setenv(full, list, 1);
}

static void export_number(const char *name, int value, bool is_first)
{
    char text[32];

    snprintf(text, sizeof text, "%d", value);
    export_member(name, text, is_first);
}

static void export_servers(const struct hf__redis_group *g, bool is_group)
{
    char url[HF__REDIS_URL];

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        const struct hf__redis *s = hf__redis_member(g, i);

        export_number("PORT", hf__redis_port(s), i == 0);
        export_number("TLS_PORT", hf__redis_tls_port(s), i == 0);
        export_number("PID", hf__redis_pid(s), i == 0);
        export_member("SOCKET", hf__redis_socket(s), i == 0);
        export_member("FOLDER", hf__redis_folder(s), i == 0);
    }
    if (is_group) {
        hf__redis_group_url(g, 0, url, sizeof url);
    } else {
        hf__redis_url(hf__redis_member(g, 0), 0, url, sizeof url);
    }
    export_text("URL", url);
    export_text("ADMIN", HF__REDIS_ADMIN);
    export_text("ADMIN_PASSWORD", HF__REDIS_ADMIN_PASSWORD);
}

/* ---- the program */

static pid_t start(char **argv, const sigset_t *before)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        sigprocmask(SIG_SETMASK, before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            execvp(argv[0], argv);
            fprintf(stderr, "with_redis: %s: %s\n", argv[0], strerror(errno));
        }
        _exit(CANT_RUN);
    }
    if (pid < 0) {
        hf__servers_fail("fork: %s", strerror(errno));
    }
    return pid;
}

static void kill_all(struct hf__redis_group *g)
{
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        hf__redis_kill(hf__redis_member(g, i));
    }
}

static void start_what_ended(struct hf__redis_group *g)
{
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

/* Obeys signals until the program has ended; how, as the shell tells it. */
static int attend(struct hf__redis_group *g, pid_t pid, const sigset_t *signals)
{
    int status;
    int number;

    while (waitpid(pid, &status, WNOHANG) != pid) {
        sigwait(signals, &number);
        if (number == SIGUSR1) {
            kill_all(g);
        } else if (number == SIGUSR2) {
            start_what_ended(g);
        } else if (number != SIGCHLD) {
            kill(pid, number);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : BY_SIGNAL + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    static struct wish w = {.opts = {.has_aof = true}};
    struct hf__redis_group *g;
    char path[HF__SERVERS_PATH];
    sigset_t signals;
    sigset_t before;
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
        return say_missing("redis-server");
    }
    if (w.opts.has_tls && !hf__servers_find("openssl", path, sizeof path)) {
        return say_missing("openssl");
    }
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        sigaddset(&signals, handled[i]);
    }
    w.opts.extra = w.lines;
    g = hf__redis_group_start(w.n ? w.n : 1, &w.opts);
    export_servers(g, w.n > 0);
    sigprocmask(SIG_BLOCK, &signals, &before);
    code = attend(g, start(argv, &before), &signals);
    hf__redis_group_free(g);
    return code;
}
