/* SPDX-License-Identifier: MIT */
/*
 * Decides how several names of a line are one lock, and which of them is told
 * to be in the way. Thread: main; looks on any.
 */
#include "src/cli/names.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(CLI_LIST_MAX + 1 == HF_MANY_MAX, "NAME and the list are a lock");

int cli_names_count(const struct cli_options *o)
{
    return o->locks.count + 1;
}

const char *cli_names_at(const struct cli_options *o, int i)
{
    return i ? o->locks.words[i - 1] : o->name;
}

static int check_one(const char *verb, const char *name)
{
    size_t length = strlen(name);

    if (!length || length > HF_NAME_MAX) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: the name has %zu bytes, not 1 to %d", verb, length,
                        HF_NAME_MAX);
    }
    for (const char *c = name; *c;) {
        uint32_t point;
        size_t step = cli_utf8(c, &point);

        if (!step) {
            return cli_fail(CLI_EXIT_USAGE, "%s: the name '%s' is not UTF-8",
                            verb, name);
        }
        c += step;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Gives how many. */
static int sort(const struct cli_options *o, const char **ret_names)
{
    int n = cli_names_count(o);

    for (int i = 0; i < n; i++) {
        ret_names[i] = cli_names_at(o, i);
    }
    /* cppcheck-suppress uninitvar; it was filled just now */
    qsort(ret_names, (size_t)n, sizeof *ret_names, compare);
    return n;
}

int cli_names_check(const struct cli_options *o)
{
    const char *verb = cli_verb_table[o->verb].word;
    const char *names[HF_MANY_MAX];
    int n;

    for (int i = 0; i < cli_names_count(o); i++) {
        int r = check_one(verb, cli_names_at(o, i));

        if (r) {
            return r;
        }
    }
    n = sort(o, names);
    for (int i = 1; i < n; i++) {
        if (!compare(&names[i - 1], &names[i])) {
            return cli_fail(CLI_EXIT_USAGE, "%s: '%s' is named twice", verb,
                            names[i]);
        }
    }
    return 0;
}

int cli_names_acquire(const struct cli_options *o, hf_client *client,
                      const hf_acquire_opts *opts, hf_lock **ret_lock,
                      hf_error *err)
{
    const char *names[HF_MANY_MAX];
    int n = cli_names_count(o);

    if (n == 1) {
        return hf_acquire(client, o->name, opts, ret_lock, err);
    }
    for (int i = 0; i < n; i++) {
        names[i] = cli_names_at(o, i);
    }
    return hf_acquire_many(client, names, n, opts, ret_lock, err);
}

/* Clocks differ. */
#define SLACK_US INT64_C(60000000)

static bool is_ours(const hf_info *info)
{
    const char *holder = hf_info_host(info);
    char host[65] = "";

    if (gethostname(host, sizeof host - 1)) {
        return false;
    }
    return hf_info_pid(info) == getpid() && holder && !strcmp(holder, host);
}

/* While one of several is waited for, those before it are held by ourselves. Of
 * one all is told but a grant that came too late and is just being given back;
 * pids repeat in containers, so an older one is another's. */
static bool is_in_way(const hf_info *info, int n, int64_t since_us)
{
    if (hf_info_presence(info) != HF_HELD_BY) {
        return n == 1 || cli_holder_kept_ms(info) > 0;
    }
    return !is_ours(info) ||
           (n == 1 && hf_info_acquired_us(info) < since_us - SLACK_US);
}

hf_info *cli_names_look(const struct cli_options *o, hf_client *client,
                        int64_t since_us)
{
    const char *names[HF_MANY_MAX];
    hf_info *info = NULL;
    int n = sort(o, names);

    for (int i = 0; i < n; i++) {
        if (hf_inspect(client, names[i], &info, NULL)) {
            return NULL;
        }
        if (is_in_way(info, n, since_us)) {
            return info;
        }
        hf_info_free(info);
        info = NULL;
    }
    return NULL;
}

const char *cli_names_in_way(const struct cli_options *o, const hf_info *info)
{
    return info ? hf_info_name(info) : o->name;
}

void cli_names_line(struct cli_text *text, const struct cli_options *o)
{
    cli_text_clean(text, o->name);
    if (o->locks.count) {
        cli_text_add(text, " and %d more", o->locks.count);
    }
}

void cli_names_json(struct cli_text *text, const hf_lock *lock)
{
    int n = hf_count(lock);

    if (n == 1) {
        return;
    }
    cli_text_add(text, ",\"locks\":[");
    for (int i = 0; i < n; i++) {
        cli_text_add(text, "%s{\"name\":", i ? "," : "");
        cli_text_json(text, hf_name_at(lock, i));
        cli_text_add(text, ",\"fence\":%" PRIu64 "}", hf_fence_at(lock, i));
    }
    cli_text_add(text, "]");
}
