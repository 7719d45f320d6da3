/* SPDX-License-Identifier: MIT */
/*
 * What the administrator looks up and changes, each on a session of its own,
 * so that any process of a test may call and none keeps a descriptor. What is
 * read was synced before: it is no older than the call.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_private.h"
#include "tests/servers/zookeeper_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSION_MS = 20000, PATIENCE_MS = 10000, LOOKS_MS = 10 };
enum { NAMES_BYTES = 2 << 20, NAME = 512 };

static _Thread_local char last_text[HF__WIRE_ROOM];

/* ---- a session for a call */

static struct hf__zookeeper_client *try_enter(const struct hf__zookeeper *s)
{
    struct hf__zookeeper_client *c = hf__zookeeper_dial(s->port, SESSION_MS);

    if (c && hf__zookeeper_auth(c, HF__ZOOKEEPER_ADMIN,
                                HF__ZOOKEEPER_ADMIN_PASSWORD) != 0) {
        hf__zookeeper_drop(c);
        return NULL;
    }
    return c;
}

static int64_t patience_until(void)
{
    return hf__test_now_ms() + hf__test_patience(PATIENCE_MS);
}

/* While its ensemble elects a leader, no member serves. */
static struct hf__zookeeper_client *enter(const struct hf__zookeeper *s)
{
    int64_t until = patience_until();
    struct hf__zookeeper_client *c;

    while (!(c = try_enter(s))) {
        if (hf__test_now_ms() > until) {
            hf__servers_fail("zookeeper at port %d does not serve", s->port);
        }
        hf__test_pause_ms(LOOKS_MS);
    }
    return c;
}

static struct hf__zookeeper_client *enter_at(const struct hf__zookeeper *s,
                                             const char *path)
{
    struct hf__zookeeper_client *c = enter(s);

    hf__zookeeper_sync(c, path);
    return c;
}

/* Ends it. True: the call went well. */
static bool leave(struct hf__zookeeper_client *c, int r, const char *path)
{
    hf__zookeeper_hang_up(c);
    if (r && r != HF__ZOOKEEPER_NO_NODE) {
        hf__servers_fail("zookeeper, %s: error %d", path, r);
    }
    return r == 0;
}

/* Ends it. False: once more. A server may fail inside while its ensemble
 * settles; what is asked here does no harm twice. */
static bool is_told(struct hf__zookeeper_client *c, int r, const char *path,
                    int64_t until)
{
    if (r != HF__ZOOKEEPER_FAILED_INSIDE || hf__test_now_ms() > until) {
        leave(c, r, path);
        return true;
    }
    hf__zookeeper_hang_up(c);
    hf__test_pause_ms(LOOKS_MS);
    return false;
}

/* ---- nodes */

bool hf__zookeeper_look(const struct hf__zookeeper *s, const char *path,
                        struct hf__zookeeper_node *ret_node)
{
    struct hf__zookeeper_client *c = enter_at(s, path);
    int r = hf__zookeeper_get(c, path, ret_node);

    return leave(c, r, path);
}

int hf__zookeeper_count(const struct hf__zookeeper *s, const char *path)
{
    struct hf__zookeeper_node node;

    return hf__zookeeper_look(s, path, &node) ? node.children : -1;
}

static void make_above(struct hf__zookeeper_client *c, const char *path)
{
    char above[NAME];

    for (const char *end = strchr(path + 1, '/'); end;
         end = strchr(end + 1, '/')) {
        snprintf(above, sizeof above, "%.*s", (int)(end - path), path);
        hf__zookeeper_create(c, above, "", HF__ZOOKEEPER_PERSISTENT, NULL);
    }
}

void hf__zookeeper_put(const struct hf__zookeeper *s, const char *path,
                       const char *data)
{
    struct hf__zookeeper_client *c = enter(s);
    int r = hf__zookeeper_set(c, path, data);

    if (r == HF__ZOOKEEPER_NO_NODE) {
        make_above(c, path);
        r = hf__zookeeper_create(c, path, data, HF__ZOOKEEPER_PERSISTENT, NULL);
    }
    leave(c, r, path);
}

/* ---- children */

static int compare(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;

    return strcmp(*x, *y);
}

/* The names of an answer, one after the other, each ended by NUL. */
static char *read_names(struct hf__jute *j, int *ret_n)
{
    char *names = calloc(1, NAMES_BYTES);
    size_t used = 0;

    *ret_n = hf__jute_get_int(j);
    if (!names) {
        hf__servers_fail("out of memory");
    }
    for (int i = 0; i < *ret_n; i++) {
        used +=
            (size_t)hf__jute_get_text(j, names + used, NAMES_BYTES - used) + 1;
        if (used >= NAMES_BYTES) {
            hf__servers_fail("too long a list of names");
        }
    }
    return names;
}

/* In order; the array and the names are to be freed. */
static const char **sort_names(const char *names, int n)
{
    const char **sorted = calloc((size_t)n + 1, sizeof *sorted);

    if (!sorted) {
        hf__servers_fail("out of memory");
    }
    for (int i = 0; i < n; i++) {
        sorted[i] = names;
        names += strlen(names) + 1;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    return sorted;
}

static void write_lines(const char **names, int n)
{
    size_t used = 0;

    last_text[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t room = sizeof last_text - used;
        size_t length = (size_t)snprintf(last_text + used, room, "%s%s",
                                         i ? "\n" : "", names[i]);

        if (length >= room) {
            hf__servers_fail("too long a list of names");
        }
        used += length;
    }
}

static int ask_children(struct hf__zookeeper_client *c, const char *path,
                        char **ret_names, int *ret_n)
{
    int r;

    hf__wire_ask(c, HF__WIRE_CHILDREN);
    hf__jute_put_text(&c->message, path);
    hf__jute_put_flag(&c->message, false);
    r = hf__wire_call(c);
    *ret_names = read_names(&c->message, ret_n);
    return r;
}

int hf__zookeeper_children(struct hf__zookeeper_client *c, const char *path,
                           const char **ret_names)
{
    char *names;
    const char **sorted;
    int n;
    int r = ask_children(c, path, &names, &n);

    sorted = sort_names(names, n);
    write_lines(sorted, n);
    free(sorted);
    free(names);
    *ret_names = last_text;
    return r;
}

const char *hf__zookeeper_list(const struct hf__zookeeper *s, const char *path)
{
    int64_t until = patience_until();
    struct hf__zookeeper_client *c;
    const char *names;
    int r;

    do {
        c = enter_at(s, path);
        r = hf__zookeeper_children(c, path, &names);
    } while (!is_told(c, r, path, until));
    return names;
}

static int remove_tree(struct hf__zookeeper_client *c, const char *path)
{
    char *inner;
    char *names;
    int n;
    int r = hf__zookeeper_delete(c, path);

    if (r != HF__ZOOKEEPER_NOT_EMPTY) {
        return r;
    }
    ask_children(c, path, &names, &n);
    for (const char *name = names; n-- > 0; name += strlen(name) + 1) {
        if (asprintf(&inner, "%s/%s", path, name) < 0) {
            hf__servers_fail("out of memory");
        }
        remove_tree(c, inner);
        free(inner);
    }
    free(names);
    return hf__zookeeper_delete(c, path);
}

/* Somebody may still add to it. */
bool hf__zookeeper_remove(const struct hf__zookeeper *s, const char *path)
{
    struct hf__zookeeper_client *c = enter(s);
    int r;

    do {
        r = remove_tree(c, path);
    } while (r == HF__ZOOKEEPER_NOT_EMPTY);
    return leave(c, r, path);
}

/* ---- ACLs */

static const char letters[] = "rwcda"; /* a bit each */

const char *hf__zookeeper_acl(const struct hf__zookeeper *s, const char *path)
{
    struct hf__zookeeper_client *c = enter_at(s, path);
    struct hf__jute *j = &c->message;
    int used = 0;
    int n;
    int r;

    hf__wire_ask(c, HF__WIRE_GET_ACL);
    hf__jute_put_text(j, path);
    r = hf__wire_call(c);
    n = r ? 0 : hf__jute_get_int(j);
    last_text[0] = '\0';
    for (int i = 0; i < n; i++) {
        int bits = hf__jute_get_int(j);
        char scheme[NAME];
        char id[NAME];
        char may[sizeof letters] = "";

        for (int k = 0, m = 0; letters[k]; k++) {
            if (bits & 1 << k) {
                may[m++] = letters[k];
            }
        }
        hf__jute_get_text(j, scheme, sizeof scheme);
        hf__jute_get_text(j, id, sizeof id);
        used += snprintf(last_text + used, sizeof last_text - (size_t)used,
                         "%s%s:%s:%s", i ? "\n" : "", scheme, id, may);
    }
    leave(c, r, path);
    return last_text;
}

static int ask_set_acl(struct hf__zookeeper_client *c, const char *path,
                       const char *entry)
{
    const char *id = strchr(entry, ':');
    const char *may = strrchr(entry, ':');
    char text[NAME];
    int bits = 0;

    for (int k = 0; may && letters[k]; k++) {
        bits |= strchr(may, letters[k]) ? 1 << k : 0;
    }
    if (!id || id == may) {
        hf__servers_fail("%s is no entry of an ACL", entry);
    }
    hf__wire_ask(c, HF__WIRE_SET_ACL);
    hf__jute_put_text(&c->message, path);
    hf__jute_put_int(&c->message, 1);
    hf__jute_put_int(&c->message, bits);
    hf__jute_put_bytes(&c->message, entry, (size_t)(id - entry));
    snprintf(text, sizeof text, "%.*s", (int)(may - id - 1), id + 1);
    hf__jute_put_text(&c->message, text);
    hf__jute_put_int(&c->message, -1);
    return hf__wire_call(c);
}

void hf__zookeeper_set_acl(const struct hf__zookeeper *s, const char *path,
                           const char *entry)
{
    int64_t until = patience_until();
    struct hf__zookeeper_client *c;

    do {
        c = enter(s);
    } while (!is_told(c, ask_set_acl(c, path, entry), path, until));
}
