/* SPDX-License-Identifier: MIT */
/*
 * Decides which bytes of a URL are secret: what stands between ':' and '@'
 * of an authority, and the value of an option `password`. Several URLs may
 * stand in one string, separated by spaces. Thread: main.
 */
#include "src/cli/secret.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <string.h>

struct range {
    size_t from;
    size_t to;
};

/* The password of the authority that begins at `at`, or an empty range. */
static struct range authority(const char *url, size_t at)
{
    size_t end = at + strcspn(url + at, "/?# ");
    size_t sign = end;
    size_t colon;

    while (sign > at && url[sign - 1] != '@') {
        sign--;
    }
    if (sign == at) {
        return (struct range){0, 0};
    }
    colon = at + strcspn(url + at, ":@");
    return colon + 1 < sign - 1 ? (struct range){colon + 1, sign - 1}
                                : (struct range){0, 0};
}

/* The first secret at or behind `from`; empty: there is none. */
static struct range find(const char *url, size_t from)
{
    static const char option[] = "password=";

    for (size_t i = from; url[i]; i++) {
        struct range found = {0, 0};

        if (i >= 3 && !memcmp(url + i - 3, "://", 3)) {
            found = authority(url, i);
        } else if (i && (url[i - 1] == '?' || url[i - 1] == '&') &&
                   !strncmp(url + i, option, sizeof option - 1)) {
            found.from = i + sizeof option - 1;
            found.to = found.from + strcspn(url + found.from, "& ");
        }
        if (found.to > found.from) {
            return found;
        }
    }
    return (struct range){0, 0};
}

bool cli_secret_is_in(const char *url)
{
    return find(url, 0).to > 0;
}

char *cli_secret_hide(const char *url)
{
    struct cli_text shown = {0};
    size_t at = 0;

    cli_text_bytes(&shown, "", 0);
    for (struct range r = find(url, 0); r.to > r.from; r = find(url, r.to)) {
        cli_text_bytes(&shown, url + at, r.from - at);
        cli_text_add(&shown, "***");
        at = r.to;
    }
    cli_text_add(&shown, "%s", url + at);
    return shown.data;
}

void cli_secret_wipe(char *url)
{
    for (struct range r = find(url, 0); r.to > r.from; r = find(url, r.to)) {
        memset(url + r.from, '*', r.to - r.from);
    }
}
