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

bool hf__link_is_held(const struct hf__relay *relay,
                      const struct hf__link *link, enum hf__proxy_way way)
{
    return relay->holds[way] || link->is_silenced || link->is_over ||
           link->ends[HF__TO_SERVER] < 0;
}

struct hf__link *hf__link_new(int client, int server, int number)
{
    struct hf__link *link = calloc(1, sizeof *link);

    if (!link) {
        abort();
    }
    link->number = number;
    link->ends[HF__TO_CLIENT] = client;
    link->ends[HF__TO_SERVER] = server;
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        hf__flow_init(&link->flows[i]);
    }
    return link;
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

void hf__link_cut(struct hf__link *link, enum hf__proxy_action action)
{
    if (action == HF__SILENCE) {
        link->is_silenced = true;
        return;
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        hf__flow_flush(&link->flows[i], link->ends[i]);
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        close_end(link->ends[i], action);
        link->ends[i] = -1;
    }
    link->is_over = true;
}

void hf__link_free(struct hf__link *link)
{
    if (!link->is_over) {
        hf__link_cut(link, HF__CLOSE);
    }
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        hf__flow_fini(&link->flows[i]);
    }
    free(link);
}

void hf__link_heal(struct hf__link *link)
{
    if (link->ends[HF__TO_SERVER] < 0 && !link->is_over) {
        hf__link_cut(link, HF__CLOSE);
    }
    link->is_silenced = false;
    for (int i = 0; i < HF__PROXY_WAYS; i++) {
        struct hf__flow *flow = &link->flows[i];

        flow->has_rule = false;
        for (struct hf__chunk *c = flow->first; c; c = c->next) {
            c->due_ms = 0;
        }
    }
}

/* ---- units */

/* False: there is no whole one. */
static bool take_unit(struct hf__relay *relay, struct hf__link *link,
                      enum hf__proxy_way way)
{
    struct hf__flow *flow = &link->flows[way];
    size_t n = relay->framing->measure(link->framing_state, way, flow->bytes,
                                       flow->length);

    if (!n || flow->length < n) {
        return false;
    }
    flow->unit = n;
    flow->mark = relay->framing->read(link->framing_state, way, flow->bytes, n);
    if (flow->mark.is_counted && flow->mark.starts) {
        hf__rules_begin(relay, link, flow);
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
    }
}

static void pass(struct hf__relay *relay, struct hf__link *link,
                 enum hf__proxy_way way, size_t n)
{
    struct hf__flow *flow = &link->flows[way];

    hf__flow_pass(flow, n, relay->delay_ms[way]);
    flow->unit -= n;
    flow->message += n;
    if (!flow->unit && flow->mark.is_counted && flow->mark.ends) {
        count_message(relay, flow->mark.what);
    }
}

/* False: nothing more can be done for now. */
static bool pass_unit(struct hf__relay *relay, struct hf__link *link,
                      enum hf__proxy_way way)
{
    struct hf__flow *flow = &link->flows[way];
    size_t n;

    if (hf__link_is_held(relay, link, way) ||
        (!flow->unit && !take_unit(relay, link, way))) {
        return false;
    }
    if (find_hit(flow, &n)) {
        pass(relay, link, way, n);
        flow->has_rule = false;
        relay->counts.hits++;
        hf__link_cut(link, flow->rule.action);
        return false;
    }
    pass(relay, link, way, flow->unit);
    return true;
}

/* The other side is told of the end when it has got all. */
static void pass_end(struct hf__relay *relay, struct hf__link *link,
                     enum hf__proxy_way way)
{
    struct hf__flow *flow = &link->flows[way];

    if (!flow->at_end || flow->told_end || hf__link_is_held(relay, link, way)) {
        return;
    }
    if (flow->length) {
        hf__flow_pass(flow, flow->length, relay->delay_ms[way]);
    }
    if (!flow->first) {
        shutdown(link->ends[way], SHUT_WR);
        flow->told_end = true;
    }
}

void hf__link_advance(struct hf__relay *relay, struct hf__link *link)
{
    for (int i = 0; i < HF__PROXY_WAYS && !link->is_over; i++) {
        struct hf__flow *flow = &link->flows[i];

        while (pass_unit(relay, link, (enum hf__proxy_way)i)) {
        }
        if (!link->is_over && !hf__flow_write(flow, link->ends[i])) {
            hf__link_cut(link, HF__RESET);
        }
        pass_end(relay, link, (enum hf__proxy_way)i);
    }
    if (!link->is_over && link->flows[0].told_end && link->flows[1].told_end) {
        hf__link_cut(link, HF__CLOSE);
    }
}
