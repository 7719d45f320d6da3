/* SPDX-License-Identifier: MIT */
/*
 * What ZooKeeper's codes mean to a caller. Thread: any.
 */
#ifndef HF_BACKEND_ZOOKEEPER_ERRORS_H
#define HF_BACKEND_ZOOKEEPER_ERRORS_H

#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/node.h"

/* Is it unknown whether the request was applied: does the rc stand for no
 * answer, or for one that there was no memory for? */
bool hf__zk_is_unknown(int rc);

/* Does the rc, of a write, show that the leader has seen the write, and so that
 * the session lives? */
bool hf__zk_shows_life(int rc);

/* Does the rc say that memory was short on our side, or may have been? */
bool hf__zk_is_short(int rc);

/* The path for people to see: the token in a child's name, which is its
 * holder's secret, is left out. Returns `to`. */
const char *hf__zk_path_show(const char *path, char to[HF__ZK_PATH_MAX]);
/* The status of an rc that is not ZOK. err's text names the server and the
 * path, without a token, and says what helps. An unanswered request is
 * HF_EUNKNOWN if it was sent and `changes` something, else HF_EUNAVAIL. */
int hf__zk_fail(struct hf__zk_ref *, const struct hf__zk_answer *,
                const char *path, bool changes, hf_error *);
/* HF_EUNAVAIL: nothing was sent, for the session is not connected. */
int hf__zk_fail_away(struct hf__zk_ref *, hf_error *);

#endif
