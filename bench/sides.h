/* SPDX-License-Identifier: MIT */
/*
 * Pairs of acquire and release per second on a private server: by hand, and
 * of the library, each on names of its own. All sides take turns in short
 * segments, so that what else the machine does hits all; ratios are medians
 * over the rounds. Thread: main.
 */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

#include "bench/measure.h"
#include "bench/report.h"

#define SIDES_ROUNDS_MAX 32
#define SIDES_IN_FLIGHT  256

/* Locks by hand: on a connection for each thread, or on one with all pairs in
 * flight. */
struct sides_raw {
    const char *name;
    const void *of; /* what open() is given */
    void *(*open)(const void *of);
    void (*close)(void *raw);
    /* False: nothing is held. */
    bool (*pair)(void *raw, const char *key);
    /* Pairs per second of n in flight, on names of their own; NULL: threads
     * only. */
    double (*fly)(void *raw, int n, double seconds);
};

struct side_lane {
    char name[24];
    char key[32];
    hf_client *client;
    void *raw;
    bool (*pair)(void *raw, const char *key);
};

/* A side of the comparison: n lanes, each a thread, or n in flight. */
struct side {
    char what[28];
    int n;
    const struct sides_raw *by_hand;     /* NULL: the library */
    bool (*turn)(struct bench_worker *); /* of a thread; its arg is the lane */
    int pairs_a_turn;                    /* 0: one */
    /* Of one thread that has all of them in flight, for so long: pairs per
     * second. NULL: they have threads. */
    double (*fly)(struct side *side, double seconds);
    struct side_lane lane[SIDES_IN_FLIGHT];
    double rate[SIDES_ROUNDS_MAX];
    double pairs;
    double own_seconds;    /* of processor time, of this process … */
    double server_seconds; /* … and of the server */
    uint64_t errors;
};

void side_set_raw(struct side *side, const struct sides_raw *raw, int n,
                  bool is_in_flight);
void side_end_raw(struct side *side);
void side_set_library(struct side *side, hf_client *client, int n,
                      bool is_in_flight);

/* Where it happens, and what figures are called. */
struct sides {
    const struct bench *b;
    const char *label; /* "mysql flush=1" */
    struct sides_raw raw;
    /* Of each side after a bout; may be NULL. */
    void (*after)(const struct sides *s, struct side *side);
};

int sides_rounds(const struct sides *s, int full);
void sides_take_turns(const struct sides *s, struct side *side[], int n_sides,
                      int rounds);
/* The side's rates, library / raw; the latter should reach the target if that
 * is not 0. Two of the library's are compared in the same way. */
void sides_compare(const struct sides *s, struct side *raw,
                   struct side *library, int full_rounds, double target);

struct sides_bout {
    int n;
    int n_raw; /* threads of the raw side; 0: it is as the library's */
    bool is_in_flight;
    int rounds;
    double target;
};
/* One after the other, with one client of the library for all. */
void sides_own_names(const struct sides *s, const struct sides_bout bouts[],
                     size_t n);

struct report_figure sides_figure(const struct sides *s,
                                  const struct side *side, const char *what,
                                  double value);
void sides_report_rate(const struct sides *s, const struct side *side,
                       int rounds);

#endif
