/* SPDX-License-Identifier: MIT */
/*
 * Decides how a filter is fed: both ways at once, so that one that writes
 * before it has read all does not wait for ever, nor do we for one that does
 * not read. It has our stderr and our process group, so that Ctrl-C reaches it.
 * Thread: main.
 */
#include "src/cli/filter.h"
#include "src/cli/environment.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct filter {
    const char *from; /* what it is yet to read */
    size_t left;
    char *to; /* what it has written */
    size_t done;
    size_t room;
    int in;  /* −1: it has all */
    int out; /* −1: it wrote all */
    bool is_too_long;
};

static void end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void feed(struct filter *f)
{
    ssize_t n = write(f->in, f->from, f->left);

    if (n > 0) {
        f->from += n;
        f->left -= (size_t)n;
    }
    /* EPIPE: it wants no more. */
    if (f->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        end(&f->in);
    }
}

static void drain(struct filter *f)
{
    char more;
    ssize_t n = f->done < f->room
                    ? read(f->out, f->to + f->done, f->room - f->done)
                    : read(f->out, &more, 1);

    if (n > 0 && f->done == f->room) {
        f->is_too_long = true;
        end(&f->in);
        end(&f->out);
        return;
    }
    f->done += n > 0 ? (size_t)n : 0;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        end(&f->out);
    }
}

static void talk(struct filter *f)
{
    if (f->left == 0) {
        end(&f->in);
    }
    while (f->in >= 0 || f->out >= 0) {
        struct pollfd fds[2] = {{f->in, POLLOUT, 0}, {f->out, POLLIN, 0}};

        if (poll(fds, 2, -1) < 0) {
            continue; /* a signal */
        }
        if (fds[0].revents != 0) {
            feed(f);
        }
        if (fds[1].revents != 0) {
            drain(f);
        }
    }
}

/* With these as its stdin and stdout. 0, or an errno. */
static int start(char **command, int in, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0) {
        return r;
    }
    (void)posix_spawnattr_init(&attributes);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    r = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    r = r ? r : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    r = r ? r
          : posix_spawnp(ret_pid, command[0], &actions, &attributes, command,
                         environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

static int ending_of(pid_t pid)
{
    int status = 0;
    pid_t got;

    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return cli_fail(CLI_EXIT_INTERNAL,
                        "cell: how the command ended is not known: %s",
                        strerror(errno));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : CLI_EXIT_SIGNAL + WTERMSIG(status);
}

static int fail_start(const char *command, int error)
{
    return cli_fail(error == ENOENT ? CLI_EXIT_NOTFOUND : CLI_EXIT_NOEXEC,
                    "cell: %s: %s", command, strerror(error));
}

int cli_filter(char **command, char *bytes, size_t *length, size_t room)
{
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    char *to CLI_AUTO(cli_free_auto) = cli_alloc(room);
    struct filter f = {.from = bytes, .left = *length, .to = to, .room = room};
    pid_t pid = -1;
    int r = 0;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        r = errno;
    }
    (void)unsetenv(CLI_ENVIRONMENT_PASSWORD);
    r = r ? r : start(command, in[0], out[1], &pid);
    end(&in[0]);
    end(&out[1]);
    f.in = in[1];
    f.out = out[0];
    if (r) {
        r = fail_start(command[0], r);
    } else {
        (void)fcntl(f.in, F_SETFL, O_NONBLOCK);
        talk(&f);
        r = ending_of(pid);
    }
    end(&f.in);
    end(&f.out);
    if (f.is_too_long) {
        r = cli_fail(CLI_EXIT_USAGE,
                     "cell: %s wrote more than %zu bytes; a cell has no room "
                     "for more",
                     command[0], room);
    }
    if (r == 0) {
        memcpy(bytes, to, f.done);
        *length = f.done;
    }
    return r;
}
