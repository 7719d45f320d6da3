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

static int make_file(void)
{
    char path[600];
    int fd;

    (void)snprintf(path, sizeof path, "%s/words", hf__test_folder());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT(fd >= 0);
    EXPECT_IS(ftruncate(fd, SIZE), 0);
    return fd;
}

TEST(words_are_the_same_by_whatever_way)
{
    struct hf__words w = {0};
    int fd = make_file();
    uint64_t two[2] = {7, 0};

    EXPECT_IS(hf__words_map(&w, fd, SIZE), HF_OK);
    EXPECT(hf__words_write(&w, FAR, two, sizeof two));
    hf__words_add(&w, FAR + 8, 5, FAR + 16);
    hf__words_add(&w, FAR + 8, -2, FAR + 16);
    EXPECT_IS(hf__words_ring(&w, FAR + 8, INT_MAX), 0);
    hf__words_read(&w, FAR, two, sizeof two);
    EXPECT_IS(two[0], 7);
    EXPECT_IS(two[1], 4);
    EXPECT_IS(hf__words_get(&w, FAR + 8), 4);
    EXPECT_IS(atomic_load(hf__words_name(&w, FAR + 8)), 4);
    hf__words_set(&w, FAR + 8, 9);
    EXPECT_IS(atomic_load(hf__words_name(&w, FAR + 8)), 9);
    hf__words_fini(&w);
    EXPECT_IS(close(fd), 0);
}

TEST(words_of_a_file_that_was_cut_off_are_zero)
{
    struct hf__words w = {0};
    int fd = make_file();
    uint64_t value = 3;
    struct stat st;

    EXPECT_IS(hf__words_map(&w, fd, SIZE), HF_OK);
    EXPECT(hf__words_write(&w, FAR, &value, sizeof value));
    EXPECT_IS(ftruncate(fd, 0), 0);
    hf__words_read(&w, FAR, &value, sizeof value);
    EXPECT_IS(value, 0);
    EXPECT_IS(hf__words_get(&w, FAR), 0);
    hf__words_add(&w, FAR, 1, FAR + 8);
    EXPECT_IS(hf__words_ring(&w, FAR, INT_MAX), 0);
    EXPECT_IS(hf__words_get(&w, FAR), 0);
    hf__words_lock(&w);
    hf__words_unlock(&w);
    EXPECT_IS(fstat(fd, &st), 0);
    EXPECT_IS(st.st_size, 0);
    hf__words_set(&w, FAR, 6); /* which makes the file grow again */
    EXPECT_IS(hf__words_get(&w, FAR), 6);
    hf__words_fini(&w);
    EXPECT_IS(close(fd), 0);
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
    struct hf__words w = {0};
    struct hf__words late = {0};
    int fd = make_file();
    uint64_t value = 3;
    struct rlimit limit;

    EXPECT_IS(hf__words_map(&w, fd, SIZE), HF_OK);
    EXPECT(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    EXPECT_IS(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = FAR;
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT(hf__words_write(&w, FAR, &value, sizeof value));
    EXPECT_IS(hf__words_get(&w, FAR), 3);
    /* Behind a cut there is nothing that could be written. */
    EXPECT_IS(ftruncate(fd, 0), 0);
    EXPECT(!hf__words_write(&w, FAR, &value, sizeof value));
    EXPECT_IS(hf__words_map(&late, fd, SIZE), HF_EUNAVAIL);
    EXPECT_IS(errno, EFBIG);
    hf__words_fini(&w);
    EXPECT_IS(close(fd), 0);
}

TEST(who_locks_is_seen_by_other_processes)
{
    struct hf__words w = {0};
    int fd = make_file();
    char path[600];
    int other;

    (void)snprintf(path, sizeof path, "%s/words", hf__test_folder());
    other = open(path, O_RDWR | O_CLOEXEC);
    EXPECT(other >= 0);
    EXPECT_IS(hf__words_map(&w, fd, SIZE), HF_OK);
    EXPECT_IS(hf__ofd_test(other, F_WRLCK, HF__BYTE_WORDS), 0);
    hf__words_lock(&w);
    EXPECT_IS(hf__ofd_test(other, F_WRLCK, HF__BYTE_WORDS), 1);
    hf__words_unlock(&w);
    EXPECT_IS(hf__ofd_test(other, F_WRLCK, HF__BYTE_WORDS), 0);
    hf__words_fini(&w);
    EXPECT_IS(close(other), 0);
    EXPECT_IS(close(fd), 0);
}

TEST(who_locks_is_alone)
{
    static _Alignas(8) unsigned char memory[64];
    struct hf__words w = {0};
    int fd = make_file();

    EXPECT_IS(hf__words_map(&w, fd, SIZE), HF_OK);
    expect_all_counted(&w);
    hf__words_fini(&w);
    EXPECT_IS(close(fd), 0);
    hf__words_own(&w, memory, sizeof memory);
    expect_all_counted(&w);
    hf__words_fini(&w);
}
