/* SPDX-License-Identifier: MIT */
/*
 * Random bytes and what fork() does: the child has none of the registered
 * descriptors, another generation, and never the same random bytes.
 */
#include "src/base/base.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int open_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    EXPECT_MORE(fd, -1);
    return fd;
}

/* The exit code of the child; EXPECT works in it. */
static int join(pid_t child)
{
    EXPECT_MORE(child, 0);
    return hf__test_exit_code(child);
}

TEST(a_child_has_the_next_generation)
{
    const unsigned ours = hf__fork_generation();

    EXPECT_IS(ours, 2); /* the runner forked this test */
    EXPECT_IS(hf__fork_watch(), HF_OK);
    pid_t child = fork();
    if (child == 0) {
        EXPECT_IS(hf__fork_generation(), ours + 1);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            _exit((int)hf__fork_generation());
        }
        EXPECT_IS(join(grandchild), ours + 2);
        _exit((int)hf__fork_generation());
    }
    EXPECT_IS(join(child), ours + 1);
    EXPECT_IS(hf__fork_generation(), ours);
}

TEST(a_librarys_descriptor_is_adopted_and_left)
{
    int fd = open_null();
    int kept = -1;
    pid_t child;

    EXPECT_IS(fcntl(fd, F_SETFD, 0), 0);
    EXPECT_IS(hf__fd_adopt(&kept, fd), HF_OK);
    EXPECT_IS(kept, fd);
    EXPECT_IS(fcntl(fd, F_GETFD), FD_CLOEXEC);
    child = fork();
    if (child == 0) {
        _exit(is_open(fd));
    }
    EXPECT_IS(join(child), 0);
    hf__fd_leave(&kept);
    EXPECT_IS(kept, -1);
    child = fork();
    if (child == 0) {
        _exit(is_open(fd));
    }
    EXPECT_IS(join(child), 1);
    hf__fd_leave(&kept);
    EXPECT_IS(hf__fd_adopt(&kept, -1), HF_OK);
    EXPECT_IS(kept, -1);
    close(fd);
}

TEST(a_child_finds_registered_descriptors_closed)
{
    int kept = open_null();
    int closed = open_null();
    int forgotten = open_null();

    EXPECT_IS(hf__fd_register(closed), HF_OK);
    EXPECT_IS(hf__fd_register(closed), HF_OK);
    EXPECT_IS(hf__fd_register(forgotten), HF_OK);
    hf__fd_unregister(forgotten);
    hf__fd_unregister(forgotten);
    hf__fd_unregister(-1);
    hf__fd_unregister(1000000);
    pid_t child = fork();
    if (child == 0) {
        EXPECT(is_open(kept));
        EXPECT(!is_open(closed));
        EXPECT(is_open(forgotten));
        /* The number is free again, and not closed in the grandchild. */
        EXPECT_IS(open_null(), closed);
        pid_t grandchild = fork();
        _exit(grandchild == 0 ? is_open(closed) : join(grandchild));
    }
    EXPECT_IS(join(child), 1);
    EXPECT(is_open(closed));
    hf__fd_close(closed);
    EXPECT(!is_open(closed));
    hf__fd_close(-1);
    close(kept);
    close(forgotten);
}

TEST(high_descriptors_are_closed_too)
{
    struct rlimit limit;
    int fds[3];

    EXPECT_IS(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int top = limit.rlim_cur > 4096 ? 4095 : (int)limit.rlim_cur - 1;
    int base = open_null();
    for (int i = 0; i < 3; i++) {
        fds[i] = fcntl(base, F_DUPFD_CLOEXEC, i * (top - 10) / 2);
        EXPECT_IS(hf__fd_register(fds[i]), HF_OK);
    }
    pid_t child = fork();
    if (child == 0) {
        EXPECT(is_open(base));
        _exit(is_open(fds[0]) + is_open(fds[1]) + is_open(fds[2]));
    }
    EXPECT_IS(join(child), 0);
    for (int i = 0; i < 3; i++) {
        hf__fd_close(fds[i]);
    }
    close(base);
}

static atomic_bool is_over;

static void open_and_close(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        int fd = open_null();
        EXPECT_IS(hf__fd_register(fd), HF_OK);
        hf__fd_close(fd);
        (void)hf__random_between(0, 9);
    }
}

/* While others use the register and the random bytes, a child still can. */
TEST_WITHIN(60, forks_among_busy_threads_do_not_hang)
{
    struct hf__test_thread *threads[3];

    hf__test_start_all(threads, 3, open_and_close, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            int r = hf__fd_register(fd);
            hf__fd_close(fd);
            _exit(r == HF_OK && hf__random_between(3, 3) == 3 ? 0 : 1);
        }
        EXPECT_IS(join(child), 0);
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, 3);
}

static atomic_bool is_half_done;

/* Lives on until the child is over: it would be missed there. */
static void do_in_halves(void *arg)
{
    (void)arg;
    hf__fork_forbid();
    atomic_store(&is_half_done, true);
    hf__test_pause_ms(200);
    atomic_store(&is_half_done, false);
    hf__fork_allow();
    UNTIL(atomic_load(&is_over));
}

TEST(a_fork_waits_while_it_is_forbidden)
{
    /* Not on the stack: the child ends elsewhere, and memcheck looks then. */
    static struct hf__test_thread *thread;

    thread = hf__test_start(do_in_halves, NULL);
    UNTIL(atomic_load(&is_half_done));
    pid_t child = fork();
    if (child == 0) {
        int r = atomic_load(&is_half_done);
        hf__fork_forbid(); /* the child is free to do the same */
        hf__fork_allow();
        _exit(r);
    }
    EXPECT_IS(join(child), 0);
    atomic_store(&is_over, true);
    hf__test_join(thread);
}

struct token {
    unsigned char bytes[16];
};

static struct token draw(void)
{
    struct token t;

    hf__random(&t, sizeof t);
    return t;
}

/* Draws in the child and in the parent and compares. */
static void compare_with_child(int ends[2], pid_t child)
{
    struct token theirs[20];

    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            theirs[i] = draw();
        }
        ssize_t n = write(ends[1], theirs, sizeof theirs);
        _exit(n == sizeof theirs ? 0 : 1);
    }
    EXPECT_IS(join(child), 0);
    EXPECT_IS(read(ends[0], theirs, sizeof theirs), sizeof theirs);
    for (int i = 0; i < 20; i++) {
        struct token ours = draw();
        for (int j = 0; j < 20; j++) {
            EXPECT_NOT(memcmp(&ours, &theirs[j], sizeof ours), 0);
        }
    }
}

TEST(a_child_draws_other_random_bytes)
{
    int ends[2];

    EXPECT_IS(pipe2(ends, O_CLOEXEC), 0);
    (void)draw(); /* so that a block lies ready */
    compare_with_child(ends, fork());
    compare_with_child(ends, fork());
    close(ends[0]);
    close(ends[1]);
}

/* No fork handler runs here; the kernel's page alone tells. */
TEST(a_bare_clone_draws_other_random_bytes)
{
    int ends[2];

    EXPECT_IS(pipe2(ends, O_CLOEXEC), 0);
    (void)draw();
    compare_with_child(ends, (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    close(ends[0]);
    close(ends[1]);
}

TEST(random_bytes_do_not_repeat)
{
    enum { N = 2000 };
    static struct token tokens[N];
    static unsigned char large[10000];
    int n_bits = 0;

    for (int i = 0; i < N; i++) {
        tokens[i] = draw();
        for (int j = 0; j < i; j++) {
            EXPECT(memcmp(&tokens[i], &tokens[j], sizeof *tokens) != 0);
        }
    }
    hf__random(large, sizeof large);
    for (size_t i = 0; i < sizeof large; i++) {
        n_bits += __builtin_popcount(large[i]);
    }
    EXPECT_MORE(n_bits, 39000); /* 40000 ± 7 standard deviations */
    EXPECT_LESS(n_bits, 41000);
    hf__random(large, 0);
}

/* Each size, so that the end of the block is met in all ways; nothing is
 * written past the end. */
TEST(random_bytes_fill_what_was_asked_for)
{
    unsigned char buf[600];
    bool was_set[sizeof buf] = {false};

    for (int round = 0; round < 8; round++) {
        for (size_t size = 0; size <= 512; size++) {
            memset(buf, 0, sizeof buf);
            hf__random(buf, size);
            for (size_t i = 0; i < sizeof buf; i++) {
                EXPECT(buf[i] == 0 || i < size);
                was_set[i] |= buf[i] != 0;
            }
        }
    }
    for (size_t i = 0; i < 512; i++) {
        EXPECT(was_set[i]);
    }
}

TEST(random_numbers_are_even_within_their_bounds)
{
    int hits[7] = {0};

    for (int i = 0; i < 70000; i++) {
        hits[hf__random_between(-3, 3) + 3]++;
    }
    for (int i = 0; i < 7; i++) {
        EXPECT_MORE(hits[i], 9300); /* 10000 ± 7 standard deviations */
        EXPECT_LESS(hits[i], 10700);
    }
    EXPECT_IS(hf__random_between(5, 5), 5);
    EXPECT_IS(hf__random_between(INT64_MIN, INT64_MIN), INT64_MIN);
    EXPECT_IS(hf__random_between(INT64_MAX, INT64_MAX), INT64_MAX);
    int n_negative = 0;
    for (int i = 0; i < 100; i++) {
        n_negative += hf__random_between(INT64_MIN, INT64_MAX) < 0;
    }
    EXPECT(n_negative > 10 && n_negative < 90);
}
