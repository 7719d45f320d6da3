/* SPDX-License-Identifier: MIT */
/*
 * Cells as files: what was damaged, copied or put there by others is refused
 * and left as it is, what a killed process leaves aside is none, and who is
 * stopped in the midst of a change keeps the others from that cell alone.
 */
#include "src/base/ofd.h"
#include "src/base/rand.h"
#include "tests/store_file/files.h"
#include "tests/store_sqlite/cell.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CELL ".cell-test=stock"

static size_t read_bytes(const char *path, void *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, bytes, size);

    EXPECT(length > 0);
    EXPECT_IS(close(fd), 0);
    return (size_t)length;
}

/* Is it still what somebody made of it? */
static void expect_left(const char *path, const void *bytes, size_t length)
{
    static unsigned char now[80000];

    EXPECT_SAFE_IS(read_bytes(path, now, sizeof now), length);
    EXPECT_SAFE_IS(memcmp(now, bytes, length), 0);
}

TEST(a_file_of_a_cell_is_damaged_by_any_byte)
{
    static unsigned char whole[2000];
    PEER(me);
    size_t length;

    EXPECT_IS(put_cell(&me, "stock", 0, "ten of them", 11), HF_OK);
    length = read_bytes(file_of(CELL), whole, sizeof whole);
    for (size_t i = 0; i < length; i++) {
        whole[i] ^= 0x41;
        write_bytes(file_of(CELL), whole, length);
        EXPECT_IS(get_cell(&me, "stock"), HF_EPROTO);
        EXPECT_SAFE_IS(put_cell(&me, "stock", 0, "new", 3), HF_EPROTO);
        whole[i] ^= 0x41;
    }
    write_bytes(file_of(CELL), whole, length);
    expect_cell(&me, "stock", "ten of them");
}

TEST(a_file_of_a_cell_that_is_too_short_or_long_is_left_alone)
{
    static unsigned char bytes[80000];
    PEER(me);
    size_t length;

    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    length = read_bytes(file_of(CELL), bytes, sizeof bytes);
    const size_t lengths[] = {1,          7,          100,  length - 8,
                              length - 1, length + 1, 4096, sizeof bytes};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_bytes(file_of(CELL), bytes, lengths[i]);
        expect_damaged_cell(&me, "stock", "it was left as it is: move it away");
        EXPECT_HAS(me.error.text, CELL);
        EXPECT_IS(clean_cells(&me, 0), 0);
        expect_left(file_of(CELL), bytes, lengths[i]);
    }
    EXPECT_IS(truncate(file_of(CELL), 0), 0);
    expect_damaged_cell(&me, "stock", "is damaged");
    EXPECT_IS(unlink(file_of(CELL)), 0);
    EXPECT_IS(put_cell(&me, "stock", 0, "new", 3), HF_OK);
}

TEST(a_file_of_a_cell_of_garbage_is_left_alone)
{
    static const char begin[8] = {'H', 'F', 'l', 'k', 'c', 'e', 'l', 'l'};
    static unsigned char garbage[80000];
    PEER(me);

    for (int i = 0; i < 40; i++) {
        size_t length = (size_t)hf__random_between(1, sizeof garbage);

        hf__random(garbage, length);
        /* Every other one begins as a cell does. */
        if (i % 2) {
            memcpy(garbage, begin, sizeof begin);
        }
        write_bytes(file_of(CELL), garbage, length);
        EXPECT_IS(get_cell(&me, "stock"), HF_EPROTO);
        EXPECT_SAFE_IS(put_cell(&me, "stock", 0, "new", 3), HF_EPROTO);
        EXPECT_IS(clean_cells(&me, 0), 0);
        expect_left(file_of(CELL), garbage, length);
    }
}

TEST(a_copy_is_no_cell)
{
    static unsigned char whole[2000];
    PEER(me);
    size_t length;

    EXPECT_IS(delete_cell(&me, "other", 0), HF_OK);
    length = read_bytes(file_of(".cell-test=other"), whole, sizeof whole);
    write_bytes(file_of(CELL), whole, length);
    expect_damaged_cell(&me, "stock", "a copy of another cell");
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&me, 0), 1);
    expect_left(file_of(CELL), whole, length);
    EXPECT_IS(get_cell(&me, "other"), HF_OK);
    EXPECT_IS(told.version, 0);
}

TEST(what_is_no_file_is_no_cell)
{
    PEER(me);

    EXPECT_IS(mkdir(path_of(""), 0700), -1);
    keep_a_secret();
    EXPECT_IS(symlink(secret(), file_of(CELL)), 0);
    EXPECT_IS(get_cell(&me, "stock"), HF_EUNSAFE);
    EXPECT_IS(put_cell(&me, "stock", 0, "new", 3), HF_EUNSAFE);
    EXPECT_IS(unlink(file_of(CELL)), 0);
    EXPECT_IS(mkfifo(file_of(CELL), 0600), 0);
    EXPECT_IS(get_cell(&me, "stock"), HF_EPROTO);
    EXPECT_IS(put_cell(&me, "stock", 0, "new", 3), HF_EPROTO);
    EXPECT_IS(unlink(file_of(CELL)), 0);
    expect_the_secret_kept();
    EXPECT_IS(put_cell(&me, "stock", 0, "new", 3), HF_OK);
}

/* Whatever is aside or a lock's is no cell, and the other way round. */
TEST(what_is_left_aside_is_no_cell)
{
    static unsigned char whole[2000];
    PEER(me);
    struct hf__gc gc = {.idle_us = 0};
    uint64_t gone;
    size_t length;

    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    EXPECT_IS(delete_cell(&me, "stock", told.version), HF_OK);
    gone = told.version;
    length = read_bytes(file_of(CELL), whole, sizeof whole);
    EXPECT_IS(unlink(file_of(CELL)), 0);
    write_bytes(file_of(".new-0123456789abcdef"), whole, length);
    write_bytes(file_of("test=stock"), whole, length);
    EXPECT_IS(get_cell(&me, "stock"), HF_OK);
    EXPECT_IS(told.version, 0);
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&me, 0), 0);
    expect_left(file_of(".new-0123456789abcdef"), whole, length);
    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    EXPECT_MORE(told.version, gone);
    EXPECT_IS(hf__conn_gc(&me.conn, &(struct hf__key){"test", 4, 4}, &gc,
                          hf__after_ms(hf__now(), 5000), &me.error),
              HF_OK);
    EXPECT_IS(gc.count, 0);
    expect_cell(&me, "stock", "ten");
}

static int count_files(void)
{
    DIR *dir = opendir(path_of(""));
    struct dirent *entry;
    int count = 0;

    EXPECT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        count +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(dir);
    return count;
}

TEST(a_change_leaves_nothing_aside)
{
    PEER(me);

    EXPECT_IS(put_cell(&me, "stock", 0, "ten", 3), HF_OK);
    EXPECT_IS(put_cell(&me, "stock", told.version, "nine", 4), HF_OK);
    EXPECT_IS(put_cell(&me, "stock", 1, "nine", 4), HF_CONFLICT);
    EXPECT_IS(put_cell(&me, "other", 1, "nine", 4), HF_CONFLICT);
    EXPECT_IS(delete_cell(&me, "gone", 0), HF_OK);
    EXPECT_IS(count_files(), 3); /* with .holdfast */
}

/* Several steps long. */
TEST_WITHIN(60, a_cleaning_of_many_files_goes_on_where_it_was)
{
    PEER(me);
    char name[16];

    for (int i = 0; i < 4200; i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        EXPECT_IS(i % 2 ? delete_cell(&me, name, 0)
                        : put_cell(&me, name, 0, "x", 1),
                  HF_OK);
    }
    hf__test_pause_ms(5);
    EXPECT_IS(clean_cells(&me, 0), 2100);
    EXPECT_IS(clean_cells(&me, 0), 0);
    EXPECT_IS(count_files(), 2101);
    expect_cell(&me, "c4198", "x");
}

/* As who is stopped between reading and replacing. */
static void lock_it(struct stage *stage, int index)
{
    int fd = open(file_of(CELL), O_RDWR | O_CLOEXEC);

    (void)index;
    EXPECT(fd >= 0);
    EXPECT_IS(hf__ofd_lock(fd, F_WRLCK, 0), 0);
    stay(stage);
    EXPECT_IS(close(fd), 0);
}

static int put_once(struct peer *p, uint64_t version)
{
    struct hf__cell_op op = {.what = HF__CELL_PUT,
                             .key = {"test=stock", 10, 5},
                             .writer = {.bytes = "a token of 16 b"},
                             .expected = version,
                             .length = 3,
                             .value = (unsigned char[]){"new"},
                             .err = &p->error};

    EXPECT_IS(hf__conn_cell(&p->conn, &op, hf__after_ms(hf__now(), 5000), NULL),
              HF_OK);
    return op.result;
}

TEST(who_is_stopped_in_a_change_is_in_the_way_of_that_cell_alone)
{
    struct stage *stage = stage_new();
    PEER(me);
    uint64_t version;
    pid_t stopped;

    EXPECT_IS(delete_cell(&me, "stock", 0), HF_OK);
    version = told.version;
    stopped = start_ready(lock_it, stage, 0);
    EXPECT_IS(put_once(&me, version), HF__AGAIN);
    EXPECT_HAS(me.error.text, "locked by somebody else");
    EXPECT_IS(get_cell(&me, "stock"), HF_OK);
    EXPECT_IS(told.version, version);
    EXPECT_IS(put_cell(&me, "other", 0, "ten", 3), HF_OK);
    EXPECT_SAFE_IS(clean_cells(&me, 0), 0);
    kill_now(stopped);
    EXPECT_IS(put_once(&me, version), HF_OK);
    expect_cell(&me, "stock", "new");
}
