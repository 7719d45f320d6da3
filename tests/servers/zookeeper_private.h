/* SPDX-License-Identifier: MIT */
/*
 * What the files of the ZooKeeper fixture share, and nobody else sees: the
 * struct, and what lies in its folder.
 */
#ifndef HF_TESTS_SERVERS_ZOOKEEPER_PRIVATE_H
#define HF_TESTS_SERVERS_ZOOKEEPER_PRIVATE_H

#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"

#define HF__ZOOKEEPER_JAR "/usr/share/java/zookeeper.jar"

enum { HF__ZOOKEEPER_EXTRA = 16, HF__ZOOKEEPER_ROOM = 320 };

struct hf__zookeeper {
    struct hf__warden *warden;
    char folder[HF__SERVERS_PATH];
    char extra[HF__ZOOKEEPER_EXTRA + 1]
              [HF__SERVERS_LINE]; /* ended by an empty one */
    char java[HF__ZOOKEEPER_EXTRA + 1][HF__SERVERS_LINE]; /* the same */
    char members[1024]; /* lines of zoo.cfg; "": it stands alone */
    int number;         /* among them, from 1 */
    bool on_disk;
    bool is_for_speed;
    bool is_fresh;
    bool is_paused; /* by who started it */
    int port;
    int quorum_port; /* of those who lead or follow */
    int election_port;
    pid_t pid;
};

/* zookeeper.c: what the options say; then a folder and ports besides, but no
 * process yet. */
struct hf__zookeeper hf__zookeeper_wish(const struct hf__zookeeper_opts *);
struct hf__zookeeper *hf__zookeeper_new(const struct hf__zookeeper_opts *);
/* Until it serves. False: it ended instead. */
bool hf__zookeeper_wait(struct hf__zookeeper *);

/* zookeeper_session.c: "standalone", "leader", "follower"; "": it does not
 * serve, or not at once. */
const char *hf__zookeeper_mode(const struct hf__zookeeper *);

/* zookeeper_pool.c: so many that are one store, or one alone, as somebody has
 * left them and with nothing in them. False: there are none. */
bool hf__zookeeper_take(const struct hf__zookeeper_opts *, int n,
                        struct hf__zookeeper **members);
/* Leaves them to others, or ends them. */
void hf__zookeeper_give(int n, struct hf__zookeeper **members);

/* zookeeper_folder.c: what a server finds, and how it is called. */
enum { HF__ZOOKEEPER_ARGS = 40 };
void hf__zookeeper_write_config(const struct hf__zookeeper *);
/* Starts the JVM in the warden of s. An archive is made if that names one;
 * else the one that was made once is used, if there is one. */
void hf__zookeeper_exec(struct hf__zookeeper *, const char *new_archive);
/* Makes that archive, of a server that starts and stops, once for all. */
void hf__zookeeper_prepare(void);

#endif
