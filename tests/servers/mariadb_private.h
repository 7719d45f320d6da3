/* SPDX-License-Identifier: MIT */
/*
 * What the files of the MariaDB fixture share, and nobody else sees: the
 * struct, the options that template and servers have in common, and the
 * administrator.
 */
#ifndef HF_TESTS_SERVERS_MARIADB_PRIVATE_H
#define HF_TESTS_SERVERS_MARIADB_PRIVATE_H

#include "tests/servers/mariadb.h"
#include "tests/servers/servers.h"

enum { HF__MARIADB_EXTRA = 16 };

struct hf__mariadb {
    struct hf__warden *warden;
    char folder[HF__SERVERS_PATH];
    char socket[HF__SERVERS_PATH + 8];
    char extra[HF__MARIADB_EXTRA + 1]
              [HF__SERVERS_LINE]; /* ended by an empty one */
    int port;
    pid_t pid;
};

/* Of the data as of the server: small files. */
#define HF__MARIADB_SMALL                                                      \
    "--innodb-log-file-size=4M", "--innodb-autoextend-increment=1",            \
        "--skip-name-resolve"
#define HF__MARIADB_PRIVATE                                                    \
    "--bind-address=127.0.0.1", "--performance-schema=OFF",                    \
        "--innodb-buffer-pool-size=16M", "--innodb-log-buffer-size=1M",        \
        "--innodb-temp-data-file-path=ibtmp1:2M:autoextend",                   \
        "--innodb-buffer-pool-dump-at-shutdown=OFF",                           \
        "--innodb-buffer-pool-load-at-startup=OFF", "--key-buffer-size=1M",    \
        "--aria-pagecache-buffer-size=1M"

#define HF__MARIADB_ADMIN          "admin"
#define HF__MARIADB_ADMIN_PASSWORD "by-the-socket-only"

/* Copies the template to the folder; makes the template if there is none. */
void hf__mariadb_fill(const char *data);
/* A folder with data that fill() puts there, and a port: no server yet. */
struct hf__mariadb *hf__mariadb_new(const struct hf__mariadb_opts *,
                                    void (*fill)(const char *data));
/* Starts the server; more: options besides, NULL-ended; or NULL. */
void hf__mariadb_launch(struct hf__mariadb *, const char *const *more);
/* The shared server is that one, which somebody else ends. */
void hf__mariadb_share_node(struct hf__mariadb *);
/* Until it takes connections. */
void hf__mariadb_await(struct hf__mariadb *);
/* Does the server take connections? */
bool hf__mariadb_answers(const struct hf__mariadb *);

#endif
