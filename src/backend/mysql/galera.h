/* SPDX-License-Identifier: MIT */
/*
 * Checking that a session's server is a fit node of a Galera cluster. Thread:
 * the session's.
 */
#ifndef HF_BACKEND_MYSQL_GALERA_H
#define HF_BACKEND_MYSQL_GALERA_H

#include "src/base/url.h"

struct hf__mysql;
struct hf__report;

/* For a session that has its settings, at one of the URL's hosts: is the node
 * fit, and of the same cluster as the hosts before? If so, its reads see from
 * now on what all nodes have written. HF_EUNAVAIL: another node may be fit. */
HF_MUST_CHECK int hf__galera_ready(struct hf__mysql *s,
                                   const struct hf__url *url,
                                   const char *allow);

/* Report the node to check(); "off" if the server is none. */
HF_MUST_CHECK int hf__galera_check(struct hf__mysql *s, struct hf__report *to);

/* How long a statement may stay under way in the cluster when its node, or the
 * connection to it, is lost: until the others agree on who is left (15 s, the
 * provider's evs.inactive_timeout), plus a margin. */
#define HF__GALERA_STALE_MS 30000

#endif
