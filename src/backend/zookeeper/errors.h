/* SPDX-License-Identifier: MIT */
/*
 * What a code of ZooKeeper's means to a caller. Thread: any.
 */
#ifndef HF_BACKEND_ZOOKEEPER_ERRORS_H
#define HF_BACKEND_ZOOKEEPER_ERRORS_H

#include "src/backend/zookeeper/call.h"
#include "src/backend/zookeeper/node.h"

/* Is the rc no answer, or one that there was no memory for: the request may
 * have been applied, or not? */
bool hf__zk_is_unknown(int rc);

/* Is it the answer to a write that went through the leader? */
bool hf__zk_shows_life(int rc);

/* Is the rc that memory was short, on our side, or may have been? */
bool hf__zk_is_short(int rc);

/* A path as people may see it: of a child of ours without its token, which is
 * its holder's secret. Returns `to`. */
const char *hf__zk_path_show(const char *path, char to[HF__ZK_PATH_MAX]);
/* The status of a rc that is not ZOK, with a text that names the server and
 * the path, without a token, and says what helps. An unanswered request is
 * HF_EUNKNOWN if it was sent and `changes` something, else HF_EUNAVAIL. */
int hf__zk_fail(struct hf__zk_ref *, const struct hf__zk_answer *,
                const char *path, bool changes, hf_error *);
/* HF_EUNAVAIL: nothing was sent, for it is not connected. */
int hf__zk_fail_away(struct hf__zk_ref *, hf_error *);

#endif
