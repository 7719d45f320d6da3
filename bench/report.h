/* SPDX-License-Identifier: MIT */
/*
 * The figures: collected as they are measured, printed as a table at once
 * and, if asked for, written as JSON in the end. Thread: main.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench/measure.h"

#include <stdio.h>

enum report_goal { REPORT_NO_GOAL, REPORT_AT_LEAST, REPORT_BELOW };

struct report_figure {
    char name[80];
    char unit[16];
    double value;
    enum report_goal goal;
    double target;
};

/* Where and on what it runs, before the first figure. */
void report_machine(const struct bench *b);
/* A line of the table; the unit may be "". */
void report_add(const struct report_figure *figure);
/* The sum: how many goals were met. */
void report_end(void);
void report_json(FILE *out);

#endif
