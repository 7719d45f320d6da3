/* SPDX-License-Identifier: MIT */
/*
 * Starting and ending a private Redis. Ending it for sure is left to the
 * warden, what lies in its folder to redis_folder.c, commands to
 * redis_command.c.
 */
#include "tests/servers/redis.h"
#include "tests/lib/test.h"
#include "tests/servers/certificates.h"
#include "tests/servers/redis_private.h"
#include "tests/servers/servers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STARTS_MS = 30000, LOOKS_MS = 2 };

bool hf__redis_is_installed(void)
{
    char path[HF__SERVERS_PATH];

    return hf__redis_find(path, sizeof path);
}

void hf__redis_need(void)
{
    if (!hf__redis_is_installed()) {
        hf__servers_missing("redis-server");
    }
}

/* The server decides by the name it is called by what it is. */
static void start_process(struct hf__redis *s)
{
    char program[HF__REDIS_ROOM];
    char config[HF__REDIS_ROOM];
    const char *argv[] = {program, config, s->is_sentinel ? "--sentinel" : NULL,
                          NULL};

    snprintf(program, sizeof program, "%s/redis-server", s->folder);
    snprintf(config, sizeof config, "%s/redis.conf", s->folder);
    if (!s->is_sentinel || access(config, F_OK) != 0) {
        hf__redis_write_config(s);
    }
    s->pid = hf__warden_start(s->warden, argv);
}

void hf__redis_await(struct hf__redis *s)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STARTS_MS);

    while (!hf__redis_answers(s)) {
        bool has_ended = hf__warden_wait(s->warden, LOOKS_MS);

        if (has_ended || hf__test_now_ms() > until) {
            hf__warden_print_log(s->warden);
            hf__servers_fail("redis-server %s",
                             has_ended ? "does not start" : "does not answer");
        }
    }
}

static void fill_folder(struct hf__redis *s, const struct hf__redis_opts *opts)
{
    char program[HF__SERVERS_PATH];
    char path[HF__REDIS_ROOM];

    hf__redis_find(program, sizeof program);
    snprintf(path, sizeof path, "%s/redis-server", s->folder);
    if (symlink(program, path) < 0) {
        hf__servers_fail("symlink %s", path);
    }
    snprintf(path, sizeof path, "%s/data", s->folder);
    mkdir(path, 0700);
    hf__redis_write_users(s, opts->users);
    if (s->has_tls) {
        hf__certificates_make(s->folder);
    }
}

struct hf__redis *hf__redis_new(const struct hf__redis_opts *given)
{
    static const struct hf__redis_opts none;
    const struct hf__redis_opts *opts = given ? given : &none;
    struct hf__redis *s = calloc(1, sizeof *s);

    hf__redis_need();
    if (!s) {
        hf__servers_fail("out of memory");
    }
    s->warden = hf__warden_new("redis", opts->on_disk);
    snprintf(s->folder, sizeof s->folder, "%s", hf__warden_folder(s->warden));
    snprintf(s->socket, sizeof s->socket, "%s/socket", s->folder);
    snprintf(s->password, sizeof s->password, "%s",
             opts->password ? opts->password : "");
    s->has_aof = opts->has_aof;
    s->has_tls = opts->has_tls;
    hf__servers_keep(s->extra, HF__REDIS_EXTRA, opts->extra);
    fill_folder(s, opts);
    s->is_sentinel = opts->sentinel_port != 0;
    s->port = s->is_sentinel ? opts->sentinel_port : hf__servers_take_port();
    s->tls_port = s->has_tls ? hf__servers_take_port() : 0;
    start_process(s);
    return s;
}

struct hf__redis *hf__redis_start(const struct hf__redis_opts *opts)
{
    struct hf__redis *s = hf__redis_new(opts);

    hf__redis_await(s);
    return s;
}

void hf__redis_launch(struct hf__redis *s, const char *const *extra)
{
    if (extra) {
        hf__servers_keep(s->extra, HF__REDIS_EXTRA, extra);
    }
    start_process(s);
}

void hf__redis_restart(struct hf__redis *s, const char *const *extra)
{
    hf__redis_launch(s, extra);
    hf__redis_await(s);
}

void hf__redis_stop(struct hf__redis *s)
{
    hf__warden_finish(s->warden, SIGTERM, "redis-server");
}

void hf__redis_kill(struct hf__redis *s)
{
    hf__warden_finish(s->warden, SIGKILL, "redis-server");
}

void hf__redis_pause(struct hf__redis *s)
{
    hf__warden_signal(s->warden, SIGSTOP);
}

void hf__redis_resume(struct hf__redis *s)
{
    hf__warden_signal(s->warden, SIGCONT);
}

bool hf__redis_has_ended(struct hf__redis *s)
{
    return hf__warden_wait(s->warden, 0);
}

void hf__redis_free(struct hf__redis *s)
{
    if (s) {
        hf__warden_free(s->warden);
        free(s);
    }
}

int hf__redis_port(const struct hf__redis *s)
{
    return s->port;
}

int hf__redis_tls_port(const struct hf__redis *s)
{
    return s->tls_port;
}

pid_t hf__redis_pid(const struct hf__redis *s)
{
    return s->pid;
}

const char *hf__redis_socket(const struct hf__redis *s)
{
    return s->socket;
}

void hf__redis_url(const struct hf__redis *s, int database, char *url,
                   size_t size)
{
    snprintf(url, size, "redis://%s%s%s127.0.0.1:%d/%d",
             s->password[0] ? ":" : "", s->password, s->password[0] ? "@" : "",
             s->port, database);
}
