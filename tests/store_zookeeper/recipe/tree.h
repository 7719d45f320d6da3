/* SPDX-License-Identifier: MIT */
/*
 * What these tests share: the words of the contract, the tree that the store
 * makes of it, and a party behind a proxy that fails when it is told.
 */
#ifndef HF_TESTS_STORE_ZOOKEEPER_RECIPE_TREE_H
#define HF_TESTS_STORE_ZOOKEEPER_RECIPE_TREE_H

#include "tests/contract/vocabulary.h"
#include "tests/contract/vocabulary_crowd.h"
#include "tests/servers/proxy.h"
#include "tests/servers/zookeeper_client.h"

/* The name's folder; till the fourth call after. */
const char *folder_of(const char *name);
/* How many children it has; 0 if it is not there. */
int children_of(const char *name);
/* The path of the child of that letter, x, s, n or k, that has the token of the
 * party's claim; till the fourth call after. Fails the test if there is none.
 */
const char *node_of(struct party *, const char *name, char letter);
/* Waits for so many, for some seconds at most. */
void await_children(const char *name, int n);

/* For how many more watches its session has room. */
size_t spare_watches(struct party *);
/* Lets it wait for a moment, once it surely watches the name. */
void begin_to_watch(struct waiting *, struct party *, const char *name);
/* Waits, for some seconds at most; fails the test unless it was woken. */
void wait_until_woken(struct waiting *);
/* Waits for so long; fails the test if it was woken. */
void wait_in_vain(struct waiting *, int64_t ms);

#define AUTO_PROXY HF_AUTO(end_proxy) struct hf__proxy
void end_proxy(struct hf__proxy **);
struct hf__proxy *proxy_to_store(void);
/* The connection is reset instead of the next reply to such a request. */
void lose_reply_to(struct hf__proxy *, const char *request);
/* A party whose session goes through the proxy; options "a=b" or "". */
#define PARTY_AT(who, proxy, options)                                          \
    HF_AUTO(leave) struct party who = {0};                                     \
    join_at(&who, #who, proxy, options)
/* The same, with a proxy of its own, which is a child of this process: before
 * there is another party. */
#define PARTY_BEHIND(who, proxy, options)                                      \
    AUTO_PROXY *proxy = proxy_to_store();                                      \
    PARTY_AT(who, proxy, options)
void join_at(struct party *, const char *label, struct hf__proxy *,
             const char *options);

#endif
