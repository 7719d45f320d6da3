/* SPDX-License-Identifier: MIT */
/*
 * Who waits for a word where the file has been cut off is refused by the
 * kernel. Memcheck would look at the word itself, and die of it.
 */
#include "src/base/wake.h"
#include "src/base/words.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SIZE 16384
#define FAR  12288

TEST(nobody_waits_where_nothing_is)
{
    struct hf__words w = {0};
    char path[600];
    int fd;

    (void)snprintf(path, sizeof path, "%s/words", hf__test_folder());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT(fd >= 0);
    EXPECT_IS(ftruncate(fd, SIZE), 0);
    EXPECT_IS(hf__words_map(&w, fd, SIZE), HF_OK);
    EXPECT_IS(ftruncate(fd, 0), 0);
    hf__futex_wait_shared(hf__words_name(&w, FAR), 0,
                          hf__after_ms(hf__now(), 60000));
    hf__words_fini(&w);
    EXPECT_IS(close(fd), 0);
}
