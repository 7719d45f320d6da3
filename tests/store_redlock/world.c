/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. The group is the test's: its first process starts it,
 * and those that it forks only talk to it.
 */
#include "tests/store_redlock/world.h"
#include "tests/contract/urls.h"
#include "tests/servers/servers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct hf__redis_group *group;
static char extra[256];

void free_group(struct hf__redis_group **g)
{
    hf__redis_group_free(*g);
}

static struct hf__redis_group *known(struct hf__redis_group *g)
{
    group = g;
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        hf__redis_mark(member(i));
    }
    return g;
}

struct hf__redis_group *durable_group(int n)
{
    return known(new_group(n));
}

struct hf__redis_group *new_group(int n)
{
    group = hf__redis_group_start(n, &(struct hf__redis_opts){.has_aof = true});
    return group;
}

struct hf__redis_group *forgetful_group(int n)
{
    return known(hf__redis_group_start(n, NULL));
}

void say_options(const char *options)
{
    snprintf(extra, sizeof extra, "%s", options);
}

struct hf__redis *member(int i)
{
    return hf__redis_member(group, i);
}

int port_of(int i)
{
    return hf__redis_port(member(i));
}

const char *url_of(unsigned members, const char *options)
{
    static _Thread_local char url[1024];
    size_t n = (size_t)snprintf(url, sizeof url, "redlock://");
    const char *comma = "";

    for (int i = 0; i < hf__redis_group_size(group); i++) {
        if ((members >> i & 1) != 0) {
            n += (size_t)snprintf(url + n, sizeof url - n, "%s127.0.0.1:%d",
                                  comma, port_of(i));
            comma = ",";
        }
    }
    snprintf(url + n, sizeof url - n, "/0%s%s", options[0] ? "?" : "", options);
    return url;
}

int hf__store_url(const char *scheme, char *url, size_t size)
{
    (void)scheme;
    snprintf(url, size, "%s", url_of(~0U, ""));
    return 0;
}

hf_client *open_counted(void)
{
    hf_client *client = NULL;

    UNTIL_WITHIN(15000, open_status(url_of(~0U, extra), NULL) == HF_OK);
    client = open_with(extra);
    return client;
}

/* ---- those who wait */

static void wait_for_job(void *arg)
{
    struct waiter *w = arg;
    AUTO_CLIENT *client = open_with(w->options);
    hf_acquire_opts opts = wanting(60000, w->lease_ms);
    AUTO_LOCK *job = NULL;

    w->result = hf_acquire(client, "job", &opts, &job, NULL);
    if (w->result == HF_OK) {
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

void begin_to_wait(struct waiter w[], int n, const char *options,
                   int64_t lease_ms)
{
    for (int i = 0; i < n; i++) {
        w[i] = (struct waiter){.options = options, .lease_ms = lease_ms};
        w[i].thread = hf__test_start(wait_for_job, &w[i]);
    }
}

void expect_served(struct waiter w[], int n)
{
    for (int i = 0; i < n; i++) {
        hf__test_join(w[i].thread);
        EXPECT_IS(w[i].result, HF_OK);
    }
}

/* ---- one member's record */

const char *token_at(int i, const char *name)
{
    const char *expires =
        hf__redis_command(member(i), "HGET holdfast:{%s} expires", name);

    /* The record of a lease that is over stays until somebody looks. */
    if (strtoll(expires, NULL, 10) / 1000000 < time(NULL)) {
        return "";
    }
    return hf__redis_command(member(i), "HGET holdfast:{%s} token", name);
}

void take_at(int i, const char *name)
{
    /* By the year 2096. */
    (void)hf__redis_command(member(i),
                            "HMSET holdfast:{%s} token %s fence 7 expires %s",
                            name, STRANGER, "4000000000000000");
}

void clear_at(int i, const char *name)
{
    (void)hf__redis_command(member(i), "DEL holdfast:{%s}", name);
}

void expect_nothing_left(unsigned members, const char *name)
{
    for (int i = 0; i < hf__redis_group_size(group); i++) {
        UNTIL((members >> i & 1) == 0 || token_at(i, name)[0] == '\0' ||
              strcmp(token_at(i, name), STRANGER) == 0);
    }
}

hf_lock *hold_on_three(hf_client *client)
{
    hf_lock *job;

    hf__redis_kill(member(3));
    hf__redis_kill(member(4));
    job = acquire_fixed(client, "job", 30000);
    hf__redis_restart(member(3), NULL);
    hf__redis_restart(member(4), NULL);
    return job;
}
