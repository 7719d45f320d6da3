/* SPDX-License-Identifier: MIT */
/*
 * How fixtures fail, and what they look up before they start a server. Which
 * server that is, they know themselves. Any process of a test may call this.
 */
#include "tests/servers/servers.h"
#include "tests/lib/runner.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GONE_MS = 10000 };

void hf__servers_fail(const char *format, ...)
{
    char why[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (hf__test_page) {
        hf__test_conclude(HF__TEST_FAILED, "%s", why);
        _exit(1);
    }
    printf("Bail out! %s\n", why);
    exit(1);
}

void hf__servers_missing(const char *program)
{
    char why[200];
    const char *ci = getenv("CI");

    snprintf(why, sizeof why, "%s is not installed (tools/setup.sh test)",
             program);
    if (ci && ci[0]) {
        hf__servers_fail("%s", why);
    }
    SKIP(why);
}

bool hf__servers_find(const char *program, char *path, size_t size)
{
    char folders[4096];
    const char *given = getenv("PATH");
    char *rest = folders;
    char *folder;

    snprintf(folders, sizeof folders, "%s:/usr/sbin:/usr/local/sbin:/sbin",
             given ? given : "/usr/bin");
    while ((folder = strsep(&rest, ":"))) {
        int n = snprintf(path, size, "%s/%s", folder, program);

        if (folder[0] == '/' && n < (int)size && access(path, X_OK) == 0) {
            return true;
        }
    }
    path[0] = '\0';
    return false;
}

void hf__servers_exec(const char *const argv[])
{
    /* execv() changes no argument, though its type does not say so. */
    union {
        const char *const *ours;
        char *const *theirs;
    } args = {.ours = argv};

    execv(argv[0], args.theirs);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void print_file(const char *path)
{
    char line[1024];
    FILE *f = fopen(path, "re");

    while (f && fgets(line, sizeof line, f)) {
        printf("# %s", line);
    }
    if (f) {
        fclose(f);
    }
}

bool hf__servers_run(const char *const argv[], const char *log)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        hf__servers_exec(argv);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) {
        print_file(log);
    }
    return status == 0;
}

void hf__servers_keep(char (*lines)[HF__SERVERS_LINE], int most,
                      const char *const *given)
{
    int i = 0;

    for (; given && given[i]; i++) {
        if (i == most || snprintf(lines[i], HF__SERVERS_LINE, "%s", given[i]) >=
                             HF__SERVERS_LINE) {
            hf__servers_fail("too many or too long options: %s", given[i]);
        }
    }
    lines[i][0] = '\0';
}

bool hf__servers_is_gone(pid_t pid)
{
    int64_t until = hf__test_now_ms() + GONE_MS;

    while (kill(pid, 0) == 0 && hf__test_now_ms() < until) {
        hf__test_pause_ms(5);
    }
    return kill(pid, 0) < 0;
}
