/* SPDX-License-Identifier: MIT */
/*
 * Where the tests of a scheme find a store of their own. The only place in
 * the contract suite that knows what a scheme's URL looks like.
 */
#ifndef HF_TESTS_CONTRACT_URLS_H
#define HF_TESTS_CONTRACT_URLS_H

#include <stddef.h>

/* Writes the URL of this test's store: the same one at each call and in each
 * process of the test, empty when the test begins. The store is named by its
 * scheme, or, where options make another store of it, SCHEME:KIND; then they
 * are in the URL. 0, or −1 for one that the tests do not know. */
int hf__store_url(const char *store, char *url, size_t size);

#endif
