/* SPDX-License-Identifier: MIT */
/*
 * Reading what is to be done to servers, and saying that it is done.
 */
#include "tests/servers/by_hand.h"
#include "tests/servers/servers.h"

#include <stdio.h>
#include <string.h>

void hf__by_hand(int n_nodes,
                 bool (*obey)(const char *word, int node, int number))
{
    char line[80];

    while (fgets(line, sizeof line, stdin)) {
        char word[20] = "";
        int node = 0;
        int number = 0;

        if (sscanf(line, "%19s %d %d", word, &node, &number) < 2 || node < 0 ||
            node >= n_nodes || !obey(word, node, number)) {
            hf__servers_fail("not to be done: %s", line);
        }
        printf("done %s", line);
        fflush(stdout);
    }
}

static const struct hf__by_hand_word *known;

static bool obey_word(const char *what, int node, int number)
{
    for (const struct hf__by_hand_word *w = known; w->word != NULL; w++) {
        if (number == 0 && strcmp(what, w->word) == 0) {
            w->run(node);
            return true;
        }
    }
    return false;
}

void hf__by_hand_pair(const struct hf__by_hand_word *words,
                      void (*url)(int node, char *url, size_t size))
{
    char urls[2][512];

    for (int i = 0; i < 2; i++) {
        url(i, urls[i], sizeof urls[i]);
    }
    printf("%s %s\n", urls[0], urls[1]);
    fflush(stdout);
    known = words;
    hf__by_hand(2, obey_word);
}
