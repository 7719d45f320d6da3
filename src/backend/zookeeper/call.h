/* SPDX-License-Identifier: MIT */
/*
 * Requests to ZooKeeper: several are sent in one go, which is one round trip,
 * and are then awaited together. The server applies the requests of one session
 * in the order in which they were sent.
 *
 * The library answers on a thread of its own, at any time. So what it writes to
 * is counted, and lives until the last answer has come, whether somebody still
 * waits or not. No call blocks inside the library.
 *
 * Thread: the reference's, one at a time.
 */
#ifndef HF_BACKEND_ZOOKEEPER_CALL_H
#define HF_BACKEND_ZOOKEEPER_CALL_H

#include "src/backend/zookeeper/session.h"
#include "src/backend/zookeeper/watch.h"

/* The rc of a request that is not answered yet; no code of ZooKeeper's. */
#define HF__ZK_PENDING 1
/* The rc of a request that was joined to others and not applied, for one of
 * them failed, or memory was short; no code of ZooKeeper's. */
#define HF__ZK_UNDONE 2
/* The rc of an answer that there was no memory for; no code of ZooKeeper's. */
#define HF__ZK_NO_MEMORY 3

/* The names of children; each ends with a NUL. */
struct hf__zk_names {
    char **list;
    int n;
};

struct hf__zk_answer {
    int rc;           /* ZOK, ZNONODE, …, or HF__ZK_PENDING */
    bool was_sent;    /* a change may have been applied, unless rc tells:
                         hf__zk_is_unknown() */
    int part;         /* of a pair or guarded change: rc's part, from 0 */
    struct Stat stat; /* create, exists, get, set, children: ZOK */
    char *text; /* create: the path as the server has it; get: the data, with a
                   NUL behind it; only with ZOK, else NULL */
    int length; /* of text, without the NUL */
    struct hf__zk_names names; /* children: ZOK */
};

struct hf__zk_calls;

/* Room for n requests and their answers. NULL: out of memory. */
HF_MUST_CHECK struct hf__zk_calls *hf__zk_calls_new(struct hf__zk_ref *, int n);
/* The caller no longer wants the answers; takes NULL. Call it before the
 * reference is closed. */
void hf__zk_calls_drop(struct hf__zk_calls *);
static inline void hf__zk_calls_drop_auto(struct hf__zk_calls **calls)
{
    hf__zk_calls_drop(*calls);
}

/*
 * Send request i, which was not sent before. A request that can't be sent is
 * answered at once: with HF__ZK_NO_MEMORY or, by the library, ZSYSTEMERROR if
 * memory was short, ZINVALIDSTATE if the session is over; then was_sent is
 * false. Paths are whole, chroot included; paths and data are copied. `mode` is
 * ZOO_PERSISTENT, ZOO_EPHEMERAL, ZOO_EPHEMERAL_SEQUENTIAL, …; the node's ACL
 * follows from the session's user (hf__zk_target). version −1: any. Only the
 * answer ZOK sets a watch (for exists also ZNONODE), and only if there is room
 * for it (watch.h). children sets it on the list, the others on the node. The
 * watch must not be set, or on its way, already.
 */
void hf__zk_create(struct hf__zk_calls *, int i, const char *path,
                   const char *data, int length, int mode);
void hf__zk_delete(struct hf__zk_calls *, int i, const char *path, int version);
/* A pair: two ephemeral nodes are made, or deleted, together, or neither is;
 * when they are made, both get the same zxid. The data is that of the first;
 * the second has none. */
void hf__zk_create_pair(struct hf__zk_calls *, int i,
                        const char *const paths[2], const char *data,
                        int length);
void hf__zk_delete_pair(struct hf__zk_calls *, int i,
                        const char *const paths[2]);
/*
 * A change that is made only if the folder still has the version
 * folder_version, so was not written to since. Part 0 is about the folder. The
 * change makes a node, or writes to it if it has `version`; either way the
 * answer's stat has the node's mzxid. Or it deletes the node, if it has
 * `version`, and writes to the folder.
 */
struct hf__zk_change {
    const char *folder;
    int folder_version;
    const char *path;
    bool is_new;      /* the node is to be made */
    int version;      /* of the node, if it is not new */
    const char *data; /* NULL: delete the node */
    int length;
};
enum { HF__ZK_TOGETHER = 3 };
void hf__zk_guarded(struct hf__zk_calls *, int i, const struct hf__zk_change *);
void hf__zk_children(struct hf__zk_calls *, int i, const char *path,
                     struct hf__zk_watch *);
void hf__zk_get(struct hf__zk_calls *, int i, const char *path,
                struct hf__zk_watch *);
void hf__zk_exists(struct hf__zk_calls *, int i, const char *path,
                   struct hf__zk_watch *);
void hf__zk_set(struct hf__zk_calls *, int i, const char *path,
                const char *data, int length, int version);
/* Later requests of this session see all changes that the leader had applied by
 * then. */
void hf__zk_sync(struct hf__zk_calls *, int i, const char *path);
/* The ensemble's configuration: text as of "get", empty if the server stands
 * alone. */
void hf__zk_config(struct hf__zk_calls *, int i);
/* Reads the node's ACL, for rc and stat. text is "open" if anybody may change
 * the node, else empty. */
void hf__zk_acl(struct hf__zk_calls *, int i, const char *path);
/*
 * Joined changes are sent as one transaction, which costs the server little
 * more than one change alone, and either all of them are applied or none. The
 * answers are those of create and delete, of the stat only the zxids; or
 * HF__ZK_UNDONE. Call hf__zk_join_send() before requests that are to see their
 * effect. False: there is no memory to join it, so send it alone.
 */
HF_MUST_CHECK bool hf__zk_join_create(struct hf__zk_calls *, int i,
                                      const char *path, const char *data,
                                      int length, int mode);
HF_MUST_CHECK bool hf__zk_join_delete(struct hf__zk_calls *, int i,
                                      const char *path);
void hf__zk_join_send(struct hf__zk_calls *);

/*
 * Sleep until all requests that were sent are answered. HF_OK; HF_BUSY: the
 * deadline or an interrupt came first, and some have the rc HF__ZK_PENDING;
 * negative: the session is over, some are pending, and err says why. May be
 * called again, also after more was sent.
 */
HF_MUST_CHECK int hf__zk_await(struct hf__zk_calls *, hf__time deadline,
                               hf_error *);
/* The answer to request i; never NULL, and valid until the calls are
 * dropped. */
const struct hf__zk_answer *hf__zk_answer(struct hf__zk_calls *, int i);

#endif
