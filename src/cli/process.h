/* SPDX-License-Identifier: MIT */
/*
 * One process as /proc shows it, and signals to it that never hit a stranger
 * who got its number. Thread: any.
 */
#ifndef HF_CLI_PROCESS_H
#define HF_CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_process {
    pid_t pid;
    int folder; /* its /proc/PID: of it and of no later one. -1: a child of
                 * ours, whose number stays its own until we wait for it */
};

struct cli_facts {
    pid_t parent;
    char state;       /* 'Z': a zombie, or its first thread is one */
    long threads;     /* the zombie first thread counts, too */
    uint64_t started; /* ticks since boot: tells a number's owners apart */
    char name[32];
};

/* False: it is gone. */
bool cli_process_open(pid_t, struct cli_process *ret_process);
void cli_process_close(struct cli_process *);
bool cli_process_look(const struct cli_process *, struct cli_facts *ret_facts);
/* False: it is gone; a zombie is not. For an open one. */
bool cli_process_is_there(const struct cli_process *);
/* False: it may not be signalled. Gone is as good as signalled. */
bool cli_process_signal(const struct cli_process *, int number);
bool cli_process_lives(const struct cli_facts *);
/* The start of a process in ticks since boot; 0: unknown. */
uint64_t cli_process_started(pid_t);

#endif
