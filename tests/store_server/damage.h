/* SPDX-License-Identifier: MIT */
/*
 * The words of the tests in which somebody damages what is stored, each store
 * in its own way.
 */
#ifndef HF_TESTS_STORE_SERVER_DAMAGE_H
#define HF_TESTS_STORE_SERVER_DAMAGE_H

#include "tests/store_server/server.h"

/* It takes the record of "job" away. Who holds that is told before its lease
 * would have ended, and no fence falls. */
void lose_by(void (*damage)(void));

#endif
