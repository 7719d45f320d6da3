/* SPDX-License-Identifier: MIT */
/*
 * Plays of scene.c: asynchronous calls, and the loop that hears of them.
 */
#ifndef HF_TESTS_TORTURE_ASYNC_H
#define HF_TESTS_TORTURE_ASYNC_H

#include "tests/torture/scene.h"

int scene_acquire_async(struct scene *);
int scene_start_async(struct scene *);
int scene_close_async(struct scene *);
int scene_release_async(struct scene *);
int scene_fd(struct scene *);

#endif
