/* SPDX-License-Identifier: MIT */
/*
 * Makes the loading of its module last, and says when it has begun and how
 * often: a line on stderr. Thread: the one that loads it.
 */
#include <poll.h>
#include <stdio.h>

__attribute__((constructor)) static void linger(void)
{
    (void)fprintf(stderr, "loading\n");
    (void)poll(NULL, 0, 500);
}
