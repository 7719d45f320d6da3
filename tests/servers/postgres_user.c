/* SPDX-License-Identifier: MIT */
/*
 * As whom the programs of PostgreSQL run: as we do, but where that is root,
 * which they refuse, as nobody, who is on every system and needs no account
 * made. Such a server's files are given to nobody; others of its folder, the
 * log and what the warden has there, stay root's. Any process of a test may
 * call this, but not beside its threads.
 */
#include "tests/servers/postgres_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, FTW_FDS = 16, LINE_OF_MEMORY = 7 };

int hf__postgres_as_user(const char *argv[HF__POSTGRES_AS_USER])
{
    static char setpriv[HF__SERVERS_PATH];
    static const char *const words[] = {setpriv,         "--reuid=65534",
                                        "--regid=65534", "--clear-groups",
                                        "--pdeathsig",   "KILL"};

    _Static_assert(NOBODY == 65534, "as the words have it");
    if (geteuid() != 0) {
        return 0;
    }
    if (!hf__servers_find("setpriv", setpriv, sizeof setpriv)) {
        hf__servers_missing("setpriv");
    }
    memcpy(argv, words, sizeof words);
    return HF__POSTGRES_AS_USER;
}

static int give_one(const char *path, const struct stat *st, int flag,
                    struct FTW *where)
{
    (void)st;
    (void)flag;
    (void)where;
    return lchown(path, NOBODY, NOBODY);
}

void hf__postgres_give(const char *path)
{
    if (geteuid() == 0 && nftw(path, give_one, FTW_FDS, FTW_PHYS) != 0) {
        hf__servers_fail("give away %s: %s", path, strerror(errno));
    }
}

void hf__postgres_write(const char *path, const char *text)
{
    FILE *f;

    unlink(path);
    f = fopen(path, "we");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0 || chmod(path, 0600) < 0) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
    hf__postgres_give(path);
}

/* ---- what a server has outside of its folder */

/* −1: there is no server. */
static int segment_of(const struct hf__postgres *s)
{
    char path[HF__POSTGRES_ROOM];
    char line[HF__SERVERS_PATH];
    int segment = -1;
    FILE *f;

    snprintf(path, sizeof path, "%s/data/postmaster.pid", s->folder);
    f = fopen(path, "re");
    for (int i = 1; f && fgets(line, sizeof line, f); i++) {
        if (i == LINE_OF_MEMORY) {
            sscanf(line, "%*u %d", &segment);
        }
    }
    if (f) {
        fclose(f);
    }
    return segment;
}

/* Root in a container may not do that to what is another's. */
bool hf__postgres_forget_memory(const struct hf__postgres *s)
{
    int segment = segment_of(s);
    pid_t pid = segment < 0 ? -1 : fork();

    if (pid == 0) {
        if (geteuid() == 0 &&
            (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
             setresuid(NOBODY, NOBODY, NOBODY) < 0)) {
            _exit(1);
        }
        shmctl(segment, IPC_RMID, NULL);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return pid > 0;
}
