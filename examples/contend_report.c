/* SPDX-License-Identifier: MIT */
/*
 * The output of the example contend: who, when, what the result was, and the
 * lock's record in a form for people.
 */
#include "examples/contend.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

atomic_int mistakes;

/* The name of this thread, as in the records of its locks. */
static _Thread_local char me[16] = "main";

void call_me(const char *name)
{
    snprintf(me, sizeof me, "%s", name);
    pthread_setname_np(pthread_self(), me);
}

static struct timespec started;

void start_clock(void)
{
    clock_gettime(CLOCK_MONOTONIC, &started);
}

double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - started.tv_sec) +
           (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

void say(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("%6.2f s  %-9s %s\n", seconds(), me, text);
}

void fail(const char *what)
{
    fprintf(stderr, "contend: %s: %s\n", me, what);
}

void mistake(const char *what)
{
    say("MISTAKE: %s", what);
    atomic_fetch_add(&mistakes, 1);
}

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

/* Print the result of an attempt, and the holder: since when, how, for how much
 * longer, by which fence. */
static void say_record(const char *what, const hf_info *info)
{
    int64_t since_us = hf_info_acquired_us(info);
    int64_t left_ms = hf_info_remaining_ms(info);
    char since[16] = "";
    char left[32] = "while its session lives";
    struct tm tm;

    strftime(since, sizeof since, "%T",
             localtime_r(&(time_t){(time_t)(since_us / 1000000)}, &tm));
    if (left_ms >= 0) {
        snprintf(left, sizeof left, "lease %.1f s", (double)left_ms / 1000);
    }
    say("%-8s %s since %s.%03d, %s, fence %llu\n%29sby %s (host %s, pid %lld, "
        "thread %lld %s)%s, note: %s",
        what, hf_info_shared(info) ? "shared" : "exclusive", since,
        (int)(since_us / 1000 % 1000), left,
        (unsigned long long)hf_info_fence(info), "",
        or_none(hf_info_label(info)), or_none(hf_info_host(info)),
        (long long)hf_info_pid(info), (long long)hf_info_tid(info),
        or_none(hf_info_thread(info)),
        hf_info_holder_lives(info) == 0 ? ", its process is gone" : "",
        or_none(hf_info_note(info)));
}

void report(hf_client *client, const char *what, const hf_lock *ours)
{
    hf_error err = HF_ERROR_INIT;
    hf_info *info = NULL;

    bool is_ours = false;

    if (hf_inspect(client, NAME, &info, &err) != HF_OK) {
        say("%-8s (%s)", what, err.text);
    } else if (hf_info_presence(info) == HF_HELD_BY) {
        say_record(what, info);
        is_ours = ours && hf_info_fence(info) == hf_fence(ours);
    } else {
        say("%-8s %s", what,
            hf_info_presence(info) == HF_FREE ? "free" : "nobody can tell");
    }
    if (hf_held(ours) && !is_ours) {
        mistake("this is not the record of our grant");
    }
    hf_info_free(info);
}
