/* SPDX-License-Identifier: MIT */
/*
 * Starting and ending a private PgBouncer. Ending it for sure is left to the
 * warden; it runs as who the server runs as, for it refuses to be root too.
 */
#include "tests/servers/pgbouncer.h"
#include "tests/lib/test.h"
#include "tests/servers/postgres_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STARTS_MS = 30000, TEXT = 8192 };

struct hf__pgbouncer {
    struct hf__warden *warden;
    char folder[HF__SERVERS_PATH];
    int port;
};

void hf__pgbouncer_need(void)
{
    char path[HF__SERVERS_PATH];

    if (!hf__servers_find("pgbouncer", path, sizeof path)) {
        hf__servers_missing("pgbouncer");
    }
}

/* ---- its files */

static void name_file(const struct hf__pgbouncer *b, const char *name,
                      char path[HF__POSTGRES_ROOM])
{
    snprintf(path, HF__POSTGRES_ROOM, "%s/%s", b->folder, name);
}

static void write_files(const struct hf__pgbouncer *b,
                        const struct hf__postgres *s, const char *mode,
                        const char *const *extra)
{
    char path[HF__POSTGRES_ROOM];
    char users[HF__POSTGRES_ROOM];
    char text[TEXT];
    size_t n;

    name_file(b, "users", users);
    hf__postgres_write(users, "\"" HF__POSTGRES_USER
                              "\" \"" HF__POSTGRES_PASSWORD "\"\n");
    n = (size_t)snprintf(text, sizeof text,
                         "[databases]\n"
                         "* = host=127.0.0.1 port=%d\n"
                         "[pgbouncer]\n"
                         "listen_addr = 127.0.0.1\n"
                         "listen_port = %d\n"
                         "unix_socket_dir =\n"
                         "auth_type = trust\n"
                         "auth_file = %s\n"
                         "admin_users = " HF__POSTGRES_USER "\n"
                         "max_client_conn = 400\n"
                         "pool_mode = %s\n",
                         hf__postgres_port(s), b->port, users, mode);
    for (int i = 0; extra && extra[i] && n < sizeof text; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", extra[i]);
    }
    if (n >= sizeof text) {
        hf__servers_fail("too many settings");
    }
    name_file(b, "config", path);
    hf__postgres_write(path, text);
}

/* ---- start and end */

static void launch(struct hf__pgbouncer *b)
{
    char program[HF__SERVERS_PATH];
    char config[HF__POSTGRES_ROOM];
    const char *argv[HF__POSTGRES_AS_USER + 3];
    int n = hf__postgres_as_user(argv);

    hf__servers_find("pgbouncer", program, sizeof program);
    name_file(b, "config", config);
    argv[n++] = program;
    argv[n++] = config;
    argv[n] = NULL;
    hf__warden_start(b->warden, argv);
}

/* Its console needs no server. */
static bool answers(const struct hf__pgbouncer *b)
{
    char url[HF__POSTGRES_URL];
    PGconn *db;
    bool is_there;

    hf__pgbouncer_url(b, "pgbouncer", url, sizeof url);
    db = PQconnectdb(url);
    is_there = PQstatus(db) == CONNECTION_OK;
    PQfinish(db);
    return is_there;
}

static void await(const struct hf__pgbouncer *b)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STARTS_MS);

    while (!answers(b)) {
        bool has_ended = hf__warden_wait(b->warden, 5);

        if (has_ended || hf__test_now_ms() > until) {
            hf__warden_print_log(b->warden);
            hf__servers_fail("pgbouncer %s",
                             has_ended ? "does not start" : "does not answer");
        }
    }
}

struct hf__pgbouncer *hf__pgbouncer_start(const struct hf__postgres *s,
                                          const char *mode,
                                          const char *const *extra)
{
    struct hf__pgbouncer *b = calloc(1, sizeof *b);

    hf__pgbouncer_need();
    if (!b) {
        hf__servers_fail("out of memory");
    }
    b->warden = hf__warden_new("pgbouncer", false);
    snprintf(b->folder, sizeof b->folder, "%s", hf__warden_folder(b->warden));
    if (chmod(b->folder, 0711) < 0) {
        hf__servers_fail("chmod %s: %s", b->folder, strerror(errno));
    }
    b->port = hf__servers_take_port();
    write_files(b, s, mode, extra);
    hf__pgbouncer_restart(b);
    return b;
}

void hf__pgbouncer_restart(struct hf__pgbouncer *b)
{
    launch(b);
    await(b);
}

void hf__pgbouncer_kill(struct hf__pgbouncer *b)
{
    hf__warden_finish(b->warden, SIGKILL, "pgbouncer");
}

void hf__pgbouncer_free(struct hf__pgbouncer *b)
{
    if (b) {
        hf__warden_free(b->warden);
        free(b);
    }
}

/* ---- where it is */

int hf__pgbouncer_port(const struct hf__pgbouncer *b)
{
    return b->port;
}

void hf__pgbouncer_url(const struct hf__pgbouncer *b, const char *database,
                       char *url, size_t size)
{
    snprintf(url, size, "postgres://" HF__POSTGRES_USER "@127.0.0.1:%d/%s",
             b->port, database);
}
