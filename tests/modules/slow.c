/* SPDX-License-Identifier: MIT */
/*
 * Makes the loading of its module last, says on stderr how often it begins
 * (and to the descriptor that SLOW_TELLS names), and in the environment that it
 * is over. Thread: the one that loads it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void linger(void)
{
    const char *teller = getenv("SLOW_TELLS");

    (void)fprintf(stderr, "loading\n");
    if (teller != NULL) {
        (void)!write((int)strtol(teller, NULL, 10), "", 1);
    }
    (void)poll(NULL, 0, 500);
    (void)setenv("SLOW_IS_WHOLE", "yes", 1);
}
