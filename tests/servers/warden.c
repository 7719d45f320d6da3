/* SPDX-License-Identifier: MIT */
/*
 * The owner's side of a warden: starts its process, which is a child of nobody
 * that the harness waits for, and gives it orders. What they do, that process
 * knows. Called by one thread at a time, of the process that made the warden;
 * a forked child of that may not use it.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/warden_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG_SHOWN = 4000, STOPS_MS = 60000 };

/* By the folder's descriptor, for its path may be too long for a socket's. */
static int open_socket(const char *folder, bool listens)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int r;

    snprintf(at.sun_path, sizeof at.sun_path,
             "/proc/self/fd/%d/" HF__WARDEN_SOCKET, dir);
    r = listens ? bind(fd, (void *)&at, sizeof at)
                : connect(fd, (void *)&at, sizeof at);
    if (r == 0 && listens) {
        r = listen(fd, 1);
    }
    close(dir);
    if (r < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The child of a child has no parent that waits for it. */
static void fork_warden(struct hf__warden theirs)
{
    pid_t between;

    theirs.fd = -1;
    theirs.run = hf__warden_run();
    if (hf__warden_bear(&theirs)) {
        return;
    }
    fflush(stdout);
    between = fork();
    if (between == 0) {
        if (fork() == 0) {
            hf__warden_keep(&theirs);
        }
        _exit(0);
    }
    if (between < 0) {
        hf__servers_fail("a warden: %s", strerror(errno));
    }
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* The owner comes first, so that there is one when the warden looks. */
struct hf__warden *hf__warden_new(const char *kind, bool on_disk)
{
    struct hf__warden *w = calloc(1, sizeof *w);

    if (!w) {
        hf__servers_fail("out of memory");
    }
    w->lock = hf__servers_folder(kind, on_disk, w->folder);
    w->listener = open_socket(w->folder, true);
    w->fd = open_socket(w->folder, false);
    if (w->fd < 0) {
        hf__servers_fail("a warden: %s", strerror(errno));
    }
    fork_warden(*w);
    close(w->listener);
    close(w->lock);
    return w;
}

/* False: there is no warden any more. */
static bool try_ask(struct hf__warden *w, const struct hf__warden_order *order,
                    int64_t *ret_answer)
{
    ssize_t n;

    send(w->fd, order, sizeof *order, MSG_NOSIGNAL);
    while ((n = recv(w->fd, ret_answer, sizeof *ret_answer, 0)) < 0 &&
           errno == EINTR) {
    }
    return n == sizeof *ret_answer;
}

struct hf__warden *hf__warden_reach(const char *folder)
{
    struct hf__warden *w = calloc(1, sizeof *w);
    int64_t ended;

    if (!w) {
        hf__servers_fail("out of memory");
    }
    snprintf(w->folder, sizeof w->folder, "%s", folder);
    w->fd = open_socket(folder, false);
    if (w->fd < 0 ||
        !try_ask(w, &(struct hf__warden_order){.op = HF__WARDEN_WAIT},
                 &ended)) {
        close(w->fd);
        free(w);
        return NULL;
    }
    return w;
}

static int64_t ask(struct hf__warden *w, const struct hf__warden_order *order)
{
    int64_t answer;

    if (!try_ask(w, order, &answer)) {
        hf__servers_fail("the warden of %s is gone, asked for %d", w->folder,
                         (int)order->op);
    }
    return answer;
}

void hf__warden_leave(struct hf__warden *w)
{
    ask(w, &(struct hf__warden_order){.op = HF__WARDEN_LEAVE});
    close(w->fd);
    free(w);
}

void hf__warden_free(struct hf__warden *w)
{
    int64_t answer;

    if (w) {
        if (!try_ask(w, &(struct hf__warden_order){.op = HF__WARDEN_END},
                     &answer)) {
            hf__test_remove_tree(w->folder);
        }
        close(w->fd);
        free(w);
    }
}

const char *hf__warden_folder(const struct hf__warden *w)
{
    return w->folder;
}

pid_t hf__warden_start(struct hf__warden *w, const char *const argv[])
{
    struct hf__warden_order order = {.op = HF__WARDEN_START};

    for (int i = 0; argv[i]; i++) {
        size_t length = strlen(argv[i]) + 1;

        if (i == HF__WARDEN_ARGV ||
            order.argv_length + length > HF__WARDEN_ARGV_BYTES) {
            hf__servers_fail("too many arguments for %s", argv[0]);
        }
        memcpy(order.argv + order.argv_length, argv[i], length);
        order.argv_length += length;
    }
    return (pid_t)ask(w, &order);
}

void hf__warden_signal(struct hf__warden *w, int number)
{
    ask(w,
        &(struct hf__warden_order){.op = HF__WARDEN_SIGNAL, .value = number});
}

void hf__warden_signal_all(struct hf__warden *w, int number)
{
    ask(w, &(struct hf__warden_order){.op = HF__WARDEN_SIGNAL_ALL,
                                      .value = number});
}

int hf__warden_take_port(struct hf__warden *w)
{
    return (int)ask(w, &(struct hf__warden_order){.op = HF__WARDEN_PORT});
}

bool hf__warden_wait(struct hf__warden *w, int64_t ms)
{
    return ask(w, &(struct hf__warden_order){.op = HF__WARDEN_WAIT,
                                             .value = ms}) != 0;
}

void hf__warden_print_log(const struct hf__warden *w)
{
    char path[HF__SERVERS_PATH + 8];
    char text[LOG_SHOWN + 1] = "";
    FILE *f;

    snprintf(path, sizeof path, "%s/log", w->folder);
    f = fopen(path, "re");
    if (f) {
        fseek(f, 0, SEEK_END);
        fseek(f, ftell(f) > LOG_SHOWN ? -LOG_SHOWN : -ftell(f), SEEK_END);
        printf("%.*s\n", (int)fread(text, 1, LOG_SHOWN, f), text);
        fclose(f);
    }
}

void hf__warden_finish(struct hf__warden *w, int signal, const char *program)
{
    hf__warden_signal(w, signal);
    if (!hf__warden_wait(w, hf__test_patience(STOPS_MS))) {
        hf__warden_print_log(w);
        hf__servers_fail("%s does not end", program);
    }
}
