/* SPDX-License-Identifier: MIT */
/*
 * One who is inside, for the attack: writes to its log when it came in, that it
 * still is, and when it left. It knows the public header only.
 *
 *     player cmd LOG ID MODE LEASE_MS MS FLAGS
 *     player lib LOG ID MODE LEASE_MS MS URL NAME WAIT_MS
 *
 * cmd is what "holdfast run" starts: FLAGS has t (ignores TERM), d (goes on as
 * a daemon in a session of its own). lib is a client of the library. MODE is
 * x, s, or the number of slots. Times are CLOCK_BOOTTIME, read before the
 * lock is asked if it is held, so that no moment counts that was not.
 */
#include <holdfast.h>

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS 4
#define NS      INT64_C(1000000000)
#define MS      (NS / 1000)

static int log_fd;
static const char *id;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

/* One write() each: lines of many processes do not mix. */
static void say(int64_t at, const char *what, const char *rest)
{
    char line[700];
    int n = snprintf(line, sizeof line, "%" PRId64 " %s %s%s%s\n", at, what, id,
                     rest[0] ? " " : "", rest);

    if (n < 0 || write(log_fd, line, (size_t)n) != n) {
        _exit(99);
    }
}

static int64_t number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static const char *word(const char *variable)
{
    const char *value = getenv(variable);

    return value && value[0] ? value : "-";
}

static void beat_until(int64_t until)
{
    for (int64_t t = now(); t < until; t = now()) {
        say(t, "beat", "");
        poll(NULL, 0, BEAT_MS);
    }
}

/* Away from the group and from the parent, as a daemon goes. */
static void become_daemon(void)
{
    for (int i = 0; i < 2; i++) {
        if (fork() > 0) {
            _exit(0);
        }
        setsid();
    }
}

static int be_command(char **argv)
{
    char rest[600];
    int64_t until = now() + number(argv[2]) * MS;

    if (strchr(argv[3], 't')) {
        signal(SIGTERM, SIG_IGN);
    }
    snprintf(rest, sizeof rest, "%s %s %s %s %s", word("HOLDFAST_NAME"),
             word("HOLDFAST_FENCE"), argv[0], word("HOLDFAST_SLOT"), argv[1]);
    say(now(), "in", rest);
    say(now(), "token", word("HOLDFAST_TOKEN"));
    if (strchr(argv[3], 'd')) {
        become_daemon();
    }
    beat_until(until);
    say(now(), "out", "");
    return 0;
}

/* All that the library says goes to stderr, to be looked through. */
static void hear(void *arg, hf_level level, const char *line)
{
    (void)arg;
    (void)level;
    fprintf(stderr, "%s\n", line);
}

static void stay(hf_lock *lock, int64_t until)
{
    for (int64_t t = now(); hf_held(lock) == 1; t = now()) {
        if (t >= until) {
            say(t, "out", "");
            return;
        }
        say(t, "beat", "");
        poll(NULL, 0, BEAT_MS);
    }
    say(now(), "lost", "");
}

static void be_inside(hf_lock *lock, const char *name, char **argv)
{
    char rest[600];
    int64_t t = now();

    if (hf_held(lock) != 1) {
        return;
    }
    snprintf(rest, sizeof rest, "%s %" PRIu64 " %s %d %s", name, hf_fence(lock),
             argv[0], hf_slot(lock), argv[1]);
    say(t, "in", rest);
    say(t, "token", hf_token(lock));
    stay(lock, t + number(argv[2]) * MS);
}

static int be_client(char **argv)
{
    hf_open_opts opening = HF_OPEN_OPTS_INIT;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    int r;

    opening.log = hear;
    opening.log_level = HF_LOG_DEBUG;
    opts.wait_ms = number(argv[5]);
    opts.shared = argv[0][0] == 's';
    opts.slots = (int)number(argv[0]);
    if (!strstr(argv[3], "session_timeout=")) {
        opts.lease_ms = number(argv[1]);
    }
    r = hf_open(argv[3], &opening, &client, &err);
    if (!r) {
        r = hf_acquire(client, argv[4], &opts, &lock, &err);
    }
    if (!r) {
        be_inside(lock, argv[4], argv);
        r = hf_release(lock, &err);
    }
    if (r) {
        fprintf(stderr, "%s\n", err.text);
    }
    hf_free(lock);
    hf_close(client);
    return r < 0 ? 60 - r : r;
}

int main(int argc, char **argv)
{
    bool is_command = argc == 8 && strcmp(argv[1], "cmd") == 0;

    if (!is_command && (argc != 10 || strcmp(argv[1], "lib") != 0)) {
        fprintf(stderr, "player cmd|lib ...: see its head\n");
        return 64;
    }
    log_fd = open(argv[2], O_WRONLY | O_APPEND | O_CLOEXEC);
    id = argv[3];
    return is_command ? be_command(argv + 4) : be_client(argv + 4);
}
