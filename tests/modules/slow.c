/* SPDX-License-Identifier: MIT */
/*
 * Makes the loading of its module last, says on stderr how often it begins,
 * and in the environment that it is over. Thread: the one that loads it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void linger(void)
{
    (void)fprintf(stderr, "loading\n");
    (void)poll(NULL, 0, 500);
    (void)setenv("SLOW_IS_WHOLE", "yes", 1);
}
