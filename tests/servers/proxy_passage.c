/* SPDX-License-Identifier: MIT */
/*
 * One connection through the proxy: two flows of bytes, each cut into units
 * by the framing. A unit is passed on only when all of it was received, up to
 * where a rule hits. What the rule is about, proxy_rules.c decides; how bytes
 * leave, proxy_flow.c. Called in the proxy's process.
 */
#include "tests/servers/proxy_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

bool hf__passage_is_held(const struct hf__relay *relay,
                         const struct hf__passage *passage,
                         enum hf__proxy_way way)
{
    return relay->holds[way] || passage->is_silenced || passage->is_over ||
           passage->ends[HF__TO_SERVER] < 0;
}

struct hf__passage *hf__passage_new(int client, int server)
{
    struct hf__passage *passage = calloc(1, sizeof *passage);

    if (!passage) {
        abort();
    }
    passage->last_question = &passage->questions;
    passage->ends[HF__TO_CLIENT] = client;
    passage->ends[HF__TO_SERVER] = server;
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        hf__flow_init(&passage->flows[i]);
    }
    return passage;
}

static void close_end(int fd, enum hf__proxy_action action)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (fd < 0) {
        return;
    }
    if (action == HF__RESET) {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    } else {
        shutdown(fd, SHUT_WR);
    }
    close(fd);
}

void hf__passage_cut(struct hf__passage *passage, enum hf__proxy_action action)
{
    if (action == HF__SILENCE) {
        passage->is_silenced = true;
        return;
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        hf__flow_flush(&passage->flows[i], passage->ends[i]);
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        close_end(passage->ends[i], action);
        passage->ends[i] = -1;
    }
    passage->is_over = true;
}

void hf__passage_free(struct hf__passage *passage)
{
    if (!passage->is_over) {
        hf__passage_cut(passage, HF__CLOSE);
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        hf__flow_fini(&passage->flows[i]);
    }
    hf__rules_forget(passage);
    free(passage);
}

void hf__passage_heal(struct hf__passage *passage)
{
    if (passage->ends[HF__TO_SERVER] < 0 && !passage->is_over) {
        hf__passage_cut(passage, HF__CLOSE);
    }
    passage->is_silenced = false;
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        struct hf__flow *flow = &passage->flows[i];

        flow->has_rule = false;
        for (struct hf__chunk *c = flow->first; c; c = c->next) {
            c->due_ms = 0;
        }
    }
}

/* ---- units */

/* False: there is no whole one. */
static bool take_unit(struct hf__relay *relay, struct hf__passage *passage,
                      enum hf__proxy_way way)
{
    struct hf__flow *flow = &passage->flows[way];
    size_t n = relay->framing->measure(passage->framing_state, way, flow->bytes,
                                       flow->length);

    if (!n || flow->length < n) {
        return false;
    }
    flow->unit = n;
    flow->mark =
        relay->framing->read(passage->framing_state, way, flow->bytes, n);
    if (flow->mark.is_counted && flow->mark.starts) {
        hf__rules_begin(relay, passage, flow);
    }
    return true;
}

/* How much of the unit passes before the rule of its message hits. False: it
 * does not hit in this unit. */
static bool find_hit(const struct hf__flow *flow, size_t *ret_pass)
{
    size_t after = flow->message + flow->unit;
    size_t at = flow->rule.bytes;

    if (!flow->has_rule || !flow->mark.is_counted) {
        return false;
    }
    switch (flow->rule.where) {
    case HF__BEFORE:
        *ret_pass = 0;
        return true;
    case HF__INSIDE:
        if (flow->mark.ends && at >= after) {
            at = after - 1;
        }
        *ret_pass = at < after ? at - flow->message : 0;
        return at < after;
    case HF__AFTER:
        break;
    }
    *ret_pass = flow->unit;
    return flow->mark.ends;
}

static void count_message(struct hf__relay *relay, enum hf__proxy_what what)
{
    switch (what) {
    case HF__HANDSHAKE:
        relay->counts.handshakes++;
        break;
    case HF__STATEMENT:
        relay->counts.statements++;
        break;
    case HF__REPLY:
        relay->counts.replies++;
        break;
    case HF__PUSH:
        relay->counts.pushes++;
        break;
    }
}

static void pass(struct hf__relay *relay, struct hf__passage *passage,
                 enum hf__proxy_way way, size_t n)
{
    struct hf__flow *flow = &passage->flows[way];

    hf__flow_pass(flow, n, relay->delay_ms[way]);
    flow->unit -= n;
    flow->message += n;
    if (!flow->unit && flow->mark.is_counted && flow->mark.ends) {
        count_message(relay, flow->mark.what);
        hf__rules_end(passage, flow->mark.what);
    }
}

/* False: nothing more can be done for now. */
static bool pass_unit(struct hf__relay *relay, struct hf__passage *passage,
                      enum hf__proxy_way way)
{
    struct hf__flow *flow = &passage->flows[way];
    size_t n;

    if (hf__passage_is_held(relay, passage, way) ||
        (!flow->unit && !take_unit(relay, passage, way))) {
        return false;
    }
    if (find_hit(flow, &n) && flow->rule.action == HF__DISGUISE) {
        relay->framing->disguise(flow->bytes, flow->unit);
        flow->has_rule = false;
        relay->counts.hits++;
    } else if (find_hit(flow, &n)) {
        pass(relay, passage, way, n);
        flow->has_rule = false;
        relay->counts.hits++;
        hf__passage_cut(passage, flow->rule.action);
        return false;
    }
    pass(relay, passage, way, flow->unit);
    return true;
}

/* The other side is told of the end when it has got all. */
static void pass_end(struct hf__relay *relay, struct hf__passage *passage,
                     enum hf__proxy_way way)
{
    struct hf__flow *flow = &passage->flows[way];

    if (!flow->at_end || flow->told_end ||
        hf__passage_is_held(relay, passage, way)) {
        return;
    }
    if (flow->length) {
        hf__flow_pass(flow, flow->length, relay->delay_ms[way]);
    }
    if (!flow->first) {
        shutdown(passage->ends[way], SHUT_WR);
        flow->told_end = true;
    }
}

void hf__passage_advance(struct hf__relay *relay, struct hf__passage *passage)
{
    for (int i = 0; i < HF__PROXY_WAYS && !passage->is_over; i++) {
        struct hf__flow *flow = &passage->flows[i];

        while (pass_unit(relay, passage, (enum hf__proxy_way)i)) {
        }
        if (!passage->is_over && !hf__flow_write(flow, passage->ends[i])) {
            hf__passage_cut(passage, HF__RESET);
        }
        pass_end(relay, passage, (enum hf__proxy_way)i);
    }
    if (!passage->is_over && passage->flows[0].told_end &&
        passage->flows[1].told_end) {
        hf__passage_cut(passage, HF__CLOSE);
    }
}
