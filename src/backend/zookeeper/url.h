/* SPDX-License-Identifier: MIT */
/*
 * What a zookeeper:// URL says. Thread: any.
 */
#ifndef HF_BACKEND_ZOOKEEPER_URL_H
#define HF_BACKEND_ZOOKEEPER_URL_H

#include "src/base/url.h"

#define HF__ZK_PORT 2181
/* 16 hosts of 255 bytes, in brackets and with ports. */
#define HF__ZK_HOSTS_MAX 4608
/* As long as the path of a URL can be. */
#define HF__ZK_CHROOT_MAX 4096

enum hf__zk_recipe { HF__ZK_FAIR, HF__ZK_SIMPLE };

struct hf__zk_url {
    char hosts[HF__ZK_HOSTS_MAX];   /* "h1:2181,[::1]:2182" */
    char chroot[HF__ZK_CHROOT_MAX]; /* "" or "/a/b" */
    enum hf__zk_recipe recipe;
    int timeout_ms;
};

extern const char *const hf__zk_options[];

/* HF_OK, or HF_EINVAL naming the option. Sends nothing. */
HF_MUST_CHECK int hf__zk_url_read(const struct hf__url *, struct hf__zk_url *,
                                  hf_error *);

#endif
