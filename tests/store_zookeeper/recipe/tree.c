/* SPDX-License-Identifier: MIT */
/*
 * Seeing the tree by the tests' own client, and sessions through a proxy.
 * Thread: the test's.
 */
#include "tests/store_zookeeper/recipe/tree.h"

#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/zookeeper.h"

#include <string.h>

const char *folder_of(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof *paths, "%s/test/%s", hf__zookeeper_test_chroot(),
             name);
    return path;
}

int children_of(const char *name)
{
    int n = hf__zookeeper_count(hf__zookeeper_shared(), folder_of(name));

    return n < 0 ? 0 : n;
}

const char *node_of(struct party *p, const char *name, char letter)
{
    static char paths[4][384];
    static int next;
    char *path = paths[next++ % 4];
    char token[HF__TOKEN_DIGITS + 1] = "";
    char names[4096];
    char *rest = names;
    char *child;

    hf__token_write(&claim_of(p, name)->token, token);
    snprintf(names, sizeof names, "%s",
             hf__zookeeper_list(hf__zookeeper_shared(), folder_of(name)));
    while ((child = strsep(&rest, "\n")) != NULL) {
        if (child[0] == letter && strstr(child, token) != NULL) {
            snprintf(path, sizeof *paths, "%s/%s", folder_of(name), child);
            return path;
        }
    }
    EXPECT(child != NULL);
    return "";
}

void await_children(const char *name, int n)
{
    UNTIL(children_of(name) == n);
}

size_t spare_watches(struct party *p)
{
    struct hf__zk *s = p->conn.state;

    return hf__zk_watch_spare(&s->ref);
}

void begin_to_watch(struct waiting *w, struct party *p, const char *name)
{
    size_t room = spare_watches(p);

    watch_name(w, p, name);
    UNTIL(wait_up_to(w, 50) == HF_OK && spare_watches(p) < room);
    EXPECT(!w->watch.has_fired);
}

void wait_until_woken(struct waiting *w)
{
    EXPECT_IS(wait_up_to(w, 5000), HF_OK);
    EXPECT(w->watch.has_fired);
}

void wait_in_vain(struct waiting *w, int64_t ms)
{
    EXPECT_IS(wait_up_to(w, ms), HF_OK);
    EXPECT(!w->watch.has_fired);
}

void end_proxy(struct hf__proxy **proxy)
{
    hf__proxy_free(*proxy);
}

struct hf__proxy *proxy_to_store(void)
{
    return hf__proxy_start(hf__zookeeper_port(hf__zookeeper_shared()),
                           &hf__framing_zookeeper);
}

void lose_reply_to(struct hf__proxy *proxy, const char *request)
{
    struct hf__proxy_rule rule = {
        .what = HF__REPLY, .where = HF__BEFORE, .action = HF__RESET};

    snprintf(rule.text, sizeof rule.text, "%s", request);
    hf__proxy_rule(proxy, &rule);
}

void join_at(struct party *p, const char *label, struct hf__proxy *proxy,
             const char *options)
{
    char url[512];

    snprintf(url, sizeof url, "zookeeper://127.0.0.1:%d%s%s%s",
             hf__proxy_port(proxy), hf__zookeeper_test_chroot(),
             options[0] == '\0' ? "" : "?", options);
    EXPECT_IS(join_url(p, label, url), HF_OK);
}
