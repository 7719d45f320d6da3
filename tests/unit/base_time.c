/* SPDX-License-Identifier: MIT */
/*
 * Points in time and durations: the edges where 64 bits end, and that what
 * is written as a duration reads back as the same.
 */
#include "src/base/duration.h"
#include "src/base/rand.h"
#include "src/base/time.h"
#include "tests/lib/test.h"

#include <string.h>
#include <time.h>

static hf__time at(int64_t ns)
{
    return (hf__time){ns};
}

TEST(now_is_boottime_and_does_not_go_back)
{
    struct timespec t = {0, 0};
    hf__time a = hf__now();

    EXPECT_IS(clock_gettime(CLOCK_BOOTTIME, &t), 0);
    hf__time b = {t.tv_sec * HF__SECOND + t.tv_nsec};
    hf__time c = hf__now();
    EXPECT(!hf__before(b, a));
    EXPECT(!hf__before(c, b));
    EXPECT_LESS(hf__between_ns(a, c), 10 * HF__SECOND);
}

TEST(wall_clock_is_in_microseconds)
{
    int64_t us = hf__wall_us();

    EXPECT_LESS(us / 1000000 - (int64_t)time(NULL), 2);
    EXPECT_MORE(us / 1000000 - (int64_t)time(NULL), -2);
}

TEST(adding_stops_at_never)
{
    EXPECT_IS(hf__after_ns(at(5), 7).ns, 12);
    EXPECT_IS(hf__after_ns(at(5), -7).ns, -2);
    EXPECT_IS(hf__after_us(at(5), 2).ns, 2005);
    EXPECT_IS(hf__after_ms(at(5), 2).ns, 2000005);
    EXPECT(hf__is_never(hf__after_ns(at(5), INT64_MAX)));
    EXPECT(hf__is_never(hf__after_us(at(5), INT64_C(20000000000000000))));
    EXPECT_IS(hf__after_us(at(-5), INT64_MIN).ns, INT64_MIN);
    EXPECT(hf__is_never(hf__after_ms(at(5), INT64_MAX)));
    EXPECT(hf__is_never(hf__after_ms(at(5), INT64_MAX / 1000000 + 1)));
    EXPECT(hf__is_never(hf__after_ns(HF__NEVER, -1)));
    EXPECT(hf__is_never(hf__after_ms(HF__NEVER, INT64_MIN)));
    EXPECT_IS(hf__after_ms(at(-5), INT64_MIN).ns, INT64_MIN);
    EXPECT_IS(hf__after_ns(at(-2), INT64_MIN).ns, INT64_MIN);
}

TEST(milliseconds_until_are_rounded_up)
{
    EXPECT_IS(hf__ms_until(at(10), at(10)), 0);
    EXPECT_IS(hf__ms_until(at(9), at(10)), 0);
    EXPECT_IS(hf__ms_until(at(11), at(10)), 1);
    EXPECT_IS(hf__ms_until(at(1000010), at(10)), 1);
    EXPECT_IS(hf__ms_until(at(1000011), at(10)), 2);
    EXPECT_IS(hf__ms_until(HF__NEVER, at(10)), INT64_MAX);
    EXPECT_IS(hf__ms_until(HF__NEVER, HF__NEVER), INT64_MAX);
    EXPECT_MORE(hf__ms_until(at(INT64_MAX - 1), at(INT64_MIN)), 0);
}

TEST(earlier_and_later)
{
    EXPECT_IS(hf__earlier(at(1), at(2)).ns, 1);
    EXPECT_IS(hf__earlier(at(2), at(1)).ns, 1);
    EXPECT_IS(hf__later(at(1), at(2)).ns, 2);
    EXPECT_IS(hf__later(at(2), at(1)).ns, 2);
    EXPECT(hf__before(at(1), at(2)) && !hf__before(at(2), at(2)));
}

/* The duration, or -1. */
static int64_t parsed(const char *text)
{
    int64_t ms = -2;
    bool is_valid = hf__duration_parse(text, &ms);

    EXPECT_IS(is_valid, ms != -2);
    return is_valid ? ms : -1;
}

TEST(durations_are_read)
{
    EXPECT_IS(parsed("0"), 0);
    EXPECT_IS(parsed("0ms"), 0);
    EXPECT_IS(parsed("250ms"), 250);
    EXPECT_IS(parsed("30s"), 30000);
    EXPECT_IS(parsed("5m"), 300000);
    EXPECT_IS(parsed("2h"), 7200000);
    EXPECT_IS(parsed("1d"), 86400000);
    EXPECT_IS(parsed("1h30m"), 5400000);
    EXPECT_IS(parsed("1d2h3m4s5ms"), 93784005);
    EXPECT_IS(parsed("90m"), 5400000);
    EXPECT_IS(parsed("007"), 7000);
    EXPECT_IS(parsed("0.5"), 500);
    EXPECT_IS(parsed("1.0009"), 1000);
    EXPECT_IS(parsed("12.34"), 12340);
    EXPECT_IS(parsed("0.12399999999999999999999999999999"), 123);
}

TEST(what_is_no_duration_is_refused)
{
    static const char *const bad[] = {
        "",      " ",    "s",    "ms",   "-1",    "+1",    "-1s",  "1 s",
        " 1s",   "1s ",  "1x",   "1S",   "1sec",  "1h1h",  "1m1h", "1ms1s",
        "1s1s",  "1h30", "30m5", "1.",   ".5",    "1.5s",  "1.5h", "1..5",
        "1.5.5", "0x10", "1e3",  "1,5",  "1hm",   "1h-5m", "1mss", "1dd",
        "1\n",   "inf",  "nan",  "1d.5", "1h0.5", "1ms1m", "1sm",  "1µs",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_TEXT(parsed(bad[i]) < 0 ? "" : bad[i], "");
    }
}

TEST(a_hundred_years_are_the_limit)
{
    EXPECT_IS(parsed("36525d"), INT64_C(3155760000000));
    EXPECT_IS(parsed("3155760000000ms"), INT64_C(3155760000000));
    EXPECT_IS(parsed("3155760000"), INT64_C(3155760000000));
    EXPECT_IS(parsed("36525d1ms"), -1);
    EXPECT_IS(parsed("36526d"), -1);
    EXPECT_IS(parsed("3155760000.001"), -1);
    EXPECT_IS(parsed("3155760001"), -1);
    EXPECT_IS(parsed("9223372036854775807ms"), -1);
    EXPECT_IS(parsed("18446744073709551617s"), -1);
    EXPECT_IS(parsed("99999999999999999999999999999999999999999"), -1);
    EXPECT_IS(parsed("36525d36525h36525m36525s"), -1);
}

TEST(durations_are_written)
{
    char buf[64];

    EXPECT_TEXT(hf__duration_format(0, buf, sizeof buf), "0s");
    EXPECT_TEXT(hf__duration_format(250, buf, sizeof buf), "250ms");
    EXPECT_TEXT(hf__duration_format(30000, buf, sizeof buf), "30s");
    EXPECT_TEXT(hf__duration_format(5400000, buf, sizeof buf), "1h30m");
    EXPECT_TEXT(hf__duration_format(93784005, buf, sizeof buf), "1d2h3m4s5ms");
    EXPECT_TEXT(hf__duration_format(-1500, buf, sizeof buf), "-1s500ms");
    EXPECT_TEXT(hf__duration_format(INT64_MIN, buf, sizeof buf),
                "-106751991167d7h12m55s808ms");
    EXPECT_TEXT(hf__duration_format(5400000, buf, 3), "1h");
    EXPECT_TEXT(hf__duration_format(0, buf, 2), "0");
}

TEST(what_is_written_reads_back)
{
    char buf[64];

    for (int i = 0; i < 20000; i++) {
        int64_t most = INT64_C(3155760000000) >> (i % 42);
        int64_t ms = hf__random_between(0, most);
        EXPECT_IS(parsed(hf__duration_format(ms, buf, sizeof buf)), ms);
    }
}

/* Random strings of the alphabet of durations: no crash, no overflow, and
 * what is taken is within the limit. */
TEST(random_text_is_taken_or_refused)
{
    static const char alphabet[] = "0123456789dhms.m s-";
    int n_taken = 0;

    for (int i = 0; i < 50000; i++) {
        char text[24] = "";
        int64_t length = hf__random_between(0, 22);

        for (int64_t j = 0; j < length; j++) {
            text[j] =
                alphabet[hf__random_between(0, (int64_t)strlen(alphabet) - 1)];
        }
        int64_t ms = parsed(text);
        EXPECT(ms >= -1 && ms <= INT64_C(3155760000000));
        n_taken += ms >= 0;
    }
    EXPECT_MORE(n_taken, 0);
}
