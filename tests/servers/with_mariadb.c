/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private MariaDB, and exits
 * as that does.
 *
 *     with_mariadb [--OPTION-OF-MARIADBD]... [--] PROGRAM [ARGUMENT]...
 *
 * The program finds in its environment HOLDFAST_TEST_MYSQL_URL (an empty
 * database, the ordinary user), and HOLDFAST_TEST_MYSQL_ followed by PORT,
 * PID, SOCKET, ADMIN and ADMIN_PASSWORD (by the socket only). SIGUSR1 to this
 * process, the program's parent, kills the server, SIGUSR2 starts it again
 * with its data; other signals are passed on. Without MariaDB it says in TAP
 * that all is skipped, or in CI that it failed.
 */
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 2, CANT_RUN = 127, BY_SIGNAL = 128 };

static const int handled[] = {SIGCHLD, SIGTERM, SIGINT,
                              SIGHUP,  SIGUSR1, SIGUSR2};

static int say_missing(void)
{
    const char *ci = getenv("CI");

    if (ci && ci[0]) {
        puts("Bail out! mariadbd is not installed (tools/setup.sh test)");
        return EXIT_FAILURE;
    }
    puts("1..0 # SKIP mariadbd is not installed (tools/setup.sh test)");
    return EXIT_SUCCESS;
}

static void export_text(const char *name, const char *value)
{
    char full[64];

    snprintf(full, sizeof full, "HOLDFAST_TEST_MYSQL_%s", name);
    setenv(full, value, 1);
}

static void export_number(const char *name, int value)
{
    char text[32];

    snprintf(text, sizeof text, "%d", value);
    export_text(name, text);
}

static void export_server(const struct hf__mariadb *m)
{
    char url[HF__MARIADB_URL];

    hf__mariadb_fresh_url(m, url, sizeof url);
    export_text("URL", url);
    export_number("PORT", hf__mariadb_port(m));
    export_number("PID", hf__mariadb_pid(m));
    export_text("SOCKET", hf__mariadb_socket(m));
    export_text("ADMIN", HF__MARIADB_ADMIN);
    export_text("ADMIN_PASSWORD", HF__MARIADB_ADMIN_PASSWORD);
}

static pid_t start(char **argv, const sigset_t *before)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        sigprocmask(SIG_SETMASK, before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            execvp(argv[0], argv);
            fprintf(stderr, "with_mariadb: %s: %s\n", argv[0], strerror(errno));
        }
        _exit(CANT_RUN);
    }
    if (pid < 0) {
        hf__servers_fail("fork: %s", strerror(errno));
    }
    return pid;
}

/* Obeys signals until the program has ended; how, as the shell tells it. */
static int attend(struct hf__mariadb *m, pid_t pid, const sigset_t *signals)
{
    int status;
    int number;

    while (waitpid(pid, &status, WNOHANG) != pid) {
        sigwait(signals, &number);
        if (number == SIGUSR1) {
            hf__mariadb_kill(m);
        } else if (number == SIGUSR2) {
            hf__mariadb_restart(m, NULL);
        } else if (number != SIGCHLD) {
            kill(pid, number);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : BY_SIGNAL + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    const char *extra[HF__MARIADB_EXTRA + 1] = {0};
    const struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m;
    sigset_t signals;
    sigset_t before;
    int n = 0;
    int code;

    (void)argc;
    for (argv++; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
        if (!(*argv)[2]) {
            argv++;
            break;
        }
        if (n < HF__MARIADB_EXTRA) {
            extra[n++] = *argv;
        }
    }
    if (!*argv) {
        fputs("usage: with_mariadb [--OPTION]... PROGRAM [ARGUMENT]...\n",
              stderr);
        return USAGE;
    }
    if (!hf__mariadb_is_installed()) {
        return say_missing();
    }
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        sigaddset(&signals, handled[i]);
    }
    m = hf__mariadb_start(&opts);
    export_server(m);
    sigprocmask(SIG_BLOCK, &signals, &before);
    code = attend(m, start(argv, &before), &signals);
    hf__mariadb_free(m);
    return code;
}
