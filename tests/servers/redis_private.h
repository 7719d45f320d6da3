/* SPDX-License-Identifier: MIT */
/*
 * What the files of the Redis fixture share, and nobody else sees: the struct,
 * what lies in its folder, and the administrator.
 */
#ifndef HF_TESTS_SERVERS_REDIS_PRIVATE_H
#define HF_TESTS_SERVERS_REDIS_PRIVATE_H

#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

enum { HF__REDIS_EXTRA = 16, HF__REDIS_ROOM = 320 };

struct hf__redis {
    struct hf__warden *warden;
    char folder[HF__SERVERS_PATH];
    char socket[HF__SERVERS_PATH + 8];
    char extra[HF__REDIS_EXTRA + 1]
              [HF__SERVERS_LINE]; /* ended by an empty one */
    char password[64];            /* "": none */
    bool has_aof;
    bool has_tls;
    bool is_sentinel; /* which writes its configuration itself later */
    int port;
    int tls_port;
    pid_t pid;
    /* For the commands of this process: each has its copy of all this. */
    _Atomic int database;
};

#define HF__REDIS_ADMIN          "admin"
#define HF__REDIS_ADMIN_PASSWORD "whatever-the-test-forbids"

/* redis.c: it runs, but does not answer yet. */
struct hf__redis *hf__redis_new(const struct hf__redis_opts *);

/* redis_folder.c: what a server finds in its folder. */
/* The program as it shall be called; false: there is none. */
bool hf__redis_find(char *path, size_t size);
void hf__redis_write_users(const struct hf__redis *, const char *more);
void hf__redis_write_config(const struct hf__redis *);

/* redis_command.c: is it done with loading, and takes commands? */
bool hf__redis_answers(const struct hf__redis *);

#endif
