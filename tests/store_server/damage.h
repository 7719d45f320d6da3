/* SPDX-License-Identifier: MIT */
/*
 * The words of the tests in which somebody damages what is stored, or ends
 * sessions, each store in its own way.
 */
#ifndef HF_TESTS_STORE_SERVER_DAMAGE_H
#define HF_TESTS_STORE_SERVER_DAMAGE_H

#include "tests/store_server/server.h"

/* It takes the record of "job" away. Who holds that is told before its lease
 * would have ended, and no fence falls. */
void lose_by(void (*damage)(void));
/* The same, and what somebody else takes meanwhile counts: who held it does not
 * get it back. */
void replace_after(void (*damage)(void));

/* All sessions that do nothing now are ended by it, again and again: the holder
 * hears of no error that costs it the lock. */
void outlive_ends_of(void (*sessions)(void));

#endif
