/* SPDX-License-Identifier: MIT */
/*
 * Starting and ending a private ZooKeeper. Ending it for sure is left to the
 * warden, what lies in its folder and how the JVM is called to
 * zookeeper_folder.c, the members of an ensemble to zookeeper_ensemble.c.
 */
#include "tests/servers/zookeeper.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STARTS_MS = 60000, LOOKS_MS = 10 };

/* libzookeeper writes the address it is about to log into one buffer of the
 * whole process (format_endpoint_info), on the thread of each handle, whether
 * anybody hears of it or not; only its log lines read it. It does so by
 * sprintf(), which no code of ours may call (tools/check_banned.py). And
 * zoo_set_servers(), by which a session is left as the last resort, closes the
 * socket that the library's thread may be reading, in zookeeper_process(): what
 * runs beneath that is all the library's. */
__attribute__((visibility("default"))) const char *
__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:__sprintf_chk\nrace:zookeeper_process\n";
}

bool hf__zookeeper_is_installed(void)
{
    char path[HF__SERVERS_PATH];

    return hf__servers_find("java", path, sizeof path) &&
           access(HF__ZOOKEEPER_JAR, R_OK) == 0;
}

void hf__zookeeper_need(void)
{
    if (!hf__zookeeper_is_installed()) {
        hf__servers_missing("zookeeper");
    }
}

struct hf__zookeeper hf__zookeeper_wish(const struct hf__zookeeper_opts *opts)
{
    static const struct hf__zookeeper_opts none;
    struct hf__zookeeper s = {.number = 1};

    opts = opts ? opts : &none;
    hf__servers_keep(s.extra, HF__ZOOKEEPER_EXTRA, opts->extra);
    hf__servers_keep(s.java, HF__ZOOKEEPER_EXTRA, opts->java);
    s.on_disk = opts->on_disk;
    s.is_for_speed = opts->is_for_speed;
    s.is_fresh = opts->is_fresh || opts->is_divisible;
    return s;
}

struct hf__zookeeper *hf__zookeeper_new(const struct hf__zookeeper_opts *opts)
{
    struct hf__zookeeper *s = malloc(sizeof *s);

    if (!s) {
        hf__servers_fail("out of memory");
    }
    *s = hf__zookeeper_wish(opts);
    s->warden = hf__warden_new("zookeeper", s->on_disk);
    snprintf(s->folder, sizeof s->folder, "%s", hf__warden_folder(s->warden));
    s->port = hf__warden_take_port(s->warden);
    s->quorum_port = hf__warden_take_port(s->warden);
    s->election_port = hf__warden_take_port(s->warden);
    return s;
}

/* A server answers before it serves, and says so. */
static bool serves(const struct hf__zookeeper *s)
{
    const char *mode = hf__zookeeper_mode(s);

    return strcmp(mode, s->members[0] ? "follower" : "standalone") == 0 ||
           (s->members[0] && strcmp(mode, "leader") == 0);
}

bool hf__zookeeper_wait(struct hf__zookeeper *s)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STARTS_MS);

    while (!serves(s)) {
        if (hf__warden_wait(s->warden, LOOKS_MS)) {
            return false;
        }
        if (hf__test_now_ms() > until) {
            hf__warden_print_log(s->warden);
            hf__servers_fail("zookeeper does not serve");
        }
    }
    return true;
}

void hf__zookeeper_await(struct hf__zookeeper *s)
{
    if (!hf__zookeeper_wait(s)) {
        hf__warden_print_log(s->warden);
        hf__servers_fail("zookeeper does not start");
    }
}

struct hf__zookeeper *hf__zookeeper_start(const struct hf__zookeeper_opts *opts)
{
    struct hf__zookeeper *s;

    hf__zookeeper_need();
    if (!hf__zookeeper_take(opts, 1, &s)) {
        hf__zookeeper_prepare();
        s = hf__zookeeper_new(opts);
        hf__zookeeper_restart(s, NULL);
    }
    return s;
}

void hf__zookeeper_launch(struct hf__zookeeper *s, const char *const *extra)
{
    if (extra) {
        hf__servers_keep(s->extra, HF__ZOOKEEPER_EXTRA, extra);
    }
    hf__zookeeper_write_config(s);
    hf__zookeeper_exec(s, NULL);
    s->is_paused = false;
}

void hf__zookeeper_restart(struct hf__zookeeper *s, const char *const *extra)
{
    hf__zookeeper_launch(s, extra);
    hf__zookeeper_await(s);
}

void hf__zookeeper_stop(struct hf__zookeeper *s)
{
    hf__warden_finish(s->warden, SIGTERM, "zookeeper");
}

void hf__zookeeper_kill(struct hf__zookeeper *s)
{
    hf__warden_finish(s->warden, SIGKILL, "zookeeper");
}

void hf__zookeeper_pause(struct hf__zookeeper *s)
{
    hf__warden_signal(s->warden, SIGSTOP);
    s->is_paused = true;
}

void hf__zookeeper_resume(struct hf__zookeeper *s)
{
    hf__warden_signal(s->warden, SIGCONT);
    s->is_paused = false;
}

bool hf__zookeeper_has_ended(struct hf__zookeeper *s)
{
    return hf__warden_wait(s->warden, 0);
}

void hf__zookeeper_free(struct hf__zookeeper *s)
{
    if (s) {
        hf__zookeeper_give(1, &s);
    }
}

int hf__zookeeper_port(const struct hf__zookeeper *s)
{
    return s->port;
}

pid_t hf__zookeeper_pid(const struct hf__zookeeper *s)
{
    return s->pid;
}

void hf__zookeeper_url(const struct hf__zookeeper *s, const char *chroot,
                       char *url, size_t size)
{
    snprintf(url, size, HF__ZOOKEEPER_SCHEME "127.0.0.1:%d%s", s->port, chroot);
}
