/* SPDX-License-Identifier: MIT */
/*
 * What the files of the harness share: the page through which the processes
 * of a test tell the runner how it went, and the sweeping up after a test.
 */
#ifndef HF_TESTS_LIB_RUNNER_H
#define HF_TESTS_LIB_RUNNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HF__TEST_SLOW_FACTOR = 5 };

enum hf__test_outcome {
    HF__TEST_RUNNING,
    HF__TEST_PASSED,
    HF__TEST_SKIPPED,
    HF__TEST_FAILED,
};
enum { HF__TEST_NO_FOLDER, HF__TEST_MAKING_FOLDER, HF__TEST_HAVE_FOLDER };

/* Shared memory; cleared before each test. */
struct hf__test_page {
    _Atomic int outcome;
    _Atomic int folder_state;
    _Atomic bool is_late;     /* all that failed is an EXPECT_SOON() */
    _Atomic bool is_ordinary; /* what failed first is an EXPECT */
    _Atomic bool is_unsafe;   /* first or later: an EXPECT_SAFE, a crash, a
                                 hang */
    int64_t began_us;         /* set before the test begins */
    int64_t stalled_us;       /* the same */
    char why[2048];
    char folder[1024];
};
extern struct hf__test_page *hf__test_page;

/* A test begins: what the machine has to do from now on counts. */
void hf__test_note_pressure(void);
/* The bound, longer by what the machine was too busy for since: twice if
 * something waited for a processor half of the time. */
int64_t hf__test_stretched(int64_t bound);

/* Sets the outcome and why. False if it was set before: the first to conclude
 * decides, so that a later success can't hide a failure. */
__attribute__((format(printf, 2, 3))) bool
hf__test_conclude(enum hf__test_outcome, const char *format, ...);

/* Calls each(number, data) for every entry of a folder that is a number. */
void hf__test_each_number(const char *path, void (*each)(int, void *),
                          void *data);
/* Remembers which descriptors there are; fails for those that came since. */
void hf__test_note_fds(void);
void hf__test_check_fds(void);
/* Looks at how a process of the test ended: a crash is never excused. */
void hf__test_note_end(int status);
/* Gives the children of the runner that long to end, then kills them. True if
 * one had to be killed. */
bool hf__test_end_leftovers(int64_t grace_ms);
/* Removes a folder with all in it, or a file. */
void hf__test_remove_tree(const char *path);
/* Removes the folder of the test, if it has one. */
void hf__test_forget_folder(void);

#endif
