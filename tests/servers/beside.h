/* SPDX-License-Identifier: MIT */
/*
 * What the commands with_mariadb, with_postgres, with_redis and with_zookeeper
 * have in common: they start servers, tell of them in the environment, and run
 * a program beside them, whose parent they are and as which they exit.
 */
#ifndef HF_TESTS_SERVERS_BESIDE_H
#define HF_TESTS_SERVERS_BESIDE_H

#include <stdbool.h>

struct hf__beside {
    const char *command;    /* with_redis */
    void *servers;          /* as the following know them: */
    void (*kill)(void *);   /* all that run; SIGUSR1 */
    void (*launch)(void *); /* all that do not, and awaits them; SIGUSR2 */
};

/* The program in WITH_… [OPTION N] -- PROGRAM [ARGUMENT]…, and N, if it is
 * said; exits with 2 where that is not what it is called with. */
char **hf__beside_program(int argc, char **argv, const char *option,
                          int *ret_n);
/* Says in TAP that all is skipped, or in CI that it failed; the exit code. */
int hf__beside_missing(const char *program);

/* HOLDFAST_TEST_STORE_NAME in the environment. */
void hf__beside_tell(const char *store, const char *name, const char *value);
/* One value more in the list of that name, if it is not the first, a space
 * between. */
void hf__beside_add(const char *store, const char *name, const char *value,
                    bool is_first);
void hf__beside_add_number(const char *store, const char *name, int value,
                           bool is_first);

/* Runs the program to its end; how it ended, as the shell tells it. Signals
 * but those two are passed on. */
int hf__beside_run(const struct hf__beside *, char **argv);

#endif
