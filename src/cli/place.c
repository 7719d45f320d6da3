/* SPDX-License-Identifier: MIT */
/*
 * Decides where the default store lives: /var/lib/holdfast for root, else
 * ~/.local/state/holdfast; on a network home /var/tmp/holdfast-UID, which
 * the user must own and nobody else may enter. A folder that another user
 * could write to would let him take or free any lock, so it is refused.
 * A home that is missing is not replaced by another place: it may be mounted
 * later, and then a shell and cron would use two stores. Thread: main.
 */
#include "src/cli/place.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static const char ways[] =
    "; name a store: --url URL, HOLDFAST_URL=URL, or a line `url = URL` in "
    "~/.config/holdfast/config or /etc/holdfast/config (for "
    "example " CLI_DEFAULT_SCHEME ":/path/locks.db)";

/* Who is not found is no error, and neither are the codes that C libraries
 * give then. But a home that could not be looked up must not count as none:
 * the file that names the store may be in it. */
int cli_place_home(char **ret_home)
{
    const struct passwd *entry;
    int code;

    errno = 0;
    entry = getpwuid(geteuid());
    code = errno;
    *ret_home = NULL;
    if (entry && entry->pw_dir && entry->pw_dir[0] == '/') {
        *ret_home = cli_strdup(entry->pw_dir);
    }
    if (entry || !code || code == ENOENT || code == ESRCH || code == EBADF ||
        code == EPERM) {
        return 0;
    }
    return cli_fail(code == ENOMEM ? CLI_EXIT_MEMORY : CLI_EXIT_CONFIG,
                    "cannot look up uid %ld in the passwd database: %s",
                    (long)geteuid(),
                    code == ENOMEM ? "out of memory" : strerror(code));
}

/* Super-block numbers from linux/magic.h and the file systems' own headers. */
static bool is_network(const char *path)
{
    static const uint32_t magics[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x73757245, /* Coda */
        0x01021997, /* 9P */
        0x65735546, /* FUSE: sshfs and its kind */
        0x00c36400, /* Ceph */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x01161970, /* GFS2 */
        0x7461636f, /* OCFS2 */
        0x786f4256, /* VirtualBox shared folder */
        0x19830326, /* BeeGFS */
        0xaad7aaea, /* PanFS */
        0xbacbacbc, /* VMware shared folder */
        0x564c,     /* NCP */
    };
    struct statfs fs;

    if (statfs(path, &fs)) {
        return false;
    }
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if ((uint32_t)fs.f_type == magics[i]) {
            return true;
        }
    }
    return false;
}

/* Ours, a folder, not a link, and no looser than `refused` allows. */
static bool is_safe(const char *path, mode_t refused)
{
    struct stat st;

    if (lstat(path, &st)) {
        (void)cli_fail(CLI_EXIT_CONFIG, "cannot look at %s: %s%s", path,
                       strerror(errno), ways);
    } else if (!S_ISDIR(st.st_mode)) {
        (void)cli_fail(
            CLI_EXIT_CONFIG,
            "%s is not a folder, or is a symbolic link; the store would "
            "not be safe there%s",
            path, ways);
    } else if (st.st_uid != geteuid()) {
        (void)cli_fail(
            CLI_EXIT_CONFIG,
            "%s belongs to uid %ld, not to you; the store would not be "
            "safe there%s",
            path, (long)st.st_uid, ways);
    } else if (st.st_mode & refused) {
        (void)cli_fail(CLI_EXIT_CONFIG,
                       "%s can be used by others (mode %03o): chmod %s %s%s",
                       path, (unsigned)st.st_mode & 0777,
                       refused & S_IRUSR >> 3 ? "0700" : "go-w", path, ways);
    } else {
        return true;
    }
    return false;
}

static bool make(const char *path)
{
    if (!mkdir(path, 0700) || errno == EEXIST) {
        return true;
    }
    (void)cli_fail(CLI_EXIT_CONFIG, "cannot create %s: %s%s", path,
                   strerror(errno), ways);
    return false;
}

/* Make the last `depth` folders of the path, outermost first. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the caller says */
static bool make_all(char *path, int depth)
{
    char *slash = strrchr(path, '/');
    bool is_made;

    if (depth > 1 && slash && slash != path) {
        *slash = 0;
        is_made = make_all(path, depth - 1);
        *slash = '/';
        if (!is_made) {
            return false;
        }
    }
    return make(path);
}

static char *in_home(char *home)
{
    char *path;

    if (access(home, X_OK)) {
        (void)cli_fail(CLI_EXIT_CONFIG, "your home %s cannot be used: %s%s",
                       home, strerror(errno), ways);
        return NULL;
    }
    path = cli_format("%s/.local/state/holdfast", home);
    if (make_all(path, 3) && is_safe(path, S_IWGRP | S_IWOTH)) {
        return path;
    }
    cli_free(path);
    return NULL;
}

static char *checked(char *path, mode_t refused)
{
    if (make(path) && is_safe(path, refused)) {
        return path;
    }
    cli_free(path);
    return NULL;
}

char *cli_place_default(void)
{
    char *home CLI_AUTO(cli_free_auto) = NULL;

    if (!geteuid()) {
        return checked(cli_strdup("/var/lib/holdfast"), S_IWGRP | S_IWOTH);
    }
    if (cli_place_home(&home)) {
        return NULL;
    }
    if (!home) {
        (void)cli_fail(CLI_EXIT_CONFIG,
                       "uid %ld has no home in the passwd database%s",
                       (long)geteuid(), ways);
        return NULL;
    }
    if (is_network(home)) {
        return checked(cli_format("/var/tmp/holdfast-%ld", (long)geteuid()),
                       S_IRWXG | S_IRWXO);
    }
    return in_home(home);
}
