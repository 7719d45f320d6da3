/* SPDX-License-Identifier: MIT */
/*
 * The owner's side of a warden: starts its process, which is a child of nobody
 * that the harness waits for, and gives it orders. What they do, that process
 * knows. Called by one thread at a time, of the process that made the warden;
 * a forked child of that may not use it.
 */
#include "tests/lib/runner.h"
#include "tests/servers/warden_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG_SHOWN = 4000 };

/* The child of a child has no parent that waits for it. */
static void fork_warden(const struct hf__warden *w, int their_end)
{
    struct hf__warden theirs = *w;
    pid_t between;

    fflush(stdout);
    theirs.fd = their_end;
    theirs.owner = getpid();
    theirs.owner_birth = hf__warden_birth(getpid());
    between = fork();
    if (between == 0) {
        if (fork() == 0) {
            hf__warden_keep(&theirs);
        }
        _exit(0);
    }
    if (between < 0 || !theirs.owner_birth) {
        hf__servers_fail("a warden: %s", strerror(errno));
    }
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {
    }
}

struct hf__warden *hf__warden_new(const char *kind, bool on_disk)
{
    struct hf__warden *w = calloc(1, sizeof *w);
    int ends[2];

    if (!w || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        hf__servers_fail("a warden: %s", strerror(errno));
    }
    w->lock = hf__servers_folder(kind, on_disk, w->folder);
    w->fd = ends[0];
    fork_warden(w, ends[1]);
    close(ends[1]);
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

static int64_t ask(struct hf__warden *w, const struct hf__warden_order *order)
{
    int64_t answer;

    if (!try_ask(w, order, &answer)) {
        hf__servers_fail("the warden of %s is gone", w->folder);
    }
    return answer;
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
