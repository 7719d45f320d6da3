/* SPDX-License-Identifier: MIT */
/*
 * A four-letter word to the server that a front is connected to, on a
 * connection of its own: what it tells of itself in no other way. Thread: the
 * front's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_WORD_H
#define HF_BACKEND_ZOOKEEPER_WORD_H

#include "src/backend/zookeeper/link.h"

/* The answer, cut at size; "" if there is none in time, or the server does not
 * listen to that word. */
void hf__zk_word(struct hf__zk_front *f, const char *word, char *to,
                 size_t size, hf__time deadline);

#endif
