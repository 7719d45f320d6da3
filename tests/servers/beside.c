/* SPDX-License-Identifier: MIT */
/*
 * The words of beside.h. Which servers there are, each command knows. Called
 * by its only thread.
 */
#include "tests/servers/beside.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANT_RUN = 127, BY_SIGNAL = 128, NAME = 64, LIST = 8192 };

static const int handled[] = {SIGCHLD, SIGTERM, SIGINT,
                              SIGHUP,  SIGUSR1, SIGUSR2};

char **hf__beside_program(int argc, char **argv, const char *option, int *ret_n)
{
    int at = 1;

    if (option && argc > 2 && strcmp(argv[1], option) == 0) {
        *ret_n = (int)strtol(argv[2], NULL, 10);
        at = 3;
    }
    if (argc < at + 2 || strcmp(argv[at], "--") != 0) {
        fprintf(stderr, "usage: %s [%s N] -- PROGRAM [ARGUMENT]...\n", argv[0],
                option ? option : "");
        exit(2);
    }
    return argv + at + 1;
}

int hf__beside_missing(const char *program)
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

/* ---- what is told */

void hf__beside_add(const char *store, const char *name, const char *value,
                    bool is_first)
{
    char full[NAME];
    char list[LIST];
    const char *before;

    snprintf(full, sizeof full, "HOLDFAST_TEST_%s_%s", store, name);
    before = is_first ? NULL : getenv(full);
    snprintf(list, sizeof list, "%s%s%s", before ? before : "",
             before ? " " : "", value);
    setenv(full, list, 1);
}

void hf__beside_tell(const char *store, const char *name, const char *value)
{
    hf__beside_add(store, name, value, true);
}

void hf__beside_add_number(const char *store, const char *name, int value,
                           bool is_first)
{
    char text[32];

    snprintf(text, sizeof text, "%d", value);
    hf__beside_add(store, name, text, is_first);
}

/* ---- the program */

static pid_t start(const struct hf__beside *b, char **argv,
                   const sigset_t *before)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        sigprocmask(SIG_SETMASK, before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            execvp(argv[0], argv);
            fprintf(stderr, "%s: %s: %s\n", b->command, argv[0],
                    strerror(errno));
        }
        _exit(CANT_RUN);
    }
    if (pid < 0) {
        hf__servers_fail("fork: %s", strerror(errno));
    }
    return pid;
}

/* Obeys signals until the program has ended. */
static int attend(const struct hf__beside *b, pid_t pid,
                  const sigset_t *signals)
{
    int status;
    int number;

    while (waitpid(pid, &status, WNOHANG) != pid) {
        sigwait(signals, &number);
        if (number == SIGUSR1) {
            b->kill(b->servers);
        } else if (number == SIGUSR2) {
            b->launch(b->servers);
        } else if (number != SIGCHLD) {
            kill(pid, number);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : BY_SIGNAL + WTERMSIG(status);
}

int hf__beside_run(const struct hf__beside *b, char **argv)
{
    sigset_t signals;
    sigset_t before;

    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        sigaddset(&signals, handled[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, &before);
    return attend(b, start(b, argv, &before), &signals);
}
