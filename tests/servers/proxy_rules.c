/* SPDX-License-Identifier: MIT */
/*
 * Which message a rule hits: each armed rule counts the messages that it is
 * about, from the moment it was given. What a hit does, proxy_link.c knows.
 * Called in the proxy's process.
 */
#include "tests/servers/proxy_private.h"

#include <string.h>

/* The last statement stands for the message: it is one, or the one that the
 * message replies to. */
static bool is_about(const struct hf__proxy_rule *rule,
                     const struct hf__link *link, const struct hf__flow *flow)
{
    return rule->what == flow->mark.what &&
           (!rule->connection || rule->connection == link->number) &&
           (!rule->text[0] || strstr(link->statement, rule->text));
}

static void keep_statement(struct hf__link *link, const struct hf__flow *flow)
{
    size_t n = flow->unit < sizeof link->statement - 1
                   ? flow->unit
                   : sizeof link->statement - 1;

    for (size_t i = 0; i < n; i++) {
        link->statement[i] = flow->bytes[i] ? (char)flow->bytes[i] : '.';
    }
    link->statement[n] = '\0';
}

void hf__rules_begin(struct hf__relay *relay, struct hf__link *link,
                     struct hf__flow *flow)
{
    flow->message = 0;
    flow->has_rule = false;
    if (flow->mark.what == HF__STATEMENT) {
        keep_statement(link, flow);
    }
    for (int i = 0; i < HF__PROXY_RULES; i++) {
        struct hf__armed *a = &relay->rules[i];

        if (!a->is_armed || !is_about(&a->rule, link, flow) ||
            ++a->seen < a->rule.n || flow->has_rule) {
            continue;
        }
        a->is_armed = a->rule.always;
        flow->rule = a->rule;
        flow->has_rule = true;
    }
}
