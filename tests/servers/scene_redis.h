/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the proxy before Redis have in common: the shared Redis, a
 * proxy before it, and a counter k in the database of the test.
 */
#ifndef HF_TESTS_SERVERS_SCENE_REDIS_H
#define HF_TESTS_SERVERS_SCENE_REDIS_H

#include "tests/servers/proxy.h"

#include <hiredis.h>

struct hf__proxy *scene_proxy(void);
/* Through the proxy, in database 0: nothing was said yet. */
redisContext *scene_dial(const struct hf__proxy *);
/* In the database of the test: SELECT was said. */
redisContext *scene_dial_own(const struct hf__proxy *);
/* The type of the reply; 0: the connection is lost. */
int scene_say(redisContext *, const char *command);
/* The same of the next reply in a pipeline. */
int scene_next(redisContext *);
/* As the administrator sees it. */
int scene_counter(void);
/* Waits until it is that. */
bool scene_wait_counter(int value);

#endif
