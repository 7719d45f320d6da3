/* SPDX-License-Identifier: MIT */
/*
 * What a zookeeper: URL says, judged before anybody is asked: hosts, the part
 * of the tree, how long a session lives, which recipe. Called by the session's
 * thread when it opens.
 */
#include "src/backend/zookeeper/place.h"

#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS     30000
#define TIMEOUT_MIN_MS 500
#define TIMEOUT_MAX_MS 3600000

const char *const hf__zk_options[] = {
    "recipe", "session_timeout", "tls", "ca", "cert",
    "key",    "password_file",   NULL};

static int read_recipe(const struct hf__url *url, struct hf__zk_place *place,
                       hf_error *err)
{
    const char *given = hf__url_option(url, "recipe");

    if (given == NULL || strcmp(given, "fair") == 0) {
        place->recipe = HF__ZK_FAIR;
        return HF_OK;
    }
    if (strcmp(given, "simple") == 0) {
        place->recipe = HF__ZK_SIMPLE;
        return HF_OK;
    }
    return hf__fail(err, HF_EINVAL, "recipe: \"%s\" is none of fair, simple",
                    given);
}

/* Debian's library, and the only one whose headers come built, has no TLS. */
static int refuse_tls(const struct hf__url *url, hf_error *err)
{
    static const char *const options[] = {"tls", "ca", "cert", "key"};

    for (int i = 0; i < 4; i++) {
        const char *given = hf__url_option(url, options[i]);

        if (given != NULL && (i > 0 || strcmp(given, "off") != 0)) {
            return hf__fail(err, HF_EINVAL,
                            "%s: the ZooKeeper client library of this build "
                            "has no TLS; leave it out and protect the way "
                            "there, or use a library built with OpenSSL",
                            options[i]);
        }
    }
    return HF_OK;
}

static int read_hosts(const struct hf__url *url, struct hf__zk_place *place,
                      hf_error *err)
{
    size_t length = 0;

    if (url->n_hosts == 0) {
        return hf__fail(err, HF_EINVAL,
                        "url: it names no server: "
                        "zookeeper://h1:2181,h2:2181,h3:2181/chroot");
    }
    for (size_t i = 0; i < url->n_hosts; i++) {
        const struct hf__url_host *host = &url->hosts[i];
        bool is_v6 = strchr(host->name, ':') != NULL;
        int added = snprintf(
            place->hosts + length, sizeof place->hosts - length, "%s%s%s%s:%d",
            i > 0 ? "," : "", is_v6 ? "[" : "", host->name, is_v6 ? "]" : "",
            host->port == 0 ? HF__ZK_PORT : host->port);

        if (added < 0 || (size_t)added >= sizeof place->hosts - length) {
            return hf__fail(err, HF_EINVAL, "url: its hosts are too long");
        }
        length += (size_t)added;
    }
    return HF_OK;
}

/* One folder of a path: no longer than `length`, and what a server takes. */
static bool is_folder(const char *name, size_t length)
{
    if (length == 0 || (length == 1 && name[0] == '.') ||
        (length == 2 && name[0] == '.' && name[1] == '.')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];

        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

static int read_chroot(const struct hf__url *url, struct hf__zk_place *place,
                       hf_error *err)
{
    size_t length = strlen(url->path);
    const char *at = url->path;

    while (length > 0 && at[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof place->chroot) {
        return hf__fail(err, HF_EINVAL, "url: its path is too long");
    }
    memcpy(place->chroot, url->path, length);
    place->chroot[length] = '\0';
    for (at = place->chroot; *at != '\0';) {
        size_t n = strcspn(at + 1, "/");

        if (*at != '/' || !is_folder(at + 1, n)) {
            return hf__fail(err, HF_EINVAL,
                            "url: its path is none of a node: a part is empty, "
                            "\".\" or \"..\", or has control characters");
        }
        at += 1 + n;
    }
    return HF_OK;
}

int hf__zk_place_read(const struct hf__url *url, struct hf__zk_place *place,
                      hf_error *err)
{
    int64_t timeout_ms = TIMEOUT_MS;
    int r = refuse_tls(url, err);

    r = r == HF_OK ? read_hosts(url, place, err) : r;
    r = r == HF_OK ? read_chroot(url, place, err) : r;
    r = r == HF_OK ? read_recipe(url, place, err) : r;
    r = r == HF_OK ? hf__url_duration(url, "session_timeout", TIMEOUT_MIN_MS,
                                      TIMEOUT_MAX_MS, &timeout_ms, err)
                   : r;
    place->timeout_ms = (int)timeout_ms;
    return r;
}
