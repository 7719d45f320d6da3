/* SPDX-License-Identifier: MIT */
/*
 * What is known of a store by its name alone, as the build says it: the options
 * that make another kind of it, and whether it is anywhere. The runner asks, so
 * nothing is made, nor any of the library's memory used.
 */
#include "tests/contract/urls.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *store;
    const char *recipe; /* NULL: there is one only */
} known[] = {
    {"memory:session", NULL},
    {"zookeeper", "fair"},
    {"zookeeper:simple", "simple"},
};

const char *hf__store_plain(const char *store)
{
    const char *plus = strrchr(store, '+');

    return plus ? plus + 1 : store;
}

struct hf__url hf__store_kind(const char *store, const char *scheme)
{
    static struct hf__url_option options[2] = {{"session_timeout", NULL},
                                               {"recipe", NULL}};
    struct hf__url url = {.scheme = scheme, .path = ""};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(hf__store_plain(store), known[i].store) == 0) {
            /* Long enough for machines that are watched by sanitizers. */
            options[0].value =
                getenv("HOLDFAST_TEST_SLOW") ? "15000ms" : "3000ms";
            options[1].value = known[i].recipe;
            url.options = options;
            url.n_options = known[i].recipe ? 2 : 1;
        }
    }
    return url;
}

bool hf__store_has_place(const char *store)
{
    return strncmp(hf__store_plain(store), "memory", strlen("memory")) != 0;
}
