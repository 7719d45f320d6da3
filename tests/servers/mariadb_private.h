/* SPDX-License-Identifier: MIT */
/*
 * What the files of the MariaDB fixture share, and nobody else sees: the
 * struct, the options that template and servers have in common, and the
 * administrator.
 */
#ifndef HF_TESTS_SERVERS_MARIADB_PRIVATE_H
#define HF_TESTS_SERVERS_MARIADB_PRIVATE_H

#include "tests/servers/servers.h"

enum { HF__MARIADB_EXTRA = 16 };

struct hf__mariadb {
    struct hf__warden *warden;
    char folder[HF__SERVERS_PATH];
    char socket[HF__SERVERS_PATH + 8];
    char extra[HF__MARIADB_EXTRA + 1][256]; /* ended by an empty one */
    int port;
    pid_t pid;
};

/* Of the data as of the server: small files. */
#define HF__MARIADB_SMALL                                                      \
    (char *)"--innodb-log-file-size=4M",                                       \
        (char *)"--innodb-autoextend-increment=1",                             \
        (char *)"--skip-name-resolve"
#define HF__MARIADB_PRIVATE                                                    \
    (char *)"--bind-address=127.0.0.1", (char *)"--performance-schema=OFF",    \
        (char *)"--innodb-buffer-pool-size=16M",                               \
        (char *)"--innodb-log-buffer-size=1M",                                 \
        (char *)"--innodb-temp-data-file-path=ibtmp1:2M:autoextend",           \
        (char *)"--innodb-buffer-pool-dump-at-shutdown=OFF",                   \
        (char *)"--innodb-buffer-pool-load-at-startup=OFF",                    \
        (char *)"--key-buffer-size=1M",                                        \
        (char *)"--aria-pagecache-buffer-size=1M"

#define HF__MARIADB_ADMIN          "admin"
#define HF__MARIADB_ADMIN_PASSWORD "by-the-socket-only"

/* Copies the template to the folder; makes the template if there is none. */
void hf__mariadb_fill(const char *data);
/* Does the server take connections? */
bool hf__mariadb_answers(const struct hf__mariadb *);

#endif
