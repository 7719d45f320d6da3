/* SPDX-License-Identifier: MIT */
/*
 * ZooKeepers that one test after the other has: which are good for whom, and
 * how nothing of the one before is left in them. A JVM costs more to start than
 * most tests to run. Who has one has it alone; it was killed, stopped and
 * started again, perhaps, but serves when it is left.
 */
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = 3500 };

/* What must be the same: the number of members, and all options. */
static void write_key(const struct hf__zookeeper *s, int members, char key[KEY])
{
    int n = snprintf(key, KEY, "%d%s%s", members, s->on_disk ? " on disk" : "",
                     s->is_for_speed ? " for speed" : "");

    for (int i = 0; s->extra[i][0] && n < KEY; i++) {
        n += snprintf(key + n, KEY - (size_t)n, "\n%s", s->extra[i]);
    }
    for (int i = 0; s->java[i][0] && n < KEY; i++) {
        n += snprintf(key + n, KEY - (size_t)n, "\n%s", s->java[i]);
    }
    if (n >= KEY) {
        hf__servers_fail("zookeeper: too many or too long lines");
    }
}

/* ---- nothing is left */

static void end_sessions(const struct hf__zookeeper *s)
{
    char *words = strdup(hf__zookeeper_word(s, "dump"));
    char *at = words;

    while (at && (at = strstr(at, "0x"))) {
        int64_t session = (int64_t)strtoull(at, &at, 16);

        if (session) {
            hf__zookeeper_expire(s, session);
        }
    }
    free(words);
}

static void remove_nodes(const struct hf__zookeeper *s)
{
    char *names = strdup(hf__zookeeper_list(s, "/"));
    char *rest = names;
    char *name;
    char path[HF__ZOOKEEPER_DATA];

    while ((name = strsep(&rest, "\n"))) {
        snprintf(path, sizeof path, "/%s", name);
        if (name[0] && strcmp(name, "zookeeper") != 0) {
            hf__zookeeper_remove(s, path);
        }
    }
    free(names);
    hf__zookeeper_set_acl(s, "/", "world:anyone:rwcda");
}

/* All sessions are known to who leads. */
static void empty(int n, struct hf__zookeeper **members)
{
    for (int i = 0; i < n; i++) {
        const char *mode = hf__zookeeper_mode(members[i]);

        if (strcmp(mode, "leader") == 0 || strcmp(mode, "standalone") == 0) {
            end_sessions(members[i]);
        }
    }
    remove_nodes(members[0]);
}

/* ---- who has them */

static void free_all(int n, struct hf__zookeeper **members)
{
    for (int i = 0; i < n; i++) {
        if (members[i]) {
            hf__warden_free(members[i]->warden);
            free(members[i]);
        }
    }
}

static void remember(const struct hf__zookeeper *known, struct hf__warden *w,
                     struct hf__zookeeper **ret_s)
{
    *ret_s = w ? malloc(sizeof **ret_s) : NULL;
    if (*ret_s) {
        **ret_s = *known;
        (*ret_s)->warden = w;
    }
}

static bool serve(int n, struct hf__zookeeper **members)
{
    for (int i = 0; i < n; i++) {
        if (!members[i] || members[i]->is_fresh || members[i]->is_paused ||
            hf__zookeeper_has_ended(members[i]) ||
            !hf__zookeeper_mode(members[i])[0]) {
            return false;
        }
    }
    return true;
}

bool hf__zookeeper_take(const struct hf__zookeeper_opts *opts, int n,
                        struct hf__zookeeper **members)
{
    struct hf__zookeeper wish = hf__zookeeper_wish(opts);
    struct hf__zookeeper known[HF__ZOOKEEPER_MEMBERS];
    struct hf__warden *w = NULL;
    char key[KEY];

    write_key(&wish, n, key);
    if (!wish.is_fresh) {
        w = hf__warden_take("zookeeper", key, wish.on_disk, known,
                            sizeof known);
    }
    if (!w) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        remember(&known[i], i == 0 ? w : hf__warden_reach(known[i].folder),
                 &members[i]);
    }
    if (!serve(n, members)) {
        free_all(n, members);
        return false;
    }
    empty(n, members);
    return true;
}

/* Who has other options now than it began with goes by those. */
static bool are_alike(int n, struct hf__zookeeper **members)
{
    char first[KEY];
    char other[KEY];

    write_key(members[0], n, first);
    for (int i = 1; i < n; i++) {
        write_key(members[i], n, other);
        if (strcmp(first, other) != 0) {
            return false;
        }
    }
    return true;
}

void hf__zookeeper_give(int n, struct hf__zookeeper **members)
{
    struct hf__zookeeper known[HF__ZOOKEEPER_MEMBERS] = {0};
    char key[KEY];

    for (int i = 0; i < n; i++) {
        if (members[i]->is_paused) {
            hf__zookeeper_resume(members[i]);
        }
    }
    if (!hf__warden_has_run() || !serve(n, members) || !are_alike(n, members)) {
        free_all(n, members);
        return;
    }
    for (int i = 0; i < n; i++) {
        known[i] = *members[i];
    }
    for (int i = 1; i < n; i++) {
        hf__warden_leave(members[i]->warden);
    }
    write_key(members[0], n, key);
    hf__warden_give(members[0]->warden, key, known, sizeof known);
    for (int i = 0; i < n; i++) {
        free(members[i]);
    }
}
