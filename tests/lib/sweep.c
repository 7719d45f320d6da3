/* SPDX-License-Identifier: MIT */
/*
 * Sweeps up after a test: processes that outlived it and its folder. The
 * runner is the subreaper of all that a test starts, so whatever outlives its
 * parent becomes a child of the runner and is found under /proc by that. It
 * decides nothing about the test; the runner does. Called by the runner only.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void hf__test_each_number(const char *path, void (*each)(int, void *),
                          void *data)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char *end;
        long number = strtol(entry->d_name, &end, 10);

        if (end != entry->d_name && !*end && number != dirfd(dir)) {
            each((int)number, data);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static void kill_if_ours(int pid, void *killed)
{
    char path[64];
    int parent = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f && fscanf(f, "%*d (%*[^)]%*[)] %*c %d", &parent) == 1 &&
        parent == getpid()) {
        *(bool *)killed = true;
        kill(pid, SIGKILL);
    }
    if (f) {
        fclose(f);
    }
}

void hf__test_note_end(int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (sig == SIGABRT || sig == SIGSEGV || sig == SIGBUS || sig == SIGILL ||
        sig == SIGFPE || sig == SIGSYS || sig == SIGTRAP) {
        atomic_store(&hf__test_page->is_unsafe, true);
    }
}

bool hf__test_end_leftovers(int64_t grace_ms)
{
    int64_t until = hf__test_now_ms() + grace_ms;
    bool killed = false;
    int status = 0;
    pid_t got;

    while ((got = waitpid(-1, &status, WNOHANG)) >= 0) {
        if (got > 0) {
            hf__test_note_end(status);
        }
        if (got == 0 && hf__test_now_ms() >= until) {
            hf__test_each_number("/proc", kill_if_ours, &killed);
        }
        if (got == 0) {
            hf__test_pause_ms(2);
        }
    }
    return killed;
}

void hf__test_remove_tree(const char *path)
{
    DIR *dir;
    struct dirent *entry;

    if (unlink(path) == 0 || rmdir(path) == 0) {
        return;
    }
    chmod(path, 0700);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        char inner[4096];
        int n = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);

        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 && n < (int)sizeof inner) {
            hf__test_remove_tree(inner);
        }
    }
    if (dir) {
        closedir(dir);
    }
    rmdir(path);
}

void hf__test_forget_folder(void)
{
    if (atomic_load(&hf__test_page->folder_state) != HF__TEST_NO_FOLDER) {
        hf__test_remove_tree(hf__test_page->folder);
    }
}
