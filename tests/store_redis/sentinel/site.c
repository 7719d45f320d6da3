/* SPDX-License-Identifier: MIT */
/*
 * The words of site.h. The store's URL is that of the site which was begun.
 */
#include "tests/store_redis/sentinel/site.h"
#include "tests/contract/urls.h"
#include "tests/servers/redis_private.h"

#include <stdlib.h>
#include <string.h>

static const struct hf__redis_sentinels *current;

enum { FAILOVER_MS = 15000 };

void end_site(struct hf__redis_sentinels **g)
{
    hf__redis_sentinels_free(*g);
}

void end_server(struct hf__redis **r)
{
    hf__redis_free(*r);
}

struct hf__redis_sentinels *
begin_site(const struct hf__redis_sentinels_opts *given)
{
    struct hf__redis_sentinels_opts opts = {.password = "clients"};
    struct hf__redis_sentinels *g;

    if (given) {
        opts = *given;
    }
    opts.has_aof = true;
    g = hf__redis_sentinels_start(&opts);
    current = g;
    return g;
}

struct hf__redis *stale_sentinel(const struct hf__redis *server)
{
    static char monitor[96];
    const char *const lines[] = {
        monitor, "sentinel auth-user " HF__REDIS_SERVICE " sentinel",
        "sentinel auth-pass " HF__REDIS_SERVICE " sentinels", NULL};
    struct hf__redis *r;

    snprintf(monitor, sizeof monitor, "sentinel monitor %s 127.0.0.1 %d 2",
             HF__REDIS_SERVICE, hf__redis_port(server));
    r = hf__redis_new(&(struct hf__redis_opts){
        .extra = lines, .sentinel_port = hf__servers_take_port()});
    hf__redis_await(r);
    return r;
}

struct hf__redis *tls_sentinel(const struct hf__redis *server)
{
    static const char *const files[][2] = {{"tls-ca-cert-file", "ca.crt"},
                                           {"tls-cert-file", "server.crt"},
                                           {"tls-key-file", "server.key"}};
    static char text[4][256];
    const char *const lines[] = {
        text[0], text[1], text[2], text[3], "tls-replication yes", NULL};
    struct hf__redis *r;

    for (int i = 0; i < 3; i++) {
        snprintf(text[i], sizeof text[i], "%s %s", files[i][0],
                 hf__redis_tls_file(server, files[i][1]));
    }
    snprintf(text[3], sizeof text[3], "sentinel monitor %s 127.0.0.1 %d 1",
             HF__REDIS_SERVICE, hf__redis_tls_port(server));
    r = hf__redis_new(
        &(struct hf__redis_opts){.extra = lines,
                                 .has_tls = true,
                                 .sentinel_port = hf__servers_take_port()});
    hf__redis_await(r);
    return r;
}

int hf__store_url(const char *store, char *url, size_t size)
{
    char as[64];
    char found[HF__REDIS_URL];

    hf__store_scheme(store, as, sizeof as);
    hf__redis_sentinels_url(current, 0, found, sizeof found);
    snprintf(url, size, "%s%s", as, strchr(found, ':'));
    return 0;
}

const char *at(const struct hf__redis *r)
{
    static char ring[16][32];
    static int next;
    char *text = ring[next++ % 16];

    snprintf(text, sizeof ring[0], "127.0.0.1:%d", hf__redis_port(r));
    return text;
}

const char *url_at(const char *a, const char *b, const char *c,
                   const char *options)
{
    static char url[HF__REDIS_URL];

    snprintf(url, sizeof url, "redis+sentinel://:clients@%s%s%s%s%s/%s%s%s", a,
             b ? "," : "", b ? b : "", c ? "," : "", c ? c : "",
             HF__REDIS_SERVICE, *options ? "?" : "", options);
    return url;
}

hf_client *open_there(const char *options)
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;
    char url[HF__REDIS_URL + 128];
    size_t n;

    hf__redis_sentinels_url(current, 0, url, sizeof url);
    n = strlen(url);
    snprintf(url + n, sizeof url - n, "?%s", options);
    EXPECT_IS(hf_open(url, NULL, &client, &err), HF_OK);
    return client;
}

/* ---- what to wait for */

int primary(const struct hf__redis_sentinels *g)
{
    const char *reply = hf__redis_command(hf__redis_sentinel(g, 2),
                                          "SENTINEL GET-MASTER-ADDR-BY-NAME %s",
                                          HF__REDIS_SERVICE);
    const char *port = strchr(reply, '\n');

    for (int i = 0; port && i < 3; i++) {
        if (strtol(port + 1, NULL, 10) ==
            hf__redis_port(hf__redis_watched(g, i))) {
            return i;
        }
    }
    return -1;
}

int await_failover(const struct hf__redis_sentinels *g, int before)
{
    int now = before;

    UNTIL_WITHIN(FAILOVER_MS, (now = primary(g)) != before && now >= 0);
    return now;
}

bool has_grant(const struct hf__redis *server, const char *name)
{
    return *hf__redis_command(server, "HGET holdfast:{%s} token", name) != '\0';
}
