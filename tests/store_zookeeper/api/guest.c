/* SPDX-License-Identifier: MIT */
/*
 * Opening clients by their whole URLs. Thread: any of the test's.
 */
#include "tests/store_zookeeper/api/guest.h"

void end_server(struct hf__zookeeper **server)
{
    hf__zookeeper_free(*server);
}

void end_proxy(struct hf__proxy **proxy)
{
    hf__proxy_free(*proxy);
}

static hf_client *open_url(const char *url, int *ret_status, hf_error *err)
{
    hf_client *client = NULL;

    *ret_status = hf_open(url, NULL, &client, err);
    if (*ret_status != HF_OK) {
        printf("# %s: %s: %s\n", url, hf_strstatus(*ret_status), err->text);
    }
    return client;
}

static hf_client *open_expected(const char *url)
{
    hf_error err = HF_ERROR_INIT;
    int r = HF_OK;
    hf_client *client = open_url(url, &r, &err);

    EXPECT_IS(r, HF_OK);
    return client;
}

hf_client *open_at(int port, const char *who, const char *rest)
{
    char url[640];

    snprintf(url, sizeof url, "zookeeper://%s127.0.0.1:%d%s", who, port, rest);
    return open_expected(url);
}

int status_at(int port, const char *who, const char *rest, hf_error *err)
{
    char url[640];
    int r = HF_OK;

    snprintf(url, sizeof url, "zookeeper://%s127.0.0.1:%d%s", who, port, rest);
    hf_close(open_url(url, &r, err));
    return r;
}

hf_client *open_shared(const char *options)
{
    char url[640];
    char whole[1024];

    hf__zookeeper_test_url(url, sizeof url);
    snprintf(whole, sizeof whole, "%s?prefix=test&%s", url, options);
    return open_expected(whole);
}

hf_client *open_through(struct hf__proxy *proxy, const char *recipe)
{
    char rest[512];

    snprintf(rest, sizeof rest, "%s?prefix=test&recipe=%s",
             hf__zookeeper_test_chroot(), recipe);
    return open_at(hf__proxy_port(proxy), "", rest);
}

void take_and_give(hf_client *client, const char *name)
{
    AUTO_LOCK *lock = acquire(client, name);

    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

const char *path_of(const char *name)
{
    static char paths[4][320];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof *paths, "%s/test/%s", hf__zookeeper_test_chroot(),
             name);
    return path;
}
