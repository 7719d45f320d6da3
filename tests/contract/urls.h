/* SPDX-License-Identifier: MIT */
/*
 * Where the tests of a scheme find a store of their own. The only place in
 * the contract suite that knows what a scheme's URL looks like.
 */
#ifndef HF_TESTS_CONTRACT_URLS_H
#define HF_TESTS_CONTRACT_URLS_H

#include "src/base/url.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the URL of this test's store: the same one at each call and in each
 * process of the test, empty when the test begins. The store is named by its
 * scheme, or, where options make another store of it, SCHEME:KIND; then they
 * are in the URL. fault+X is that of X. 0, or −1 for one that the tests do not
 * know. */
int hf__store_url(const char *store, char *url, size_t size);
/* The scheme of such a name. */
void hf__store_scheme(const char *store, char *scheme, size_t size);
/* What such a name says by itself: a URL with its options and nothing else … */
struct hf__url hf__store_kind(const char *store, const char *scheme);
/* … whether other processes can have that store … */
bool hf__store_has_place(const char *store);
/* Is who waits told when a name is free? Else it looks now and then, and
 * whoever hands over within a process is before it. */
bool hf__store_wakes(const char *store);
/* Is a grant over as soon as its session is closed, rather than by its lease,
 * which ends one that is merely silent? */
bool hf__store_ends_at_once(const char *store);
/* Does to break a grant end others of its session with it? */
bool hf__store_breaks_more(const char *store);
/* What an attempt left, or a release, is that known to all servers that may
 * answer the next operation only some time after it was answered? */
bool hf__store_settles_late(const char *store);
/* … and X of fault+X. */
const char *hf__store_plain(const char *store);

#endif
