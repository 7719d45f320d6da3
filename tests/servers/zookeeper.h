/* SPDX-License-Identifier: MIT */
/*
 * A private ZooKeeper for tests, alone or an ensemble: folders and ports of
 * its own, ticks of 100 ms, so that a session may be as short as 200 ms, and
 * an administrator whom no ACL of a test keeps out. What can't be done fails
 * the test. In a run of tests one that is done with goes to the next who wants
 * such a one, and has no session and no node then; else a server and its folder
 * never outlive the process that started it.
 *
 *     struct hf__zookeeper *s = hf__zookeeper_start(NULL);
 *
 *     hf__zookeeper_url(s, "/chroot", url, sizeof url);
 *     …
 *     hf__zookeeper_free(s);
 *
 * What a test sees and damages in a store is in zookeeper_client.h.
 */
#ifndef HF_TESTS_SERVERS_ZOOKEEPER_H
#define HF_TESTS_SERVERS_ZOOKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hf__zookeeper;

struct hf__zookeeper_opts {
    const char *const *extra; /* lines of zoo.cfg; NULL-ended; or NULL */
    const char *const *java;  /* options of the JVM: "-DNAME=VALUE", the same */
    bool on_disk; /* the folder, and each write is flushed before its reply;
                   * else in memory, if there is room */
    bool is_for_speed; /* for a bench: more memory, and code that is compiled
                        * well, which takes longer to be quick */
    bool is_divisible; /* the members of an ensemble, from each other */
    bool is_fresh;     /* nobody had it before, and nobody has it after */
};

enum { HF__ZOOKEEPER_URL = 320, HF__ZOOKEEPER_TICK_MS = 100 };

bool hf__zookeeper_is_installed(void);
/* Ends the test where ZooKeeper is not installed: skipped; failed in CI. */
void hf__zookeeper_need(void);

/* Starts one and waits until it serves. Without opts: all of them unset.
 * Calls hf__zookeeper_need(). Not to be called beside threads of the test. */
struct hf__zookeeper *hf__zookeeper_start(const struct hf__zookeeper_opts *);
/* Leaves it to others, if it serves still and there may be any; else kills it,
 * if it runs, and removes its folder. NULL is fine. */
void hf__zookeeper_free(struct hf__zookeeper *);

/* For the process that started it: */
/* As a service manager stops it; what was written stays, as always. Returns
 * when it has ended. */
void hf__zookeeper_stop(struct hf__zookeeper *);
/* By SIGKILL. Returns when it has ended. */
void hf__zookeeper_kill(struct hf__zookeeper *);
/* After stop or kill: on the same ports, with its data; other lines of zoo.cfg
 * if not NULL. Waits until it serves, for which a member of an ensemble needs
 * enough others. */
void hf__zookeeper_restart(struct hf__zookeeper *, const char *const *extra);
/* The same in two halves. */
void hf__zookeeper_launch(struct hf__zookeeper *, const char *const *extra);
void hf__zookeeper_await(struct hf__zookeeper *);
/* SIGSTOP and SIGCONT. */
void hf__zookeeper_pause(struct hf__zookeeper *);
void hf__zookeeper_resume(struct hf__zookeeper *);
/* Has it ended by itself? */
bool hf__zookeeper_has_ended(struct hf__zookeeper *);

/* For any process and thread: */
int hf__zookeeper_port(const struct hf__zookeeper *);
pid_t hf__zookeeper_pid(const struct hf__zookeeper *);
/* zookeeper://127.0.0.1:PORT/CHROOT; the chroot begins with "/", or is "".
 * What comes after HF__ZOOKEEPER_SCHEME, libzookeeper takes. */
#define HF__ZOOKEEPER_SCHEME "zookeeper://"
void hf__zookeeper_url(const struct hf__zookeeper *, const char *chroot,
                       char *url, size_t size);

/* ---- an ensemble */

enum { HF__ZOOKEEPER_ENSEMBLE = 3, HF__ZOOKEEPER_MEMBERS = 7 };
struct hf__zookeeper_ensemble;

/* So many, started side by side, all of which serve; 0: three. */
struct hf__zookeeper_ensemble *
hf__zookeeper_ensemble_start(int n, const struct hf__zookeeper_opts *);
void hf__zookeeper_ensemble_free(struct hf__zookeeper_ensemble *);
/* By number, from 0. */
struct hf__zookeeper *
hf__zookeeper_member(const struct hf__zookeeper_ensemble *, int);
/* The number of who leads and is not paused; −1: nobody does now. */
int hf__zookeeper_leader(const struct hf__zookeeper_ensemble *);
/* Waits until somebody leads, who is not `other` (−1: anybody). */
int hf__zookeeper_await_leader(const struct hf__zookeeper_ensemble *,
                               int other);
/* If it is divisible: nothing passes between the two any more, whoever of them
 * leads, and neither is told; they hear still that the other votes. A follower
 * that is cut off so answers for a while (syncLimit) what it knew. Until all
 * are united; what was held back comes then. By who started them. */
void hf__zookeeper_divide(struct hf__zookeeper_ensemble *, int, int);
void hf__zookeeper_unite(struct hf__zookeeper_ensemble *);
/* zookeeper://127.0.0.1:PORT,…/CHROOT */
void hf__zookeeper_ensemble_url(const struct hf__zookeeper_ensemble *,
                                const char *chroot, char *url, size_t size);

/* ---- one server for all tests of a program */

/* To be called before the first test; starts it, and it ends with the program.
 * Does nothing where ZooKeeper is not installed. It is not for a test that
 * stops or pauses it. */
void hf__zookeeper_share(void);
/* What was started. Ends the test where ZooKeeper is not installed. */
const struct hf__zookeeper *hf__zookeeper_shared(void);
/* In a test: the path of a node of this test on the shared server, the same in
 * each of its processes; it is there, and has no child when the test begins.
 * Those of other tests are gone then. */
const char *hf__zookeeper_test_chroot(void);
/* The URL with that as chroot. */
void hf__zookeeper_test_url(char *url, size_t size);

#endif
