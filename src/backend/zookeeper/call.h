/* SPDX-License-Identifier: MIT */
/*
 * Requests to ZooKeeper: several are sent in one go, which is one round trip
 * together, and then awaited together. The server applies those of one session
 * in the order in which they were sent.
 *
 * The library answers on a thread of its own, some time: so what it answers to
 * is counted, and lives until the last answer has come, whether anybody still
 * waits or not. Nobody waits inside the library.
 *
 * Thread: the reference's, one at a time.
 */
#ifndef HF_BACKEND_ZOOKEEPER_CALL_H
#define HF_BACKEND_ZOOKEEPER_CALL_H

#include "src/backend/zookeeper/session.h"
#include "src/backend/zookeeper/watch.h"

/* The rc of what is not answered yet; no code of ZooKeeper's. */
#define HF__ZK_PENDING 1
/* Nor that of what was joined to others, of which one can't be, or for which
 * there was no memory: none was applied. */
#define HF__ZK_UNDONE 2
/* Nor that of what was answered, and there was no memory for the answer. */
#define HF__ZK_NO_MEMORY 3

/* The names of children; each ends with a NUL. */
struct hf__zk_names {
    char **list;
    int n;
};

struct hf__zk_answer {
    int rc;           /* ZOK, ZNONODE, …, or HF__ZK_PENDING */
    bool was_sent;    /* it may have been applied, if it changes something and
                         rc does not tell: hf__zk_is_unknown() */
    int part;         /* of a pair or a guarded change: which of the two, or
                         three, rc is about, from 0 */
    struct Stat stat; /* create, exists, get, set, children: ZOK */
    char *text;       /* create: the path as the server has it; get: the data,
                         and a NUL behind it; ZOK, else NULL */
    int length;       /* of text, without the NUL */
    struct hf__zk_names names; /* children: ZOK */
};

struct hf__zk_calls;

/* Room for n answers. NULL: out of memory. */
HF_MUST_CHECK struct hf__zk_calls *hf__zk_calls_new(struct hf__zk_ref *, int n);
/* No more interest in the answers; takes NULL. Before the reference is
 * closed. */
void hf__zk_calls_drop(struct hf__zk_calls *);
static inline void hf__zk_calls_drop_auto(struct hf__zk_calls **calls)
{
    hf__zk_calls_drop(*calls);
}

/*
 * Send request i, which was not sent before. What can't be sent is answered at
 * once: with HF__ZK_NO_MEMORY or, by the library, ZSYSTEMERROR if memory was
 * short, ZINVALIDSTATE if the session is over; was_sent says that nothing left.
 * Paths are whole, chroot included, and they and the data are copied.
 * `mode` is ZOO_PERSISTENT, ZOO_EPHEMERAL, ZOO_EPHEMERAL_SEQUENTIAL, …; who may
 * use the node is the session's to say (hf__zk_target).
 * version −1: any. A watch is set by the answer ZOK (exists: by ZNONODE, too),
 * and by no other, and only if there is room for it (watch.h); children: on the
 * list, else on the node. It must not be set, or on its way, already.
 */
void hf__zk_create(struct hf__zk_calls *, int i, const char *path,
                   const char *data, int length, int mode);
void hf__zk_delete(struct hf__zk_calls *, int i, const char *path, int version);
/* A pair: two ephemeral nodes are made, or deleted, together, or neither is;
 * made, they have one zxid. The data is that of the first, the second has none.
 */
void hf__zk_create_pair(struct hf__zk_calls *, int i,
                        const char *const paths[2], const char *data,
                        int length);
void hf__zk_delete_pair(struct hf__zk_calls *, int i,
                        const char *const paths[2]);
/*
 * A change that is made only if the folder above was not written to since its
 * data had that version. Part 0 is about the folder. A node is made, or written
 * to if it has that version: the stat's mzxid. Or it is deleted, of that
 * version, and the folder written to.
 */
struct hf__zk_change {
    const char *folder;
    int folder_version;
    const char *path;
    bool is_new;      /* it is made; else */
    int version;      /* what it has */
    const char *data; /* NULL: it is deleted */
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
/* What follows on this session sees all that was applied before. */
void hf__zk_sync(struct hf__zk_calls *, int i, const char *path);
/* Who the members of the ensemble are: text as of "get", empty of a server
 * that stands alone. */
void hf__zk_config(struct hf__zk_calls *, int i);
/* Who may use the node; the answer's rc and stat. Tells in text "open" if
 * anybody may change it. */
void hf__zk_acl(struct hf__zk_calls *, int i, const char *path);
/*
 * Changes that are joined are sent as one, which costs the server little more
 * than each alone, and either all of them are applied or none. The answers are
 * those of create and delete; of the stat, only the zxids; or HF__ZK_UNDONE. To
 * be sent before what is to be seen after them. False: there is no memory to
 * join it, so it is to be sent alone.
 */
HF_MUST_CHECK bool hf__zk_join_create(struct hf__zk_calls *, int i,
                                      const char *path, const char *data,
                                      int length, int mode);
HF_MUST_CHECK bool hf__zk_join_delete(struct hf__zk_calls *, int i,
                                      const char *path);
void hf__zk_join_send(struct hf__zk_calls *);

/*
 * Sleep until all that was sent is answered. HF_OK; HF_BUSY: the deadline or an
 * interrupt came first, and some have the rc HF__ZK_PENDING; negative: the
 * session is over, some are pending, and err says why.
 * May be called again, also after more was sent.
 */
HF_MUST_CHECK int hf__zk_await(struct hf__zk_calls *, hf__time deadline,
                               hf_error *);
/* Of request i; never NULL, and valid until the calls are dropped. */
const struct hf__zk_answer *hf__zk_answer(struct hf__zk_calls *, int i);

#endif
