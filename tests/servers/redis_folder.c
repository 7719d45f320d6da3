/* SPDX-License-Identifier: MIT */
/*
 * What a private Redis finds in its folder: the program under the name that
 * makes it a server, its configuration, and its users, among them the
 * administrator, on whom no test depends by accident. Which certificates it
 * has, redis_tls.c decides. Called by the process that starts the server.
 */
#include "tests/servers/redis_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A package may have it without its service, as the tool that checks dumps:
 * both are one program, which looks at its name. */
bool hf__redis_find(char *path, size_t size)
{
    return hf__servers_find("redis-server", path, size) ||
           hf__servers_find("redis-check-rdb", path, size);
}

static FILE *create(const struct hf__redis *s, const char *name)
{
    char path[HF__REDIS_ROOM];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    f = fopen(path, "we");
    if (!f) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
    return f;
}

static void finish(FILE *f)
{
    if (fclose(f) != 0) {
        hf__servers_fail("write a file of redis-server: %s", strerror(errno));
    }
}

void hf__redis_write_users(const struct hf__redis *s, const char *more)
{
    FILE *f = create(s, "users.acl");

    fputs("user " HF__REDIS_ADMIN " on >" HF__REDIS_ADMIN_PASSWORD
          " ~* &* +@all\n",
          f);
    fprintf(f, "user default on %s%s ~* &* +@all\n",
            s->password[0] ? ">" : "nopass", s->password);
    fprintf(f, "%s\n", more ? more : "");
    finish(f);
}

static void write_tls(const struct hf__redis *s, FILE *f)
{
    fprintf(f,
            "tls-port %d\n"
            "tls-cert-file %s/tls/server.crt\n"
            "tls-key-file %s/tls/server.key\n"
            "tls-ca-cert-file %s/tls/ca.crt\n"
            "tls-auth-clients optional\n",
            s->tls_port, s->folder, s->folder, s->folder);
}

/* The last line of a name counts, so the extra ones come last. Five files that
 * grow to the usual 64 MB before they are rewritten are much for a memory. */
void hf__redis_write_config(const struct hf__redis *s)
{
    FILE *f = create(s, "redis.conf");

    fprintf(f,
            "bind 127.0.0.1\n"
            "port %d\n"
            "unixsocket %s\n"
            "unixsocketperm 700\n"
            "dir %s/data\n"
            "aclfile %s/users.acl\n"
            "databases %d\n"
            "save \"\"\n"
            "appendonly %s\n"
            "appendfsync always\n"
            "auto-aof-rewrite-min-size 16mb\n",
            s->port, s->socket, s->folder, s->folder, HF__REDIS_DATABASES,
            s->has_aof ? "yes" : "no");
    if (s->has_tls) {
        write_tls(s, f);
    }
    for (int i = 0; s->extra[i][0]; i++) {
        fprintf(f, "%s\n", s->extra[i]);
    }
    finish(f);
}
