/* SPDX-License-Identifier: MIT */
/*
 * Which message a rule hits: each armed rule counts the messages that it is
 * about, from the moment it was given. What a hit does, proxy_passage.c knows.
 * Called in the proxy's process.
 */
#include "tests/servers/proxy_private.h"

#include <stdlib.h>
#include <string.h>

static bool has_text(const uint8_t *bytes, size_t length, const char *text)
{
    return !text[0] || memmem(bytes, length, text, strlen(text));
}

/* The statement that the message is, or replies to. A reply to none belongs to
 * the last one that was answered: some have several. NULL: there was none. */
static const struct hf__question *question_of(const struct hf__passage *passage,
                                              enum hf__proxy_what what)
{
    const struct hf__question *q = passage->questions;

    while (what == HF__STATEMENT && q && q->next) {
        q = q->next;
    }
    return q ? q : passage->answered;
}

static bool is_about(const struct hf__proxy_rule *rule,
                     const struct hf__passage *passage,
                     const struct hf__flow *flow)
{
    const struct hf__question *q = question_of(passage, flow->mark.what);

    if (rule->what != flow->mark.what) {
        return false;
    }
    if (flow->mark.what == HF__PUSH) {
        return has_text(flow->bytes, flow->unit, rule->text);
    }
    return q ? has_text(q->statement, q->length, rule->text) : !rule->text[0];
}

static size_t copy(const uint8_t *unit, size_t length, uint8_t *text,
                   size_t size)
{
    length = length < size ? length : size;
    memcpy(text, unit, length);
    return length;
}

static void keep_statement(const struct hf__framing *framing,
                           struct hf__passage *passage,
                           const struct hf__flow *flow)
{
    struct hf__question *q = calloc(1, sizeof *q);

    if (!q) {
        abort();
    }
    q->length = (framing->describe ? framing->describe : copy)(
        flow->bytes, flow->unit, q->statement, sizeof q->statement);
    *passage->last_question = q;
    passage->last_question = &q->next;
}

void hf__rules_end(struct hf__passage *passage, enum hf__proxy_what what)
{
    struct hf__question *q = passage->questions;

    if (what != HF__REPLY || !q) {
        return;
    }
    passage->questions = q->next;
    if (!q->next) {
        passage->last_question = &passage->questions;
    }
    free(passage->answered);
    passage->answered = q;
    q->next = NULL;
}

void hf__rules_forget(struct hf__passage *passage)
{
    while (passage->questions) {
        hf__rules_end(passage, HF__REPLY);
    }
    free(passage->answered);
    passage->answered = NULL;
}

void hf__rules_begin(struct hf__relay *relay, struct hf__passage *passage,
                     struct hf__flow *flow)
{
    flow->message = 0;
    flow->has_rule = false;
    if (flow->mark.what == HF__STATEMENT) {
        keep_statement(relay->framing, passage, flow);
    }
    for (int i = 0; i < HF__PROXY_RULES; i++) {
        struct hf__subscriptions *a = &relay->rules[i];

        if (!a->is_armed || !is_about(&a->rule, passage, flow) ||
            ++a->seen < a->rule.n || flow->has_rule) {
            continue;
        }
        a->is_armed = a->rule.always;
        flow->rule = a->rule;
        flow->has_rule = true;
    }
}
