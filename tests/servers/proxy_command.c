/* SPDX-License-Identifier: MIT */
/*
 * What each command of the test changes in the proxy. How it is in force from
 * then on, the connections know. Called in the proxy's process.
 */
#include "tests/servers/proxy_private.h"

#include <unistd.h>

static bool arm(struct hf__relay *relay, const struct hf__proxy_rule *rule)
{
    for (int i = 0; i < HF__PROXY_RULES; i++) {
        if (!relay->rules[i].is_armed) {
            relay->rules[i] = (struct hf__subscriptions){*rule, 0, true};
            return true;
        }
    }
    return false;
}

void hf__relay_cut(struct hf__relay *relay, enum hf__proxy_action action)
{
    for (struct hf__passage *l = relay->passages; l; l = l->next) {
        hf__passage_cut(l, action);
    }
}

static bool heal(struct hf__relay *relay)
{
    for (int i = 0; i < HF__PROXY_RULES; i++) {
        relay->rules[i].is_armed = false;
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        relay->holds[i] = false;
        relay->delay_ms[i] = 0;
    }
    for (struct hf__passage *l = relay->passages; l; l = l->next) {
        hf__passage_heal(l);
    }
    relay->accepts_silently = false;
    if (relay->listener < 0) {
        relay->listener = hf__relay_listen(relay->port);
    }
    return relay->listener >= 0;
}

static void refuse(struct hf__relay *relay)
{
    if (relay->listener >= 0) {
        close(relay->listener);
        relay->listener = -1;
    }
}

bool hf__relay_obey(struct hf__relay *relay, const struct hf__proxy_command *c)
{
    switch (c->order) {
    case HF__ORDER_RULE:
        return arm(relay, &c->rule);
    case HF__ORDER_CUT:
        hf__relay_cut(relay, c->rule.action);
        break;
    case HF__ORDER_HOLD:
        relay->holds[c->way] = true;
        break;
    case HF__ORDER_DELAY:
        relay->delay_ms[c->way] = c->ms;
        break;
    case HF__ORDER_ACCEPT_SILENTLY:
        relay->accepts_silently = true;
        break;
    case HF__ORDER_REFUSE:
        refuse(relay);
        break;
    case HF__ORDER_HEAL:
        return heal(relay);
    case HF__ORDER_COUNT:
        break;
    }
    return true;
}
