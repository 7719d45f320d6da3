/* SPDX-License-Identifier: MIT */
/*
 * Words in a file: counted and rung by the kernel, and still no more than
 * zeros when the file is cut off under who uses them.
 */
#include "src/base/ofd.h"
#include "src/base/words.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 16384
#define FAR  12288

static struct hf__words words; /* in the file */
static int fd;

static int open_file(int flags)
{
    char path[600];

    (void)snprintf(path, sizeof path, "%s/words", hf__test_folder());
    return open(path, O_RDWR | O_CLOEXEC | flags, 0600);
}

static void begin(void)
{
    fd = open_file(O_CREAT | O_TRUNC);
    EXPECT(fd >= 0);
    EXPECT_IS(ftruncate(fd, SIZE), 0);
    EXPECT_IS(hf__words_map(&words, fd, SIZE), HF_OK);
}

static void end(void)
{
    hf__words_fini(&words);
    EXPECT_IS(close(fd), 0);
}

TEST(words_are_the_same_by_whatever_way)
{
    uint64_t two[2] = {7, 0};

    begin();
    EXPECT(hf__words_write(&words, FAR, two, sizeof two));
    hf__words_add(&words, FAR + 8, 5, FAR + 16);
    hf__words_add(&words, FAR + 8, -2, FAR + 16);
    EXPECT_IS(hf__words_ring(&words, FAR + 8, INT_MAX), 0);
    hf__words_read(&words, FAR, two, sizeof two);
    EXPECT_IS(two[0], 7);
    EXPECT_IS(two[1], 4);
    EXPECT_IS(hf__words_get(&words, FAR + 8), 4);
    EXPECT_IS(atomic_load(hf__words_name(&words, FAR + 8)), 4);
    hf__words_set(&words, FAR + 8, 9);
    EXPECT_IS(atomic_load(hf__words_name(&words, FAR + 8)), 9);
    end();
}

TEST(words_of_a_file_that_was_cut_off_are_zero)
{
    uint64_t value = 3;
    struct stat st;

    begin();
    EXPECT(hf__words_write(&words, FAR, &value, sizeof value));
    EXPECT_IS(ftruncate(fd, 0), 0);
    hf__words_read(&words, FAR, &value, sizeof value);
    EXPECT_IS(value, 0);
    EXPECT_IS(hf__words_get(&words, FAR), 0);
    hf__words_add(&words, FAR, 1, FAR + 8);
    EXPECT_IS(hf__words_ring(&words, FAR, INT_MAX), 0);
    EXPECT_IS(hf__words_get(&words, FAR), 0);
    hf__words_lock(&words);
    hf__words_unlock(&words);
    EXPECT_IS(fstat(fd, &st), 0);
    EXPECT_IS(st.st_size, 0);
    hf__words_set(&words, FAR, 6); /* which makes the file grow again */
    EXPECT_IS(hf__words_get(&words, FAR), 6);
    end();
}

static void count_up(void *arg)
{
    struct hf__words *w = arg;

    for (int i = 0; i < 1000; i++) {
        uint64_t value;

        hf__words_lock(w);
        hf__words_read(w, 0, &value, sizeof value);
        value++;
        EXPECT(hf__words_write(w, 0, &value, sizeof value));
        hf__words_unlock(w);
        hf__words_add(w, 8, 1, 16);
    }
}

static void expect_all_counted(struct hf__words *w)
{
    struct hf__test_thread *thread = hf__test_start(count_up, w);
    uint64_t value;

    count_up(w);
    hf__test_join(thread);
    hf__words_read(w, 0, &value, sizeof value);
    EXPECT_IS(value, 2000);
    EXPECT_IS(hf__words_get(w, 8), 2000);
}

TEST(a_limit_on_file_sizes_keeps_no_word_from_being_written)
{
    struct hf__words late = {0};
    uint64_t value = 3;
    struct rlimit limit;

    begin();
    EXPECT(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    EXPECT_IS(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = FAR;
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT(hf__words_write(&words, FAR, &value, sizeof value));
    EXPECT_IS(hf__words_get(&words, FAR), 3);
    /* Behind a cut there is nothing that could be written. */
    EXPECT_IS(ftruncate(fd, 0), 0);
    EXPECT(!hf__words_write(&words, FAR, &value, sizeof value));
    EXPECT_IS(hf__words_map(&late, fd, SIZE), HF_EUNAVAIL);
    EXPECT_IS(errno, EFBIG);
    end();
}

TEST(who_locks_is_seen_by_other_processes)
{
    int other;

    begin();
    other = open_file(0);
    EXPECT(other >= 0);
    EXPECT_IS(hf__ofd_test(other, F_WRLCK, HF__BYTE_WORDS), 0);
    hf__words_lock(&words);
    EXPECT_IS(hf__ofd_test(other, F_WRLCK, HF__BYTE_WORDS), 1);
    hf__words_unlock(&words);
    EXPECT_IS(hf__ofd_test(other, F_WRLCK, HF__BYTE_WORDS), 0);
    EXPECT_IS(close(other), 0);
    end();
}

TEST(who_locks_is_alone)
{
    static _Alignas(8) unsigned char memory[64];

    begin();
    expect_all_counted(&words);
    end();
    hf__words_own(&words, memory, sizeof memory);
    expect_all_counted(&words);
    hf__words_fini(&words);
}
