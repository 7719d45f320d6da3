/* SPDX-License-Identifier: MIT */
/*
 * Which message a rule hits: each armed rule counts the messages that it is
 * about, from the moment it was given. What a hit does, proxy_passage.c knows.
 * Called in the proxy's process.
 */
#include "tests/servers/proxy_private.h"

#include <string.h>

/* The last statement stands for the message: it is one, or the one that the
 * message replies to. */
static bool is_about(const struct hf__proxy_rule *rule,
                     const struct hf__passage *passage,
                     const struct hf__flow *flow)
{
    return rule->what == flow->mark.what &&
           (!rule->connection || rule->connection == passage->number) &&
           (!rule->text[0] ||
            memmem(passage->statement, passage->statement_length, rule->text,
                   strlen(rule->text)));
}

static void keep_statement(struct hf__passage *passage,
                           const struct hf__flow *flow)
{
    size_t room = sizeof passage->statement;

    passage->statement_length = flow->unit < room ? flow->unit : room;
    memcpy(passage->statement, flow->bytes, passage->statement_length);
}

void hf__rules_begin(struct hf__relay *relay, struct hf__passage *passage,
                     struct hf__flow *flow)
{
    flow->message = 0;
    flow->has_rule = false;
    if (flow->mark.what == HF__STATEMENT) {
        keep_statement(passage, flow);
    }
    for (int i = 0; i < HF__PROXY_RULES; i++) {
        struct hf__armed *a = &relay->rules[i];

        if (!a->is_armed || !is_about(&a->rule, passage, flow) ||
            ++a->seen < a->rule.n || flow->has_rule) {
            continue;
        }
        a->is_armed = a->rule.always;
        flow->rule = a->rule;
        flow->has_rule = true;
    }
}
