/* SPDX-License-Identifier: MIT */
/*
 * Servers that one program after the other has, so that each need not start
 * its own: who has done with one leaves a sign in its folder, for which key it
 * is good and what is known of it, and who takes the sign away has the server.
 * Its warden lives on meanwhile, ends it with the run of tests, and before, if
 * nobody comes. What is left in a server by the one before, the fixtures know.
 */
#include "tests/servers/warden_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY = 4096 };

/* A sign begins with the key, and one of each run. */
static void write_key(char full[KEY], const char *key)
{
    struct hf__warden_life life = hf__warden_run();

    memset(full, 0, KEY);
    if (snprintf(full, KEY, "%d %llu %s", life.pid,
                 (unsigned long long)life.birth, key) >= KEY) {
        hf__servers_fail("too long a key: %s", key);
    }
}

static void name_sign(char path[HF__SERVERS_PATH + 16], const char *folder,
                      const char *name)
{
    snprintf(path, HF__SERVERS_PATH + 16, "%s/%s", folder, name);
}

void hf__warden_give(struct hf__warden *w, const char *key, const void *state,
                     size_t size)
{
    char full[KEY];
    char draft[HF__SERVERS_PATH + 16];
    char sign[HF__SERVERS_PATH + 16];
    FILE *f;

    write_key(full, key);
    name_sign(draft, w->folder, "draft");
    name_sign(sign, w->folder, HF__WARDEN_LEFT);
    f = fopen(draft, "we");
    if (!f || fwrite(full, sizeof full, 1, f) != 1 ||
        fwrite(state, size, 1, f) != 1 || fclose(f) != 0) {
        hf__servers_fail("can't write %s", draft);
    }
    hf__warden_leave(w);
    rename(draft, sign);
}

/* Ours to take: of this key, in a folder of our user. */
static bool take_sign(const char *folder, const char *key, void *state,
                      size_t size)
{
    char full[KEY];
    char there[KEY];
    char sign[HF__SERVERS_PATH + 16];
    struct stat st;
    bool is_good;
    FILE *f;

    name_sign(sign, folder, HF__WARDEN_LEFT);
    f = lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid()
            ? fopen(sign, "re")
            : NULL;
    if (!f) {
        return false;
    }
    write_key(full, key);
    is_good = fread(there, sizeof there, 1, f) == 1 &&
              memcmp(there, full, sizeof full) == 0 &&
              fread(state, size, 1, f) == 1;
    fclose(f);
    return is_good && unlink(sign) == 0;
}

struct hf__warden *hf__warden_take(const char *kind, const char *key,
                                   bool on_disk, void *state, size_t size)
{
    const char *parent = hf__servers_parent(on_disk);
    DIR *dir = hf__warden_has_run() ? opendir(parent) : NULL;
    struct hf__warden *w = NULL;
    char prefix[64];
    struct dirent *entry;

    snprintf(prefix, sizeof prefix, HF__SERVERS_PREFIX "%s-", kind);
    while (dir && !w && (entry = readdir(dir))) {
        char folder[HF__SERVERS_PATH];
        int n = snprintf(folder, sizeof folder, "%s/%s", parent, entry->d_name);

        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            n < (int)sizeof folder && take_sign(folder, key, state, size)) {
            w = hf__warden_reach(folder);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return w;
}
