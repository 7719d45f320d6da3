/* SPDX-License-Identifier: MIT */
/*
 * The test harness: each TEST() registers itself and runs in a process of
 * its own with a time limit, so that a crash, a leak of descriptors or a hang
 * is a failure of that test alone. Output is TAP. The harness is proved by
 * tests that must fail (tests/unit/harness).
 *
 *     TEST(a_second_claim_is_busy)
 *     {
 *         EXPECT_IS(acquire("job"), HF_BUSY);
 *     }
 *
 * What not each store, or machine, can be asked is said before the test:
 *
 *     TEST_IF(store_can(HF_CAP_FAIR), who_asks_first_is_first) { … }
 *
 * A program links tests/lib and has no main of its own. Its arguments:
 * [--list] [--filter SUBSTRING] [--part K/N] (every N-th test, from the K-th)
 * [--seed N]; the rest is in hf__test_args. HOLDFAST_TEST_ONLY in the
 * environment is the name of the one test to run, whatever part it is in.
 */
#ifndef HF_TESTS_LIB_TEST_H
#define HF_TESTS_LIB_TEST_H

#include <stdbool.h>
#include <stdint.h>

struct hf__test {
    const char *name;
    const char *file;
    int line;
    void (*run)(void);
    int limit_s;    /* 0: 20 seconds */
    bool must_fail; /* proves the harness: the test counts as ok iff it fails */
    bool (*applies)(void); /* asked in the runner; NULL: it does */
    const char *condition; /* of that, as it is written */
    struct hf__test *next;
};

void hf__test_register(struct hf__test *);

#define HF__TEST_AS(ident, limit, fails, applies, condition)                   \
    static void ident(void);                                                   \
    static struct hf__test ident##_test = {#ident,  __FILE__,  __LINE__,       \
                                           ident,   limit,     fails,          \
                                           applies, condition, 0};             \
    __attribute__((constructor)) static void ident##_register(void)            \
    {                                                                          \
        hf__test_register(&ident##_test);                                      \
    }                                                                          \
    static void ident(void)

#define TEST(ident) HF__TEST_AS(ident, 0, false, 0, "")
/* A test that may take up to `seconds`. */
#define TEST_WITHIN(seconds, ident) HF__TEST_AS(ident, seconds, false, 0, "")
/* A test that must fail, crash or hang past its limit. */
#define MUST_FAIL(ident) HF__TEST_AS(ident, 3, true, 0, "")
/* A row of a table: such a test that does no more than this. */
#define CASE(ident, ...) HF__CASE(TEST(ident), __VA_ARGS__)
#define CASE_WITHIN(seconds, ident, ...)                                       \
    HF__CASE(TEST_WITHIN(seconds, ident), __VA_ARGS__)
#define CASE_IF(condition, ident, ...)                                         \
    HF__CASE(HF__TEST_IF(0, condition, #condition, ident), __VA_ARGS__)
#define MUST_FAIL_CASE(ident, ...) HF__CASE(MUST_FAIL(ident), __VA_ARGS__)
#define HF__CASE(head, ...)                                                    \
    head                                                                       \
    {                                                                          \
        __VA_ARGS__;                                                           \
    }                                                                          \
    struct hf__test
/* A test that is run where this holds. Elsewhere it does not apply, which is
 * counted apart: nothing passed, and nothing that could be had is missing. The
 * condition is looked at in the runner, so it opens and makes nothing. */
#define TEST_IF(condition, ident) HF__TEST_IF(0, condition, #condition, ident)
#define TEST_WITHIN_IF(seconds, condition, ident)                              \
    HF__TEST_IF(seconds, condition, #condition, ident)
#define HF__TEST_IF(seconds, condition, text, ident)                           \
    static bool ident##_applies(void)                                          \
    {                                                                          \
        return condition;                                                      \
    }                                                                          \
    HF__TEST_AS(ident, seconds, false, ident##_applies, text)

/* A failed EXPECT prints both values and ends the test. */
#define EXPECT(condition)                                                      \
    ((condition) ? (void)0                                                     \
                 : hf__test_unexpected(#condition, __FILE__, __LINE__))
#define EXPECT_IS(a, b)                                                        \
    hf__test_compare((int64_t)(a), (int64_t)(b), "==", #a " == " #b, __FILE__, \
                     __LINE__)
#define EXPECT_NOT(a, b)                                                       \
    hf__test_compare((int64_t)(a), (int64_t)(b), "!=", #a " != " #b, __FILE__, \
                     __LINE__)
#define EXPECT_MORE(a, b)                                                      \
    hf__test_compare((int64_t)(a), (int64_t)(b), ">", #a " > " #b, __FILE__,   \
                     __LINE__)
#define EXPECT_LESS(a, b)                                                      \
    hf__test_compare((int64_t)(a), (int64_t)(b), "<", #a " < " #b, __FILE__,   \
                     __LINE__)
/* The same for a time. A busy machine may take longer, as pressure.c says; and
 * a test that ends here is run again, and fails if it ends here three times. */
#define EXPECT_SOON(took, bound)                                               \
    hf__test_soon((int64_t)(took), (int64_t)(bound), #took " < " #bound,       \
                  __FILE__, __LINE__)
/* The same for what no load excuses: that one is alone inside, that no fence
 * falls. What fails here is never tried a second time. */
#define EXPECT_SAFE(condition)                                                 \
    ((condition) ? (void)0 : hf__test_unsafe(#condition, __FILE__, __LINE__))
#define EXPECT_SAFE_IS(a, b)                                                   \
    hf__test_oracle((int64_t)(a), (int64_t)(b), "==", #a " == " #b, __FILE__,  \
                    __LINE__)
#define EXPECT_SAFE_MORE(a, b)                                                 \
    hf__test_oracle((int64_t)(a), (int64_t)(b), ">", #a " > " #b, __FILE__,    \
                    __LINE__)
#define EXPECT_TEXT(a, b) hf__test_text((a), (b), #a, #b, __FILE__, __LINE__)
/* haystack contains needle */
#define EXPECT_HAS(haystack, needle)                                           \
    hf__test_has((haystack), (needle), #haystack, __FILE__, __LINE__)
/* Looks again and again until it holds; as EXPECT_SOON if it does not within
 * ten seconds, or so many milliseconds, stretched as of hf__test_patience(). */
#define UNTIL(condition) UNTIL_WITHIN(10000, condition)
#define UNTIL_WITHIN(ms, condition)                                            \
    do {                                                                       \
        int64_t hf__start = hf__test_now_ms();                                 \
        while (!(condition)) {                                                 \
            hf__test_soon(hf__test_now_ms() - hf__start,                       \
                          hf__test_patience(ms), "until " #condition,          \
                          __FILE__, __LINE__);                                 \
            hf__test_pause_ms(1);                                              \
        }                                                                      \
    } while (0)
/* Ends the test as skipped, for what the machine lacks and could have; CI
 * counts a skip as a failure. */
#define SKIP(reason) hf__test_skip((reason), __FILE__, __LINE__)

_Noreturn void hf__test_unexpected(const char *text, const char *file,
                                   int line);
void hf__test_compare(int64_t a, int64_t b, const char *relation,
                      const char *text, const char *file, int line);
void hf__test_soon(int64_t took, int64_t bound, const char *text,
                   const char *file, int line);
_Noreturn void hf__test_unsafe(const char *text, const char *file, int line);
void hf__test_oracle(int64_t a, int64_t b, const char *relation,
                     const char *text, const char *file, int line);
void hf__test_text(const char *a, const char *b, const char *a_text,
                   const char *b_text, const char *file, int line);
void hf__test_has(const char *haystack, const char *needle, const char *text,
                  const char *file, int line);
_Noreturn void hf__test_skip(const char *reason, const char *file, int line);

/* Arguments after the harness's own; NULL-ended. */
extern char **hf__test_args;
/* fn runs in the runner before the first test, with the arguments known: for
 * what all tests share, such as a server. At most one, from a constructor. */
void hf__test_prepare(void (*fn)(void));
/* fn runs in each test's process before the test. At most one, from a
 * constructor. */
void hf__test_before(void (*fn)(void));
/* The number after --seed; 1 if there is none. */
uint64_t hf__test_seed(void);
/* The next number after that state, which may begin with any seed. */
uint64_t hf__test_random(uint64_t *state);
/* A private temporary folder of this test, removed with all in it after the
 * test, also when it failed. Never NULL. */
const char *hf__test_folder(void);
/* That this descriptor is still open at the end of the test is no leak. */
void hf__test_keep_fd(int fd);
/* Milliseconds on CLOCK_MONOTONIC. */
int64_t hf__test_now_ms(void);
/* Sleep; for tests that must let time pass. */
void hf__test_pause_ms(int64_t ms);
/* `ms`, five times as much where HOLDFAST_TEST_SLOW says that all is slow. */
int64_t hf__test_patience(int64_t ms);
/* A sanitizer's heap, unlike the C library's, stays locked in a child that was
 * forked while another thread allocated; and the thread sanitizer ends a child
 * that starts threads if its parent had some. */
bool hf__test_has_tsan(void);
bool hf__test_has_asan(void);
bool hf__test_may_fork_beside_threads(void);
/* Waits for a forked child that nobody kills, and gives its exit code. A crash
 * of it is as an EXPECT_SAFE that failed. */
int hf__test_exit_code(int pid);
/* Threads, so that a test needs no pthread_ of its own: fn(arg) runs in a new
 * thread; EXPECT may be used there. join waits for it. */
struct hf__test_thread;
struct hf__test_thread *hf__test_start(void (*fn)(void *), void *arg);
void hf__test_join(struct hf__test_thread *);
void hf__test_start_all(struct hf__test_thread **, int n, void (*fn)(void *),
                        void *arg);
/* All of so many. */
void hf__test_join_all(struct hf__test_thread **, int n);

#endif
