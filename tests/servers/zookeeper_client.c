/* SPDX-License-Identifier: MIT */
/*
 * The client whose session lasts: one call at a time, no event is kept, and it
 * pings only when it is told so. How it speaks, zookeeper_wire.c knows; what
 * the administrator looks up is in zookeeper_look.c.
 */
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_wire.h"

#include <stdio.h>

enum { XID_PING = -2, XID_AUTH = -4 };
enum { ALL_PERMISSIONS = 31, ANY_VERSION = -1 };

struct hf__zookeeper_client *hf__zookeeper_dial(int port, int session_ms)
{
    static const uint8_t none[HF__WIRE_PASSWORD];

    return hf__wire_open(port, session_ms, 0, none);
}

void hf__zookeeper_hang_up(struct hf__zookeeper_client *c)
{
    if (c) {
        hf__wire_ask(c, HF__WIRE_CLOSE);
        hf__wire_call(c);
        hf__zookeeper_drop(c);
    }
}

int hf__zookeeper_auth(struct hf__zookeeper_client *c, const char *user,
                       const char *password)
{
    char text[256];

    snprintf(text, sizeof text, "%s:%s", user, password);
    hf__wire_ask_as(c, XID_AUTH, HF__WIRE_AUTH);
    hf__jute_put_int(&c->message, 0);
    hf__jute_put_text(&c->message, "digest");
    hf__jute_put_text(&c->message, text);
    return hf__wire_call(c);
}

int hf__zookeeper_ping(struct hf__zookeeper_client *c)
{
    hf__wire_ask_as(c, XID_PING, HF__WIRE_PING);
    return hf__wire_call(c);
}

int hf__zookeeper_create(struct hf__zookeeper_client *c, const char *path,
                         const char *data, enum hf__zookeeper_mode mode,
                         char ret_path[HF__ZOOKEEPER_DATA])
{
    char made[HF__ZOOKEEPER_DATA];
    int r;

    hf__wire_ask(c, HF__WIRE_CREATE);
    hf__jute_put_text(&c->message, path);
    hf__jute_put_text(&c->message, data);
    hf__jute_put_int(&c->message, 1); /* entry of the ACL */
    hf__jute_put_int(&c->message, ALL_PERMISSIONS);
    hf__jute_put_text(&c->message, "world");
    hf__jute_put_text(&c->message, "anyone");
    hf__jute_put_int(&c->message, (int32_t)mode);
    r = hf__wire_call(c);
    hf__jute_get_text(&c->message, made, sizeof made);
    if (ret_path) {
        snprintf(ret_path, HF__ZOOKEEPER_DATA, "%s", r ? "" : made);
    }
    return r;
}

int hf__zookeeper_delete(struct hf__zookeeper_client *c, const char *path)
{
    hf__wire_ask(c, HF__WIRE_DELETE);
    hf__jute_put_text(&c->message, path);
    hf__jute_put_int(&c->message, ANY_VERSION);
    return hf__wire_call(c);
}

static void get_stat(struct hf__jute *j, struct hf__zookeeper_node *node)
{
    node->czxid = hf__jute_get_long(j);
    node->mzxid = hf__jute_get_long(j);
    node->created_ms = hf__jute_get_long(j);
    node->changed_ms = hf__jute_get_long(j);
    node->version = hf__jute_get_int(j);
    node->cversion = hf__jute_get_int(j);
    node->aversion = hf__jute_get_int(j);
    node->owner = hf__jute_get_long(j);
    node->length = hf__jute_get_int(j);
    node->children = hf__jute_get_int(j);
    node->pzxid = hf__jute_get_long(j);
}

static int get(struct hf__zookeeper_client *c, const char *path, bool watches,
               struct hf__zookeeper_node *ret_node)
{
    int r;

    hf__wire_ask(c, HF__WIRE_GET);
    hf__jute_put_text(&c->message, path);
    hf__jute_put_flag(&c->message, watches);
    r = hf__wire_call(c);
    *ret_node = (struct hf__zookeeper_node){0};
    if (r == 0) {
        hf__jute_get_text(&c->message, ret_node->data, sizeof ret_node->data);
        get_stat(&c->message, ret_node);
    }
    return r;
}

int hf__zookeeper_get(struct hf__zookeeper_client *c, const char *path,
                      struct hf__zookeeper_node *ret_node)
{
    return get(c, path, false, ret_node);
}

int hf__zookeeper_watch(struct hf__zookeeper_client *c, const char *path)
{
    struct hf__zookeeper_node node;

    return get(c, path, true, &node);
}

int hf__zookeeper_set(struct hf__zookeeper_client *c, const char *path,
                      const char *data)
{
    hf__wire_ask(c, HF__WIRE_SET);
    hf__jute_put_text(&c->message, path);
    hf__jute_put_text(&c->message, data);
    hf__jute_put_int(&c->message, ANY_VERSION);
    return hf__wire_call(c);
}

int hf__zookeeper_sync(struct hf__zookeeper_client *c, const char *path)
{
    hf__wire_ask(c, HF__WIRE_SYNC);
    hf__jute_put_text(&c->message, path);
    return hf__wire_call(c);
}
