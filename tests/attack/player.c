/* SPDX-License-Identifier: MIT */
/*
 * One who is inside, for the attack: writes to its log when it came in, that it
 * still is, and when it left. It knows the public header only.
 *
 *     player cmd LOG ID MODE LEASE_MS MS FLAGS
 *     player lib LOG ID MODE LEASE_MS MS URL NAME WAIT_MS
 *     player loop LOG ID MODE LEASE_MS MS URL NAMES WAIT_MS
 *
 * cmd is what "holdfast run" starts: FLAGS has t (ignores TERM), d (goes on as
 * a daemon in a session of its own). lib is a client of the library, and loop
 * one that locks again and again, NAMES with commas between them, until it has
 * a TERM: its grants are ID-1, ID-2, …, each held for MS at most. MODE is
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
static volatile sig_atomic_t is_over;

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
        if (t >= until || is_over) {
            say(t, "out", "");
            return;
        }
        say(t, "beat", "");
        poll(NULL, 0, BEAT_MS);
    }
    say(now(), "lost", hf_strreason(hf_lost_reason(lock)));
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

/* One grant of a client, with what went wrong in err. */
static int lock_once(hf_client *client, const char *name, char **argv,
                     hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;
    int r;

    opts.wait_ms = number(argv[5]);
    opts.shared = argv[0][0] == 's';
    opts.slots = (int)number(argv[0]);
    if (!strstr(argv[3], "session_timeout=")) {
        opts.lease_ms = number(argv[1]);
    }
    r = hf_acquire(client, name, &opts, &lock, err);
    if (!r) {
        be_inside(lock, name, argv);
        r = hf_release(lock, err);
    }
    hf_free(lock);
    return r;
}

static int open_client(const char *url, hf_level level, hf_client **client,
                       hf_error *err)
{
    hf_open_opts opening = HF_OPEN_OPTS_INIT;

    opening.log = hear;
    opening.log_level = level;
    return hf_open(url, &opening, client, err);
}

static int be_client(char **argv)
{
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;
    int r = open_client(argv[3], HF_LOG_DEBUG, &client, &err);

    if (!r) {
        r = lock_once(client, argv[4], argv, &err);
    }
    if (r) {
        fprintf(stderr, "%s\n", err.text);
    }
    hf_close(client);
    return r < 0 ? 60 - r : r;
}

static void be_over(int signal_number)
{
    (void)signal_number;
    is_over = 1;
}

/* A failure is told, and tried again: servers come and go. */
static void tell(int status, const char *text)
{
    char line[600];

    snprintf(line, sizeof line, "%d %s", status, text);
    line[strcspn(line, "\n")] = '\0';
    say(now(), "refused", line);
    poll(NULL, 0, 50);
}

/* The name whose turn it is, by chance. */
static char *any_of(char **names, int n, unsigned *seed)
{
    return names[(unsigned)rand_r(seed) % (unsigned)n];
}

static int lock_again_and_again(char **argv, char **names, int n)
{
    char grant[80];
    char ms[24];
    const char *whose = id;
    char *args[] = {argv[0], argv[1], ms, argv[3], argv[4], argv[5]};
    unsigned seed = (unsigned)getpid();
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;

    id = grant;
    for (int i = 1; !is_over; i++) {
        int r = HF_OK;

        snprintf(grant, sizeof grant, "%s-%d", whose, i);
        snprintf(ms, sizeof ms, "%" PRId64,
                 1 + rand_r(&seed) % number(argv[2]));
        if (!client) {
            r = open_client(argv[3], HF_LOG_INFO, &client, &err);
        }
        if (!r) {
            char *name = any_of(names, n, &seed);

            say(now(), "ask", name);
            r = lock_once(client, name, args, &err);
        }
        if (r < 0) {
            tell(r, err.text);
        }
    }
    hf_close(client);
    return 0;
}

static int be_loop(char **argv)
{
    char *names[16];
    char *rest = argv[4];
    int n = 0;

    signal(SIGTERM, be_over);
    for (char *name = strtok_r(rest, ",", &rest); name && n < 16;
         name = strtok_r(rest, ",", &rest)) {
        names[n++] = name;
    }
    return n ? lock_again_and_again(argv, names, n) : 64;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int argc;
        int (*be)(char **argv);
    } kinds[] = {
        {"cmd", 8, be_command}, {"lib", 10, be_client}, {"loop", 10, be_loop}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (argc == kinds[i].argc && strcmp(argv[1], kinds[i].name) == 0) {
            log_fd = open(argv[2], O_WRONLY | O_APPEND | O_CLOEXEC);
            id = argv[3];
            return kinds[i].be(argv + 4);
        }
    }
    fprintf(stderr, "player cmd|lib|loop ...: see its head\n");
    return 64;
}
