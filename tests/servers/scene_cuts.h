/* SPDX-License-Identifier: MIT */
/*
 * Where a proxy cuts and silences, and what must be seen then, whatever server
 * it is before: the tests of scene_cuts.c and scene_pipeline.c, in the words
 * of the program that links them, which has these functions.
 */
#ifndef HF_TESTS_SERVERS_SCENE_CUTS_H
#define HF_TESTS_SERVERS_SCENE_CUTS_H

#include "tests/servers/proxy.h"

/* ---- scene_cuts.c */

/* A rule for the second of three statements: how many of them are done, and
 * which one shows the client that it was cut off. */
void scene_cut_second(enum hf__proxy_what, enum hf__proxy_where,
                      enum hf__proxy_action, int done, int shown_by);
/* Silent at that place, then healed: a statement goes on as if nothing were.
 * How many are done meanwhile. */
void scene_silence(enum hf__proxy_what, enum hf__proxy_where, int meanwhile);

/* ---- scene_pipeline.c */

/* Of five statements at once, cut at the third: how many are done, and how
 * many replies the client gets. */
void scene_cut_pipeline(enum hf__proxy_what, enum hf__proxy_where, int done,
                        int told);

#endif
