/* SPDX-License-Identifier: MIT */
/*
 * Starting and ending a private PostgreSQL, and its settings: small, quick to
 * start, nothing of it outside of its folder. They stand in a file, so that
 * ALTER SYSTEM changes them. Ending it for sure is left to the warden, the
 * first data to postgres_template.c, statements to postgres_sql.c.
 */
#include "tests/servers/postgres.h"
#include "tests/lib/test.h"
#include "tests/servers/certificates.h"
#include "tests/servers/postgres_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STARTS_MS = 60000, TEXT = 16384 };

/* Time zone and messages would else be the system's; shared memory of parallel
 * queries would lie where all servers have theirs. */
static const char settings[] = "listen_addresses = '127.0.0.1'\n"
                               "max_connections = 200\n"
                               "shared_buffers = 16MB\n"
                               "huge_pages = off\n"
                               "dynamic_shared_memory_type = mmap\n"
                               "fsync = off\n"
                               "full_page_writes = on\n"
                               "max_wal_size = 128MB\n"
                               "min_wal_size = 5MB\n"
                               "log_checkpoints = off\n"
                               "lc_messages = 'C'\n"
                               "timezone = 'UTC'\n"
                               "log_timezone = 'UTC'\n";

bool hf__postgres_is_installed(void)
{
    char path[HF__SERVERS_PATH];

    return hf__postgres_find("postgres", path) &&
           hf__postgres_find("initdb", path);
}

void hf__postgres_need(void)
{
    if (!hf__postgres_is_installed()) {
        hf__servers_missing("postgres");
    }
}

/* ---- its files */

__attribute__((format(printf, 2, 3))) static void add(char text[TEXT],
                                                      const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    if (vsnprintf(text + length, TEXT - length, format, args) >=
        (int)(TEXT - length)) {
        hf__servers_fail("too many settings");
    }
    va_end(args);
}

/* The last of a name counts. */
static void write_settings(const struct hf__postgres *s,
                           const char *const *more)
{
    char path[HF__POSTGRES_ROOM];
    char text[TEXT] = "";

    add(text, "%sport = %d\nunix_socket_directories = '%s'\n", settings,
        s->port, s->socket);
    if (s->with_tls) {
        add(text,
            "ssl = on\nssl_ca_file = '%s/tls/ca.crt'\n"
            "ssl_cert_file = '%s/tls/server.crt'\n"
            "ssl_key_file = '%s/tls/server.key'\n",
            s->folder, s->folder, s->folder);
    }
    for (int i = 0; more && more[i]; i++) {
        add(text, "%s\n", more[i]);
    }
    for (int i = 0; s->extra[i][0]; i++) {
        add(text, "%s\n", s->extra[i]);
    }
    snprintf(path, sizeof path, "%s/data/postgresql.conf", s->folder);
    hf__postgres_write(path, text);
}

/* The first line that fits counts. */
static void write_hba(const struct hf__postgres *s)
{
    char path[HF__POSTGRES_ROOM];
    char text[TEXT] = "";

    for (int i = 0; s->hba[i][0]; i++) {
        add(text, "%s\n", s->hba[i]);
    }
    add(text,
        "local all " HF__POSTGRES_ADMIN " trust\n"
        "host all " HF__POSTGRES_ADMIN " 127.0.0.1/32 reject\n"
        "host all all 127.0.0.1/32 %s\n"
        "host replication " HF__POSTGRES_LINK " 127.0.0.1/32 trust\n",
        s->with_password ? "scram-sha-256" : "trust");
    snprintf(path, sizeof path, "%s/data/pg_hba.conf", s->folder);
    hf__postgres_write(path, text);
}

/* What a server that was killed left for the next: the numbers of processes,
 * which another may have by now, so that it would not start. */
static void forget_the_last(const struct hf__postgres *s)
{
    char path[HF__POSTGRES_ROOM + 32];

    snprintf(path, sizeof path, "%s/data/postmaster.pid", s->folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/.s.PGSQL.%d.lock", s->socket, s->port);
    unlink(path);
}

/* ---- start */

void hf__postgres_launch(struct hf__postgres *s, const char *const *more)
{
    char program[HF__SERVERS_PATH];
    char data[HF__POSTGRES_ROOM];
    const char *argv[HF__POSTGRES_AS_USER + 4];
    int n = hf__postgres_as_user(argv);

    hf__postgres_find("postgres", program);
    snprintf(data, sizeof data, "%s/data", s->folder);
    write_settings(s, more);
    write_hba(s);
    forget_the_last(s);
    argv[n++] = program;
    argv[n++] = "-D";
    argv[n++] = data;
    argv[n] = NULL;
    s->pid = hf__warden_start(s->warden, argv);
}

void hf__postgres_await(struct hf__postgres *s)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STARTS_MS);
    bool is_forgotten = false;

    while (!hf__postgres_answers(s) || !is_forgotten) {
        bool has_ended = hf__warden_wait(s->warden, 5);

        if (has_ended || hf__test_now_ms() > until) {
            hf__warden_print_log(s->warden);
            hf__servers_fail("postgres %s",
                             has_ended ? "does not start" : "does not answer");
        }
        is_forgotten = is_forgotten || hf__postgres_forget_memory(s);
    }
}

static void make_folder(const struct hf__postgres *s,
                        void (*fill)(const char *data))
{
    char data[HF__POSTGRES_ROOM];

    snprintf(data, sizeof data, "%s/data", s->folder);
    if (chmod(s->folder, 0711) < 0 || mkdir(s->socket, 0700) < 0) {
        hf__servers_fail("mkdir %s: %s", s->socket, strerror(errno));
    }
    hf__postgres_give(s->socket);
    fill(data);
    hf__postgres_give(data);
    if (s->with_tls) {
        hf__certificates_make(s->folder);
        hf__postgres_give(hf__certificates_file(s->folder, ""));
    }
}

struct hf__postgres *hf__postgres_new(const struct hf__postgres_opts *opts,
                                      void (*fill)(const char *data))
{
    static const struct hf__postgres_opts none;
    struct hf__postgres *s = calloc(1, sizeof *s);

    hf__postgres_need();
    if (!s) {
        hf__servers_fail("out of memory");
    }
    opts = opts ? opts : &none;
    s->warden = hf__warden_new("postgres", opts->on_disk);
    snprintf(s->folder, sizeof s->folder, "%s", hf__warden_folder(s->warden));
    snprintf(s->socket, sizeof s->socket, "%s/socket", s->folder);
    hf__servers_keep(s->extra, HF__POSTGRES_LINES, opts->extra);
    hf__servers_keep(s->hba, HF__POSTGRES_LINES, opts->hba);
    s->with_password = opts->with_password;
    s->with_tls = opts->with_tls;
    make_folder(s, fill);
    s->port = hf__servers_take_port();
    return s;
}

struct hf__postgres *hf__postgres_start(const struct hf__postgres_opts *opts)
{
    bool is_stranger = opts && opts->is_stranger;
    struct hf__postgres *s = hf__postgres_new(
        opts, is_stranger ? hf__postgres_install : hf__postgres_fill);

    hf__postgres_launch(s, NULL);
    hf__postgres_await(s);
    return s;
}

void hf__postgres_restart(struct hf__postgres *s, const char *const *extra)
{
    if (extra) {
        hf__servers_keep(s->extra, HF__POSTGRES_LINES, extra);
    }
    hf__postgres_launch(s, NULL);
    hf__postgres_await(s);
}

/* ---- end */

void hf__postgres_stop(struct hf__postgres *s)
{
    hf__warden_finish(s->warden, SIGINT, "postgres");
}

/* One that had to begin anew, since a process of it was killed, has other
 * memory. */
void hf__postgres_kill(struct hf__postgres *s)
{
    hf__postgres_forget_memory(s);
    hf__warden_signal_all(s->warden, SIGKILL);
    hf__warden_finish(s->warden, SIGKILL, "postgres");
}

void hf__postgres_pause(struct hf__postgres *s)
{
    hf__warden_signal_all(s->warden, SIGSTOP);
}

void hf__postgres_resume(struct hf__postgres *s)
{
    hf__warden_signal_all(s->warden, SIGCONT);
}

bool hf__postgres_has_ended(struct hf__postgres *s)
{
    return hf__warden_wait(s->warden, 0);
}

void hf__postgres_free(struct hf__postgres *s)
{
    if (s) {
        hf__postgres_forget_memory(s);
        hf__warden_free(s->warden);
        free(s);
    }
}

/* ---- where it is */

int hf__postgres_port(const struct hf__postgres *s)
{
    return s->port;
}

pid_t hf__postgres_pid(const struct hf__postgres *s)
{
    return s->pid;
}

const char *hf__postgres_socket(const struct hf__postgres *s)
{
    return s->socket;
}

const char *hf__postgres_tls_file(const struct hf__postgres *s,
                                  const char *name)
{
    return hf__certificates_file(s->folder, name);
}
