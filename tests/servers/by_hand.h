/* SPDX-License-Identifier: MIT */
/*
 * Programs for tests that are no C: they do to servers what they read, line by
 * line, "WORD NODE [NUMBER]", until there is no more to read, and say of each
 * when it is done.
 */
#ifndef HF_TESTS_SERVERS_BY_HAND_H
#define HF_TESTS_SERVERS_BY_HAND_H

#include <stdbool.h>
#include <stddef.h>

/* False: there is no such thing to do. `number` is 0 where none is said; a line
 * that is not done, or of another node than 0 to n_nodes-1, fails. */
void hf__by_hand(int n_nodes,
                 bool (*obey)(const char *word, int node, int number));

/* The same of two servers that replicate each other, with these words, NULL at
 * their end. First it writes "URL0 URL1". */
struct hf__by_hand_word {
    const char *word;
    void (*run)(int node);
};
void hf__by_hand_pair(const struct hf__by_hand_word *words,
                      void (*url)(int node, char *url, size_t size));

#endif
