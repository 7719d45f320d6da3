/* SPDX-License-Identifier: MIT */
/*
 * Reading what is to be done to servers, and saying that it is done.
 */
#include "tests/servers/by_hand.h"
#include "tests/servers/servers.h"

#include <stdio.h>

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
