/* SPDX-License-Identifier: MIT */
/*
 * Programs for tests that are no C: they do to servers what they read, line by
 * line, "WORD NODE [NUMBER]", until there is no more to read, and say of each
 * when it is done.
 */
#ifndef HF_TESTS_SERVERS_BY_HAND_H
#define HF_TESTS_SERVERS_BY_HAND_H

#include <stdbool.h>

/* False: there is no such thing to do. `number` is 0 where none is said; a line
 * that is not done, or of another node than 0 to n_nodes-1, fails. */
void hf__by_hand(int n_nodes,
                 bool (*obey)(const char *word, int node, int number));

#endif
