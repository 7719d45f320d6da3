/* SPDX-License-Identifier: MIT */
/*
 * What is dear to make and good for many servers, made once and kept in the
 * build folder, or in that of HOLDFAST_TEST_TEMPLATES. Its name says for which
 * programs and which user it is good. Programs that run side by side make it
 * once, under a lock; it appears whole, by a rename. What it is and how it is
 * made, the fixtures know. Any process may call this.
 */
#include "tests/lib/runner.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A template is no good for another version of what it is made of. */
static bool name_template(const struct hf__template *t,
                          char path[HF__TEMPLATE_PATH])
{
    const char *given = getenv("HOLDFAST_TEST_TEMPLATES");
    const char *folder = given && given[0] ? given : HF__SERVERS_BUILD;
    struct stat st;
    int n;

    if (access(folder, W_OK | X_OK) < 0) {
        return false;
    }
    n = snprintf(path, HF__TEMPLATE_PATH, "%s/%s-%d-%u", folder, t->kind,
                 t->layout, geteuid());
    for (int i = 0; i < HF__TEMPLATE_FILES && t->of[i]; i++) {
        if (stat(t->of[i], &st) < 0) {
            return false;
        }
        n += snprintf(path + n, HF__TEMPLATE_PATH - (size_t)n, "-%lld-%lld",
                      (long long)st.st_mtime, (long long)st.st_size);
    }
    return true;
}

bool hf__servers_template(const struct hf__template *t,
                          char path[HF__TEMPLATE_PATH])
{
    char draft[HF__TEMPLATE_PATH + 8];
    char name[HF__TEMPLATE_PATH + 8];
    int lock;

    if (!name_template(t, path)) {
        return false;
    }
    snprintf(name, sizeof name, "%s.lock", path);
    snprintf(draft, sizeof draft, "%s.draft", path);
    lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        hf__servers_fail("%s: %s", name, strerror(errno));
    }
    if (access(path, F_OK) < 0) {
        hf__test_remove_tree(draft); /* of one that was killed */
        t->make(draft);
        if (rename(draft, path) < 0) {
            hf__servers_fail("rename %s: %s", draft, strerror(errno));
        }
    }
    close(lock);
    return true;
}
