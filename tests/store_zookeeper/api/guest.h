/* SPDX-License-Identifier: MIT */
/*
 * Clients of servers that a test has for itself, and of the tree that all
 * share; the rest are the words of tests/contract/api.h.
 */
#ifndef HF_TESTS_STORE_ZOOKEEPER_API_GUEST_H
#define HF_TESTS_STORE_ZOOKEEPER_API_GUEST_H

#include "tests/contract/api.h"
#include "tests/servers/proxy.h"
#include "tests/servers/zookeeper_client.h"

#define AUTO_SERVER __attribute__((cleanup(end_server))) struct hf__zookeeper
void end_server(struct hf__zookeeper **);
#define AUTO_PROXY __attribute__((cleanup(end_proxy))) struct hf__proxy
void end_proxy(struct hf__proxy **);

/* At that port of 127.0.0.1; "[WHO@]" or "", "/chroot?a=b". Fails the test if
 * it can't be opened. */
hf_client *open_at(int port, const char *who, const char *rest);
/* The same status and text, of what is to be refused. */
int status_at(int port, const char *who, const char *rest, hf_error *err);
/* In the test's own chroot on the shared server; "recipe=simple" or "". */
hf_client *open_shared(const char *options);
/* The same through a proxy to that server, by that recipe. */
hf_client *open_through(struct hf__proxy *, const char *recipe);
/* Acquires it, and gives it back at once. */
void take_and_give(hf_client *client, const char *name);
/* A child of that chroot's folder of names, till the fourth call after. */
const char *path_of(const char *name);

#endif
