/* SPDX-License-Identifier: MIT */
/*
 * What a redlock: URL says: which members, and what is given up. This file
 * decides what is refused before anybody is asked; what one server's part of
 * the URL means is redis/place.c's. Called by the session's thread when it
 * opens.
 */
#include "src/backend/redlock/redlock.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/files.h"

#include <stdio.h>
#include <string.h>

/* A majority of fewer is all of them: none could fail. */
#define MEMBERS_MIN 3

#define LONGEST_MS     30000
#define LONGEST_MIN_MS 1000
#define LONGEST_MAX_MS 86400000

const char *const hf__redlock_options[] = {
    "tls", "ca", "cert", "key", "password_file", "longest_lease", NULL};

static int check_number(const struct hf__redlock *s, hf_error *err)
{
    if (s->n >= MEMBERS_MIN ||
        (s->n > 0 && hf__is_allowed(s->allow, "few-members"))) {
        return HF_OK;
    }
    return s->n == 0
               ? hf__fail(err, HF_EINVAL,
                          "url: it names no server: redlock://a,b,c/0")
               : hf__fail(err, HF_EUNSAFE,
                          "%d member%s: a majority needs three at least, five "
                          "to be without two; name them, use redis:, or say "
                          "allow=few-members",
                          s->n, s->n == 1 ? "" : "s");
}

/* Of two names of one server the run_id tells; of one name, this. */
static int check_names(const struct hf__redlock *s, hf_error *err)
{
    for (int i = 0; i < s->n; i++) {
        const struct hf__target *a = &s->members[i].target;

        for (int j = 0; j < i; j++) {
            const struct hf__target *b = &s->members[j].target;

            if (a->port == b->port && strcasecmp(a->host, b->host) == 0) {
                return hf__fail(err, HF_EINVAL,
                                "url: it names %s:%d twice; a server has one "
                                "vote",
                                a->host, a->port);
            }
        }
    }
    return HF_OK;
}

static int read_targets(struct hf__redlock *s, hf_error *err)
{
    const char *prefix = hf__url_option(s->url, "prefix");
    int r = HF_OK;

    (void)snprintf(s->mark_key, sizeof s->mark_key, "%s;member",
                   prefix == NULL ? "holdfast" : prefix);
    s->n = (int)s->url->n_hosts;
    for (int i = 0; i < s->n; i++) {
        hf__peer_init(&s->members[i].peer);
        s->members[i].twin = -1;
        s->members[i].is_over = true; /* and to be tried at once */
    }
    for (int i = 0; i < s->n && r == HF_OK; i++) {
        r = hf__redis_target(s->url, (size_t)i, &s->members[i].target, err);
        s->members[i].target.mark_key = s->mark_key;
    }
    return r;
}

int hf__redlock_place(struct hf__redlock *s, const struct hf__url *url,
                      const char *allow, hf_error *err)
{
    size_t length = strlen(allow);
    int r = hf__url_copy(url, &s->url);

    s->allow = hf__alloc(length + 1);
    if (r != HF_OK || s->allow == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    memcpy(s->allow, allow, length);
    s->allows_volatile = hf__is_allowed(allow, "volatile");
    s->longest_ms = LONGEST_MS;
    s->margin_us = HF__MARGIN_US;
    r = read_targets(s, err);
    r = r == HF_OK ? check_number(s, err) : r;
    r = r == HF_OK ? check_names(s, err) : r;
    return r == HF_OK
               ? hf__url_duration(s->url, "longest_lease", LONGEST_MIN_MS,
                                  LONGEST_MAX_MS, &s->longest_ms, err)
               : r;
}
