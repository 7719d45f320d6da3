/* SPDX-License-Identifier: MIT */
/*
 * Decides that a file is written under another name first, which no other
 * process can choose: two containers may have the same pid and share a
 * folder. What is there already is replaced if it is a plain file, which may
 * be left over from before; a rename over a device, a fifo or a link would
 * take away what others use. Thread: main.
 */
#include "src/cli/whole.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"
#include "src/cli/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder part of a path, as a new string. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        return cli_strdup(".");
    }
    return cli_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* What the path is, if that must not be replaced, else NULL. */
static const char *find_foreign(const char *path)
{
    struct stat st;

    if (path[strlen(path) - 1] == '/') {
        return "a folder";
    }
    if (lstat(path, &st) || S_ISREG(st.st_mode)) {
        return NULL;
    }
    return S_ISDIR(st.st_mode)    ? "a folder"
           : S_ISLNK(st.st_mode)  ? "a symbolic link"
           : S_ISFIFO(st.st_mode) ? "a fifo"
           : S_ISSOCK(st.st_mode) ? "a socket"
                                  : "a device";
}

int cli_whole_check(const char *option, const char *path)
{
    char *folder CLI_AUTO(cli_free_auto) = folder_of(path);
    char *shown CLI_AUTO(cli_free_auto) = NULL;
    const char *foreign = find_foreign(path);
    int code = 0;

    if (foreign) {
        shown = cli_secret_hide_all(path);
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: %s is %s, and is not replaced; name a plain file, "
                        "or one that is not there yet",
                        option, shown, foreign);
    }
    code = access(folder, W_OK | X_OK) ? errno : 0;
    if (code) {
        shown = cli_secret_hide_all(folder);
        return cli_fail(CLI_EXIT_USAGE, "%s: cannot write to %s: %s", option,
                        shown, strerror(code));
    }
    return 0;
}

bool cli_whole_replace(const char *draft, const char *path)
{
    if (find_foreign(path)) {
        errno = EEXIST;
        return false;
    }
    return !rename(draft, path);
}

static bool write_new(const char *path, const struct cli_text *text,
                      mode_t mode)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool is_written;

    if (fd < 0) {
        return false;
    }
    is_written = write(fd, text->data, text->length) == (ssize_t)text->length;
    return !close(fd) && is_written;
}

void cli_whole_write(const char *option, const char *path,
                     const struct cli_text *text, mode_t mode)
{
    char *draft CLI_AUTO(cli_free_auto) =
        cli_format("%s.%ld-%" PRIx64 ".tmp", path, (long)getpid(),
                   (uint64_t)cli_boot_ns());

    if (!write_new(draft, text, mode) || !cli_whole_replace(draft, path)) {
        cli_event("not-written", NULL, "%s: cannot write %s: %s", option, path,
                  strerror(errno));
        (void)unlink(draft);
    }
}
