/* SPDX-License-Identifier: MIT */
/*
 * From a URL to a connection. The hosts are tried in their order, each with
 * its share of the time that is left. Called by the session's thread when it
 * opens.
 */
#include "src/backend/mysql/place.h"

#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"

#include <string.h>

#define PORT 3306

const char *const hf__mysql_options[] = {"scheme", "socket", "tls", "ca",
                                         "cert",   "key",    NULL};

static int read_target(struct hf__mysql *s, const struct hf__url *url,
                       struct hf__wire_target *ret_target)
{
    const char *path = url->path;

    if (path[0] != '/' || path[1] == '\0') {
        return hf__fail(s->err, HF_EINVAL,
                        "url: it names no database: "
                        "mysql://user@host:3306/DATABASE");
    }
    *ret_target = (struct hf__wire_target){
        .socket = hf__url_option(url, "socket"),
        .user = url->user,
        .password = url->password,
        .database = path + 1,
        .tls = hf__url_option(url, "tls"),
        .ca = hf__url_option(url, "ca"),
        .cert = hf__url_option(url, "cert"),
        .key = hf__url_option(url, "key"),
    };
    return HF_OK;
}

int hf__mysql_place_connect(struct hf__mysql *s, const struct hf__url *url,
                            hf__time deadline)
{
    struct hf__wire_target target;
    int r = read_target(s, url, &target);

    if (r != HF_OK || target.socket != NULL) {
        return r == HF_OK ? hf__wire_connect(s, &target, deadline) : r;
    }
    r = HF_EUNAVAIL;
    for (size_t i = 0; i < url->n_hosts && r == HF_EUNAVAIL; i++) {
        hf__time now = hf__now();
        int64_t left = hf__between_ns(now, deadline);
        int64_t share = left / (int64_t)(url->n_hosts - i);

        target.host = url->hosts[i].name;
        target.port = url->hosts[i].port == 0 ? PORT : url->hosts[i].port;
        r = hf__wire_connect(s, &target, hf__after_ns(now, share));
    }
    return r;
}
