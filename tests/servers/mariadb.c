/* SPDX-License-Identifier: MIT */
/*
 * Starting and ending a private MariaDB. The options make it small and quick
 * to start, and change nothing of how it promises: what is committed is
 * flushed. Ending it for sure is left to the warden, the first data to
 * mariadb_template.c, statements to mariadb_sql.c.
 */
#include "tests/servers/mariadb.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/servers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STARTS_MS = 60000, ARGS_MAX = 61 };
enum { NAME_ROOM = 320 };

bool hf__mariadb_is_installed(void)
{
    char path[HF__SERVERS_PATH];

    return hf__servers_find("mariadbd", path, sizeof path) &&
           hf__servers_find("mariadb-install-db", path, sizeof path);
}

void hf__mariadb_need(void)
{
    if (!hf__mariadb_is_installed()) {
        hf__servers_missing("mariadbd");
    }
}

void hf__mariadb_launch(struct hf__mariadb *m, const char *const *more)
{
    static const char *const fixed[] = {HF__MARIADB_SMALL, HF__MARIADB_PRIVATE};
    char env[HF__SERVERS_PATH];
    char program[HF__SERVERS_PATH];
    char own[5][NAME_ROOM];
    const char *argv[ARGS_MAX + 1] = {env,    own[4], program, "--no-defaults",
                                      own[0], own[1], own[2],  own[3]};
    int n = 8;

    hf__servers_find("env", env, sizeof env);
    hf__servers_find("mariadbd", program, sizeof program);
    snprintf(own[0], NAME_ROOM, "--datadir=%s/data", m->folder);
    snprintf(own[1], NAME_ROOM, "--socket=%s", m->socket);
    snprintf(own[2], NAME_ROOM, "--port=%d", m->port);
    /* A server that starts removes what servers before it left in /tmp, and
     * what others use there. */
    snprintf(own[3], NAME_ROOM, "--tmpdir=%s/tmp", m->folder);
    /* For the programs that it runs: a node of a cluster does. */
    snprintf(own[4], NAME_ROOM, "PATH=%s:/usr/bin:/bin", m->folder);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        argv[n++] = fixed[i];
    }
    if (geteuid() == 0) {
        argv[n++] = "--user=root"; /* another needs other rights */
    }
    for (int i = 0; m->extra[i][0]; i++) {
        argv[n++] = m->extra[i];
    }
    for (int i = 0; more && more[i] && n < ARGS_MAX; i++) {
        argv[n++] = more[i];
    }
    m->pid = hf__warden_start(m->warden, argv);
}

void hf__mariadb_await(struct hf__mariadb *m)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STARTS_MS);

    while (!hf__mariadb_answers(m)) {
        bool has_ended = hf__warden_wait(m->warden, 5);

        if (has_ended || hf__test_now_ms() > until) {
            hf__warden_print_log(m->warden);
            hf__servers_fail("mariadbd %s",
                             has_ended ? "does not start" : "does not answer");
        }
    }
}

struct hf__mariadb *hf__mariadb_new(const struct hf__mariadb_opts *opts,
                                    void (*fill)(const char *data))
{
    struct hf__mariadb *m = calloc(1, sizeof *m);
    char data[NAME_ROOM];
    char temporary[NAME_ROOM];

    hf__mariadb_need();
    if (!m) {
        hf__servers_fail("out of memory");
    }
    m->warden = hf__warden_new("mariadb", opts && opts->on_disk);
    snprintf(m->folder, sizeof m->folder, "%s", hf__warden_folder(m->warden));
    snprintf(m->socket, sizeof m->socket, "%s/socket", m->folder);
    snprintf(data, sizeof data, "%s/data", m->folder);
    hf__servers_keep(m->extra, HF__MARIADB_EXTRA, opts ? opts->extra : NULL);
    snprintf(temporary, sizeof temporary, "%s/tmp", m->folder);
    mkdir(temporary, 0700);
    fill(data);
    m->port = hf__servers_take_port();
    return m;
}

struct hf__mariadb *hf__mariadb_start(const struct hf__mariadb_opts *opts)
{
    struct hf__mariadb *m = hf__mariadb_new(opts, hf__mariadb_fill);

    hf__mariadb_launch(m, NULL);
    hf__mariadb_await(m);
    return m;
}

void hf__mariadb_restart(struct hf__mariadb *m, const char *const *extra)
{
    if (extra) {
        hf__servers_keep(m->extra, HF__MARIADB_EXTRA, extra);
    }
    hf__mariadb_launch(m, NULL);
    hf__mariadb_await(m);
}

void hf__mariadb_stop(struct hf__mariadb *m)
{
    hf__warden_finish(m->warden, SIGTERM, "mariadbd");
}

void hf__mariadb_kill(struct hf__mariadb *m)
{
    hf__warden_finish(m->warden, SIGKILL, "mariadbd");
}

void hf__mariadb_pause(struct hf__mariadb *m)
{
    hf__warden_signal(m->warden, SIGSTOP);
}

void hf__mariadb_resume(struct hf__mariadb *m)
{
    hf__warden_signal(m->warden, SIGCONT);
}

bool hf__mariadb_has_ended(struct hf__mariadb *m)
{
    return hf__warden_wait(m->warden, 0);
}

void hf__mariadb_free(struct hf__mariadb *m)
{
    if (m) {
        hf__warden_free(m->warden);
        free(m);
    }
}

int hf__mariadb_port(const struct hf__mariadb *m)
{
    return m->port;
}

pid_t hf__mariadb_pid(const struct hf__mariadb *m)
{
    return m->pid;
}

const char *hf__mariadb_socket(const struct hf__mariadb *m)
{
    return m->socket;
}
