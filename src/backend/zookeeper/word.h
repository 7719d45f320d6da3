/* SPDX-License-Identifier: MIT */
/*
 * A four-letter word to the server that a front is connected to, on a
 * connection of its own: what it tells of itself in no other way. Thread: the
 * front's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_WORD_H
#define HF_BACKEND_ZOOKEEPER_WORD_H

#include "src/backend/zookeeper/link.h"

/* Asks "host:2181", by a name too, which may take to be looked up. True: it has
 * answered; the answer is cut at size, "" if it does not listen to that word.
 */
bool hf__zk_word(struct hf__zk_front *f, const char *server, const char *word,
                 char *to, size_t size, hf__time deadline);

#endif
