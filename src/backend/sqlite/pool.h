/* SPDX-License-Identifier: MIT */
/*
 * The idle connections of a process to one store. Each session brings one and
 * takes one away, but works with whichever was used last: that one's pages
 * are in its cache, while each commit through another empties it. A client's
 * claims come in one session and its releases in another, so without this
 * every transaction would read its pages anew. Sessions that work at the same
 * time have a connection each, so none ever waits for another.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_POOL_H
#define HF_BACKEND_SQLITE_POOL_H

#include "src/base/base.h"

struct hf__sqlite;

/* s->db becomes an idle connection, or stays what a failed call left. */
void hf__pool_take(struct hf__sqlite *s);
/* s->db is idle from now on. */
void hf__pool_give(struct hf__sqlite *s);

#endif
