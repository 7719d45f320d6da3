/* SPDX-License-Identifier: MIT */
/*
 * What is known of a store by its name alone, as the build says it: the options
 * that make another kind of it, and whether it is anywhere. The runner asks, so
 * nothing is made, nor any of the library's memory used.
 */
#include "tests/contract/urls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for machines that are watched by sanitizers: the second ones. */
static struct hf__url_option lasting[][1] = {{{"session_timeout", "3000ms"}},
                                             {{"session_timeout", "15000ms"}}};
static struct hf__url_option fair[][2] = {
    {{"session_timeout", "3000ms"}, {"recipe", "fair"}},
    {{"session_timeout", "15000ms"}, {"recipe", "fair"}}};
static struct hf__url_option simple[][2] = {
    {{"session_timeout", "3000ms"}, {"recipe", "simple"}},
    {{"session_timeout", "15000ms"}, {"recipe", "simple"}}};

static struct hf__url_option user_locks[][2] = {
    {{"session_timeout", "3s"}, {"scheme", "session"}},
    {{"session_timeout", "15s"}, {"scheme", "session"}}};
/* Each of a connection of its own. */
static struct hf__url_option alone[][3] = {{{"session_timeout", "3s"},
                                            {"scheme", "session"},
                                            {"locks_per_connection", "1"}},
                                           {{"session_timeout", "15s"},
                                            {"scheme", "session"},
                                            {"locks_per_connection", "1"}}};
static struct hf__url_option rows[][2] = {
    {{"session_timeout", "3s"}, {"scheme", "row"}},
    {{"session_timeout", "15s"}, {"scheme", "row"}}};

/* No lease is longer than that; the tests ask for some minutes. */
static struct hf__url_option paired[][1] = {{{"longest_lease", "24h"}}};

/* A replica has what is granted before it is told. */
static struct hf__url_option replicated[][1] = {{{"wait_replicas", "1"}}};

static const struct {
    const char *store;
    struct hf__url_option *options[2];
    size_t n;
    const char *path; /* NULL: it makes no other kind */
} known[] = {
    {"memory:session", {lasting[0], lasting[1]}, 1, NULL},
    {"mysql:session", {user_locks[0], user_locks[1]}, 2, "/db"},
    {"mysql:alone", {alone[0], alone[1]}, 3, "/db"},
    {"mysql:row", {rows[0], rows[1]}, 2, "/db"},
    {"mysql:pair", {paired[0], paired[0]}, 1, "/db"},
    {"redis:sentinel", {replicated[0], replicated[0]}, 1, "/service"},
    {"zookeeper", {fair[0], fair[1]}, 2, NULL},
    {"zookeeper:simple", {simple[0], simple[1]}, 2, NULL},
};

/* Whose locks are in the memory of one process. */
static const char *const placeless[] = {
    "memory",
};

const char *hf__store_plain(const char *store)
{
    const char *plus = strrchr(store, '+');

    return plus ? plus + 1 : store;
}

void hf__store_scheme(const char *store, char *scheme, size_t size)
{
    bool has_sentinels = strcmp(hf__store_plain(store), "redis:sentinel") == 0;

    snprintf(scheme, size, "%.*s%s", (int)strcspn(store, ":"), store,
             has_sentinels ? "+sentinel" : "");
}

struct hf__url hf__store_kind(const char *store, const char *scheme)
{
    struct hf__url url = {.scheme = scheme, .path = ""};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(hf__store_plain(store), known[i].store) == 0) {
            bool is_slow = getenv("HOLDFAST_TEST_SLOW") != NULL;

            url.options = known[i].options[is_slow];
            url.n_options = known[i].n;
            url.path = known[i].path == NULL ? "" : known[i].path;
        }
    }
    return url;
}

bool hf__store_has_place(const char *store)
{
    const char *plain = hf__store_plain(store);
    size_t length = strcspn(plain, ":");

    for (size_t i = 0; i < sizeof placeless / sizeof placeless[0]; i++) {
        if (strncmp(plain, placeless[i], length) == 0 &&
            placeless[i][length] == '\0') {
            return false;
        }
    }
    return true;
}

static bool is(const char *store, const char *name)
{
    return strcmp(hf__store_plain(store), name) == 0;
}

/* Locks are a connection's. */
bool hf__store_ends_at_once(const char *store)
{
    return is(store, "mysql:session") || is(store, "mysql:alone") ||
           is(store, "mysql:row");
}

/* Only one has several on a connection. */
bool hf__store_breaks_more(const char *store)
{
    return is(store, "mysql:session");
}

/* A majority is enough for an answer. */
bool hf__store_settles_late(const char *store)
{
    return is(store, "redlock");
}

/* User locks are a node's own. */
bool hf__store_wakes(const char *store)
{
    return !is(store, "mysql:galera");
}
