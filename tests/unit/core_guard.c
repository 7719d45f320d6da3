/* SPDX-License-Identifier: MIT */
/*
 * A guarded file refuses who is late, whoever he is and whenever he was
 * stopped, and is never half written.
 */
#include "include/holdfast-guard.h"
#include "src/base/ofd.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* PATH and a suffix. */
static const char *place(const char *suffix)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/report%s", hf__test_folder(), suffix);
    return path;
}

static int save(uint64_t fence, const char *text)
{
    hf_error err = HF_ERROR_INIT;
    int r = hf_guard_file(place(""), fence, text, strlen(text), &err);

    printf("%s %s\n", hf_strstatus(r), err.text);
    EXPECT_IS(err.status, r);
    return r;
}

static const char *content(const char *suffix)
{
    static char text[200];
    int fd = open(place(suffix), O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);

    EXPECT(fd >= 0 && n >= 0);
    text[n] = '\0';
    close(fd);
    return text;
}

static void write_file(const char *suffix, const char *text)
{
    int fd = open(place(suffix), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    EXPECT_IS(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void write_twice(void *arg)
{
    (void)arg;
    EXPECT_IS(save(2, "text"), HF_OK);
    EXPECT_IS(save(2, "text"), HF_OK);
}

TEST(who_is_late_is_refused_and_nothing_is_done)
{
    EXPECT_IS(save(17, "seventeen"), HF_OK);
    EXPECT_IS(save(18, "eighteen"), HF_OK);
    EXPECT_IS(save(17, "late"), HF_LOST);
    EXPECT_TEXT(content(""), "eighteen");
    EXPECT_TEXT(content(".fence"), "0000000000000018\n");
    EXPECT(access(place(".new"), F_OK) < 0);
}

TEST(the_same_holder_writes_again)
{
    EXPECT_IS(save(17, "first, and long"), HF_OK);
    EXPECT_IS(save(17, "second"), HF_OK);
    EXPECT_TEXT(content(""), "second");
    EXPECT_IS(save(17, ""), HF_OK);
    EXPECT_TEXT(content(""), "");
}

TEST(a_file_that_was_there_before_is_replaced_and_keeps_its_permissions)
{
    struct stat st;

    write_file("", "old");
    EXPECT_IS(chmod(place(""), 06640), 0); /* but who runs as its owner */
    EXPECT_IS(save(1, "new"), HF_OK);
    EXPECT_IS(stat(place(""), &st), 0);
    EXPECT_IS(st.st_mode & 07777, 0640);
    EXPECT_TEXT(content(""), "new");
}

TEST(what_a_writer_left_that_died_is_in_nobodys_way)
{
    write_file(".new", "half of someth");
    EXPECT_IS(save(3, "whole"), HF_OK);
    EXPECT_TEXT(content(""), "whole");
    EXPECT(access(place(".new"), F_OK) < 0);
}

TEST(nobody_else_can_lock_the_number)
{
    struct stat st;

    EXPECT_IS(save(1, "text"), HF_OK);
    EXPECT_IS(stat(place(".fence"), &st), 0);
    EXPECT_IS(st.st_mode & 0777, 0600);
    EXPECT_IS(unlink(place(".fence")), 0);
    EXPECT_IS(chmod(hf__test_folder(), 02770), 0);
    EXPECT_IS(save(1, "text"), HF_OK);
    EXPECT_IS(stat(place(".fence"), &st), 0);
    EXPECT_IS(st.st_mode & 0777, 0660);
}

TEST(a_child_that_was_forked_meanwhile_keeps_nobody_out)
{
    int ends[2];

    EXPECT_IS(save(1, "text"), HF_OK);
    EXPECT_IS(pipe(ends), 0);
    for (int i = 0; i < 3; i++) {
        struct hf__test_thread *writer = hf__test_start(write_twice, NULL);
        pid_t pid = fork();

        if (pid == 0) { /* it lives on with all that it was born with */
            char byte;

            close(ends[1]);
            (void)!read(ends[0], &byte, 1);
            _exit(0);
        }
        hf__test_join(writer);
    }
    close(ends[1]);
    EXPECT_IS(save(9, "more"), HF_OK);
    close(ends[0]);
    while (wait(NULL) > 0) {
    }
}

TEST(what_is_no_file_is_not_replaced)
{
    EXPECT_IS(mkdir(place(""), 0700), 0);
    EXPECT_IS(save(3, "text"), HF_EUNSAFE);
    EXPECT_IS(rmdir(place("")), 0);
    EXPECT_IS(mkfifo(place(""), 0600), 0);
    EXPECT_IS(save(3, "text"), HF_EUNSAFE);
    EXPECT_IS(unlink(place("")), 0);
    write_file(".other", "");
    EXPECT_IS(unlink(place(".fence")), 0);
    EXPECT_IS(link(place(".other"), place(".fence")), 0);
    EXPECT_IS(save(3, "text"), HF_EUNSAFE);
    EXPECT_TEXT(content(".other"), "");
}

TEST(a_number_that_had_no_room_refuses_nobody)
{
    struct rlimit small = {5, RLIM_INFINITY};
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_IS(save(3, "text"), HF_EUNAVAIL);
    EXPECT_IS(setrlimit(RLIMIT_FSIZE, &all), 0);
    EXPECT_IS(save(2, "text"), HF_OK);
}

TEST(a_link_is_replaced_and_not_followed)
{
    EXPECT_IS(symlink("elsewhere", place("")), 0);
    EXPECT_IS(symlink("elsewhere", place(".new")), 0);
    EXPECT_IS(save(3, "text"), HF_OK);
    EXPECT_TEXT(content(""), "text");
    EXPECT_IS(unlink(place(".fence")), 0);
    EXPECT_IS(symlink("elsewhere", place(".fence")), 0);
    EXPECT_IS(save(4, "text"), HF_EUNSAFE);
    EXPECT_IS(unlink(place(".fence")), 0);
    EXPECT_IS(mkfifo(place(".fence"), 0600), 0);
    EXPECT_IS(save(4, "text"), HF_EUNSAFE);
}

TEST(a_number_that_cannot_be_read_refuses_everybody_by_name)
{
    static const char *const bad[] = {
        "17\n", "000000000000001x\n", "0000000000000017 ",
        "0000000000000017\n0", "-000000000000017\n"};
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(save(3, "text"), HF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(".fence", bad[i]);
        EXPECT_IS(save(UINT64_C(1) << 52, "other"), HF_EPROTO);
    }
    EXPECT_IS(hf_guard_file(place(""), 9, "", 0, &err), HF_EPROTO);
    EXPECT_HAS(err.text, "report.fence");
    EXPECT_TEXT(content(""), "text");
}

TEST(bad_arguments_are_refused)
{
    hf_error err = HF_ERROR_INIT;
    char longest[300];

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    EXPECT_IS(save(0, "text"), HF_EINVAL);
    EXPECT_IS(save(UINT64_C(1) << 53, "text"), HF_EINVAL);
    EXPECT_IS(hf_guard_file(NULL, 1, "", 0, &err), HF_EINVAL);
    EXPECT_IS(hf_guard_file(place(""), 1, NULL, 1, &err), HF_EINVAL);
    EXPECT_IS(hf_guard_file("", 1, "", 0, &err), HF_EINVAL);
    EXPECT_IS(hf_guard_file("/", 1, "", 0, &err), HF_EINVAL);
    EXPECT_IS(hf_guard_file("/tmp/..", 1, "", 0, &err), HF_EINVAL);
    EXPECT_IS(hf_guard_file(longest, 1, "", 0, &err), HF_EINVAL);
    EXPECT_IS(hf_guard_file(place("/none"), 1, "", 0, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "none");
    EXPECT(access(place(".fence"), F_OK) < 0);
}

TEST_WITHIN(40,
            who_was_stopped_in_a_write_keeps_others_waiting_for_a_while_only)
{
    int fd = -1;

    EXPECT_IS(save(3, "text"), HF_OK);
    fd = open(place(".fence"), O_RDWR | O_CLOEXEC);
    EXPECT_IS(hf__ofd_lock(fd, F_WRLCK, 0), 0);
    EXPECT_IS(save(4, "more"), HF_BUSY);
    EXPECT_TEXT(content(""), "text");
    close(fd);
    EXPECT_IS(save(4, "more"), HF_OK);
}

/* ---- many, and some that are killed */

enum { WRITERS = 4, FENCES = 400, KILLS = 25 };

/* Shared with the writers that are killed. */
static struct board {
    _Atomic uint64_t fence;
} * board;
static char everybodys[512];

static uint64_t number_of(const char *suffix)
{
    return strtoull(content(suffix), NULL, 10);
}

/* Somebody who is often late: others get their fences and write meanwhile. */
static void write_next(void)
{
    char text[32];
    uint64_t fence = atomic_fetch_add(&board->fence, 1) + 1;
    int r;

    snprintf(text, sizeof text, "%llu", (unsigned long long)fence);
    r = hf_guard_file(everybodys, fence, text, strlen(text), NULL);
    EXPECT(r == HF_OK || r == HF_LOST);
}

static void write_all(void *arg)
{
    (void)arg;
    while (atomic_load(&board->fence) < FENCES) {
        write_next();
    }
}

static void begin_crowd(void)
{
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(board != MAP_FAILED);
    snprintf(everybodys, sizeof everybodys, "%s", place(""));
    EXPECT_IS(save(1, "1"), HF_OK);
    atomic_store(&board->fence, 1);
}

TEST(what_many_write_never_goes_back)
{
    struct hf__test_thread *threads[WRITERS];
    uint64_t last = 0;

    begin_crowd();
    for (int i = 0; i < WRITERS; i++) {
        threads[i] = hf__test_start(write_all, NULL);
    }
    while (atomic_load(&board->fence) < FENCES) {
        uint64_t seen = number_of("");

        EXPECT_SAFE(seen >= last && seen > 0);
        last = seen;
    }
    hf__test_join_all(threads, WRITERS);
    EXPECT_IS(number_of(""), number_of(".fence"));
}

TEST(a_writer_that_is_killed_leaves_the_old_bytes_or_the_new)
{
    begin_crowd();
    for (int i = 0; i < KILLS; i++) {
        uint64_t before = atomic_load(&board->fence);
        pid_t pid = fork();

        EXPECT(pid >= 0);
        if (pid == 0) {
            for (;;) {
                write_next();
            }
        }
        UNTIL(atomic_load(&board->fence) > before + (uint64_t)i % 7);
        EXPECT_IS(kill(pid, SIGKILL), 0);
        EXPECT_IS(waitpid(pid, NULL, 0), pid);
        EXPECT_SAFE(number_of("") <= number_of(".fence"));
        EXPECT_SAFE(number_of("") >= before);
        write_next();
        EXPECT_IS(number_of(""), atomic_load(&board->fence));
    }
}
