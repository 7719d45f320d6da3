/* SPDX-License-Identifier: MIT */
/*
 * A node of a Galera cluster, as a session begins with it. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_MYSQL_GALERA_H
#define HF_BACKEND_MYSQL_GALERA_H

#include "src/base/url.h"

struct hf__mysql;
struct hf__report;

/* A session that has its settings, at one of the URL's hosts: is the node fit,
 * and of the same cluster as those before? Then what it reads from now on is
 * what all of them have written. HF_EUNAVAIL: another may be. */
HF_MUST_CHECK int hf__galera_ready(struct hf__mysql *s,
                                   const struct hf__url *url,
                                   const char *allow);

/* What check() says of it; "off" where it is none. */
HF_MUST_CHECK int hf__galera_check(struct hf__mysql *s, struct hf__report *to);

/* As long as a statement may be under way in the cluster when its node, or the
 * way to it, is gone: until the others are agreed on who is left (15 s, the
 * provider's evs.inactive_timeout), and then some. */
#define HF__GALERA_STALE_MS 30000

#endif
