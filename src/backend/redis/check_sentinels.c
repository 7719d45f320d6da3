/* SPDX-License-Identifier: MIT */
/*
 * check() of Sentinels: what each of them says, and whether so many answer that
 * a failover would be noticed. Called by the session's thread.
 */
#include "src/backend/redis/check.h"
#include "src/backend/redis/sentinel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of one. A Sentinel hears of a failover from the others, in two seconds. */
static void check_one(struct hf__checking *c, const struct hf__peer *p)
{
    const struct hf__sentinels *a = c->s->sentinels;
    const struct hf__sentinel_said *said = &p->said;
    bool is_newest = a->best != NULL && said->epoch == a->best->epoch;
    char value[400];

    if (p->state != HF__PEER_READY) {
        hf__report_tell(&c->to, p->target.shown,
                        p->state == HF__PEER_DEAD
                            ? p->err.text
                            : "it does not answer in time",
                        HF_WARN,
                        "start it, or name another: without a majority of "
                        "them nobody can connect");
        return;
    }
    (void)snprintf(value, sizeof value,
                   "primary %s:%d, config-epoch %" PRId64
                   ", quorum %d, %d other Sentinels%s",
                   said->host, said->port, said->epoch, said->quorum,
                   said->others, said->is_down ? ", held for down" : "");
    hf__report_tell(&c->to, p->target.shown, value,
                    is_newest && !said->is_down ? HF_FINE : HF_WARN,
                    "it knows less than the others, or no primary: wait a "
                    "moment, and see its log");
}

void hf__check_sentinels(struct hf__checking *c)
{
    struct hf__sentinels *a = c->s->sentinels;
    hf_error why = HF_ERROR_INIT;
    hf__time now = hf__now();
    char value[400];
    int r;

    if (a == NULL) {
        return;
    }
    r = hf__sentinel_ask(
        c->s, hf__after_ns(now, hf__between_ns(now, c->deadline) / 2), &why);
    for (int i = 0; i < a->n; i++) {
        check_one(c, &a->peers[i]);
    }
    (void)snprintf(value, sizeof value, "%d of %d answer for \"%s\", %d must",
                   a->answered, a->known, a->service, a->known / 2 + 1);
    hf__report_tell(&c->to, "sentinels", r == HF_OK ? value : why.text,
                    r != HF_OK                               ? HF_UNFIT
                    : a->known < 3 || a->answered < a->known ? HF_WARN
                                                             : HF_FINE,
                    r != HF_OK ? "see what each of them says"
                               : "have three of them answer, each on a machine "
                                 "of its own, so that one can be without");
    hf__sentinel_hang_up(c->s);
}
