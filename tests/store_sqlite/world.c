/* SPDX-License-Identifier: MIT */
/*
 * The words: sessions, processes, files. Each test begins with an empty
 * folder, so the store is new. Thread: the test's.
 */
#include "tests/store_sqlite/world.h"

#include "src/base/rand.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 20, SLOW_FACTOR = 5 };

const char *path_of(const char *suffix)
{
    static char texts[4][512];
    static unsigned turn;
    char *text = texts[turn++ % 4];

    (void)snprintf(text, sizeof texts[0], "%s/locks.db%s", hf__test_folder(),
                   suffix);
    return text;
}

/* ---- sessions ----------------------------------------------------------- */

int64_t stretched(int64_t time)
{
    return getenv("HOLDFAST_TEST_SLOW") ? time * SLOW_FACTOR : time;
}

static hf__time patience(const struct peer *p)
{
    return hf__after_ms(hf__now(),
                        p->patience_ms ? p->patience_ms : stretched(5000));
}

int enter_path(struct peer *p, const char *path)
{
    struct hf__url *url = NULL;
    char text[600];
    int r;

    p->error = (hf_error)HF_ERROR_INIT;
    (void)snprintf(text, sizeof text, "%s:%s", store_scheme, path);
    r = hf__url_parse(text, &url, &p->error);
    if (r == HF_OK) {
        r = hf__conn_open(&p->conn, hf__backend_find(store_scheme), url, "",
                          patience(p), &p->error);
    }
    hf__url_free(url);
    begin_anew(p);
    return r;
}

int enter(struct peer *p)
{
    return enter_path(p, path_of(""));
}

void leave(struct peer *p)
{
    hf__conn_close(&p->conn);
}

void begin_anew(struct peer *p)
{
    hf__random(p->token.bytes, sizeof p->token.bytes);
}

static struct hf__key key_of(char *buf, const char *name)
{
    (void)snprintf(buf, HF__KEY_MAX, "test:%s", name);
    return (struct hf__key){buf, (uint16_t)strlen(buf), 5};
}

/* A store that asks for another try gets it, as often as from the core. */
static void execute(struct peer *p, struct hf__op *op)
{
    struct hf__op *ops[] = {op};

    for (int i = 0; i <= TRIES; i++) {
        p->error = (hf_error)HF_ERROR_INIT;
        op->result = HF_OK;
        (void)!hf__conn_execute(&p->conn, ops, 1, patience(p), &p->error);
        if (op->result != HF__AGAIN) {
            break;
        }
        hf__test_pause_ms(2);
    }
}

static int run(struct peer *p, struct hf__op *op, const char *name)
{
    static struct hf__owner owner = {.label = "peer", .host = "here"};
    char buf[HF__KEY_MAX + 1];

    owner.pid = getpid();
    op->key = key_of(buf, name);
    op->token = p->token;
    op->owner = &owner;
    op->ret_record = &p->record;
    op->err = &p->error;
    execute(p, op);
    if (op->result == HF_OK && op->fence != 0) {
        p->fence = op->fence;
    }
    return op->result;
}

int acquire(struct peer *p, const char *name, int64_t lease_ms)
{
    struct hf__op op = {.kind = HF__OP_ACQUIRE,
                        .lease_us = lease_ms * 1000,
                        .keep_us = p->keep_ms * 1000,
                        .lock_mode = p->lock_mode,
                        .queueing =
                            p->is_fair ? HF__QUEUE_ALWAYS : HF__QUEUE_NEVER};
    int r = run(p, &op, name);

    p->is_queued = op.is_queued;
    p->slot = op.slot;
    p->tries++;
    return r;
}

int release(struct peer *p, const char *name)
{
    struct hf__op op = {.kind = HF__OP_RELEASE};

    return run(p, &op, name);
}

int renew(struct peer *p, const char *name, int64_t lease_ms)
{
    struct hf__op op = {.kind = HF__OP_RENEW, .lease_us = lease_ms * 1000};

    return run(p, &op, name);
}

int raise_to(struct peer *p, const char *name, uint64_t fence)
{
    struct hf__op op = {.kind = HF__OP_RAISE, .fence = fence};

    return run(p, &op, name);
}

int inspect(struct peer *p, const char *name)
{
    struct hf__op op = {.kind = HF__OP_INSPECT};

    return run(p, &op, name);
}

void count_crowd(struct peer *p, const char *name, int *ret_holders,
                 int *ret_waiters)
{
    struct hf__participant_list crowd = {0};
    struct hf__op op = {.kind = HF__OP_INSPECT, .ret_participants = &crowd};

    EXPECT_IS(run(p, &op, name), HF_OK);
    *ret_holders = 0;
    *ret_waiters = 0;
    for (int i = 0; i < crowd.n; i++) {
        (*(crowd.list[i].is_waiting ? ret_waiters : ret_holders))++;
    }
    hf__participant_list_free(&crowd);
}

int wait_for(struct peer *p, const char *name, int64_t ms, bool *ret_fired)
{
    char buf[HF__KEY_MAX + 1];
    struct hf__watch watch = {.key = key_of(buf, name),
                              .fence = p->record.fence,
                              .token = p->record.token,
                              .lock_mode = p->lock_mode};
    struct hf__watch *one = &watch;
    int r;

    if (p->is_queued) {
        watch.ticket = p->token;
    }
    p->error = (hf_error)HF_ERROR_INIT;
    r = hf__conn_wait(&p->conn, &one, 1, hf__after_ms(hf__now(), ms),
                      &p->error);
    *ret_fired = watch.has_fired;
    return r;
}

int acquire_within(struct peer *p, const char *name, int64_t ms)
{
    int64_t end = now_us() + ms * 1000;
    int r = acquire(p, name, 20000);

    while (r == HF_BUSY && now_us() < end) {
        bool fired;

        EXPECT_IS(wait_for(p, name, (end - now_us()) / 1000 + 1, &fired),
                  HF_OK);
        r = acquire(p, name, 20000);
    }
    return r;
}

/* ---- processes ---------------------------------------------------------- */

struct stage *stage_new(void)
{
    void *page = mmap(NULL, sizeof(struct stage), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(page != MAP_FAILED);
    return page;
}

pid_t start(void (*fn)(struct stage *, int), struct stage *stage, int index)
{
    pid_t pid;

    (void)hf__test_folder();
    (void)fflush(stdout);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        fn(stage, index);
        _exit(0);
    }
    return pid;
}

pid_t start_ready(void (*fn)(struct stage *, int), struct stage *stage,
                  int index)
{
    int before = atomic_load(&stage->ready);
    pid_t pid = start(fn, stage, index);

    until(&stage->ready, before + 1);
    return pid;
}

void stay(struct stage *stage)
{
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->stop, 1);
}

void hold_job(struct stage *stage, int lease_ms)
{
    PEER(me);

    EXPECT_IS(acquire(&me, "job", lease_ms), HF_OK);
    atomic_store(&stage->last_fence, (long long)me.fence);
    stay(stage);
}

int finish(pid_t pid)
{
    int status = 0;

    EXPECT_IS(waitpid(pid, &status, 0), pid);
    EXPECT_SAFE(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void kill_now(pid_t pid)
{
    EXPECT_IS(kill(pid, SIGKILL), 0);
    EXPECT_IS(finish(pid), -SIGKILL);
}

int64_t now_us(void)
{
    return hf__now().ns / 1000;
}

void until(atomic_int *value, int least)
{
    int64_t end = now_us() + stretched(10000000);

    while (atomic_load(value) < least) {
        EXPECT_LESS(now_us(), end);
        hf__test_pause_ms(1);
    }
}

int fairness(struct stage *stage, int n)
{
    double sum = 0;
    double squares = 0;

    for (int i = 0; i < n; i++) {
        double count = (double)atomic_load(&stage->count[i]);

        sum += count;
        squares += count * count;
    }
    return squares > 0 ? (int)(1000 * sum * sum / (n * squares)) : 0;
}

/* ---- others ------------------------------------------------------------- */

void become(int uid)
{
    if (geteuid() == 0) {
        EXPECT_IS(setgroups(0, NULL), 0);
        EXPECT_IS(setgid(uid == MEMBER ? GROUP : STRANGER), 0);
        EXPECT_IS(setuid((uid_t)uid), 0);
    }
}

void open_to_all(void)
{
    EXPECT_IS(chmod(hf__test_folder(), 01777), 0);
}

const char *secret(void)
{
    return path_of(".private/secret");
}

void keep_a_secret(void)
{
    int fd;

    EXPECT_IS(mkdir(path_of(".private"), 0700), 0);
    fd = open(secret(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT(fd >= 0);
    EXPECT_IS(write(fd, "precious", 8), 8);
    (void)close(fd);
}

void expect_the_secret_kept(void)
{
    struct stat st;

    EXPECT_IS(stat(secret(), &st), 0);
    EXPECT_IS(st.st_size, 8);
}

/* ---- the database ------------------------------------------------------- */

void sql(const char *path, const char *text)
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        sqlite3 *db = NULL;
        int rc = sqlite3_open(path, &db);

        (void)sqlite3_busy_timeout(db, 2000);
        if (rc == SQLITE_OK) {
            rc = sqlite3_exec(db, text, NULL, NULL, NULL);
        }
        (void)sqlite3_close(db);
        _exit(rc == SQLITE_OK ? 0 : 1);
    }
    EXPECT_IS(finish(pid), 0);
}

void copy_file(const char *from, const char *to)
{
    char buf[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;

    EXPECT(in >= 0);
    EXPECT(out >= 0);
    while ((n = read(in, buf, sizeof buf)) > 0) {
        EXPECT_IS(write(out, buf, (size_t)n), n);
    }
    (void)close(in);
    (void)close(out);
}

void expect_nobody(const char *name)
{
    int holders = 0;
    int waiters = 0;
    PEER(me);

    EXPECT_IS(acquire(&me, name, 20000), HF_OK);
    EXPECT_IS(release(&me, name), HF_OK);
    count_crowd(&me, name, &holders, &waiters);
    EXPECT_IS(holders, 0);
    EXPECT_IS(waiters, 0);
}
