/* SPDX-License-Identifier: MIT */
/*
 * The servers are those of the tests (tests/servers). A client asks by scripts
 * and by SUBSCRIBE; what a script does inside is not counted. Thread: main.
 */
#include "bench/serverredis.h"

#include "tests/servers/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct serverredis {
    struct server server; /* the first: count() and seconds() are given it */
    struct hf__redis_group *group;
    int n;
    int ports[HF__REDIS_MEMBERS];
    char url[1024];
};

static const struct serverredis *of(const struct server *server)
{
    return (const struct serverredis *)server;
}

/* A number in the line of one command; 0: it was never called. */
static uint64_t stat_of(const char *stats, const char *command,
                        const char *field)
{
    char text[64];
    const char *line;
    const char *at;

    (void)snprintf(text, sizeof text, "cmdstat_%s:", command);
    line = strstr(stats, text);
    if (!line) {
        return 0;
    }
    (void)snprintf(text, sizeof text, "%s=", field);
    at = strstr(line, text);
    return at ? strtoull(at + strlen(text), NULL, 10) : 0;
}

static uint64_t sum(const struct serverredis *redis,
                    const char *const commands[], const char *field)
{
    uint64_t n = 0;
    int i;
    int k;

    for (i = 0; i < redis->n; i++) {
        const char *stats = hf__redis_command(hf__redis_member(redis->group, i),
                                              "INFO commandstats");

        for (k = 0; commands[k]; k++) {
            n += stat_of(stats, commands[k], field);
        }
    }
    return n;
}

static struct server_counts count(const struct server *server)
{
    static const char *const asked[] = {"evalsha", "eval", "subscribe",
                                        "unsubscribe", NULL};

    return (struct server_counts){.asked = sum(of(server), asked, "calls")};
}

static double seconds(const struct server *server)
{
    double sum_of_all = 0;
    int i;

    for (i = 0; i < of(server)->n; i++) {
        sum_of_all += server_process_seconds(
            hf__redis_pid(hf__redis_member(of(server)->group, i)));
    }
    return sum_of_all;
}

static void find_places(struct serverredis *redis)
{
    int i;

    for (i = 0; i < redis->n; i++) {
        redis->ports[i] = hf__redis_port(hf__redis_member(redis->group, i));
    }
    if (redis->n == 1) {
        hf__redis_url(hf__redis_member(redis->group, 0), 0, redis->url,
                      sizeof redis->url);
    } else {
        char url[sizeof redis->url - 32];

        /* They were started just now and will not be again. */
        hf__redis_group_url(redis->group, 0, url, sizeof url);
        (void)snprintf(redis->url, sizeof redis->url, "%s?allow=volatile", url);
    }
}

struct serverredis *serverredis_start(int n)
{
    struct serverredis *redis;

    if (!hf__redis_is_installed()) {
        return NULL;
    }
    redis = server_new(sizeof *redis);
    redis->n = n;
    redis->group = hf__redis_group_start(n, NULL);
    find_places(redis);
    redis->server = (struct server){.scheme = n == 1 ? "redis" : "redlock",
                                    .url = redis->url,
                                    .asked = "commands",
                                    .count = count,
                                    .seconds = seconds};
    return redis;
}

void serverredis_stop(struct serverredis *redis)
{
    hf__redis_group_free(redis->group);
    free(redis);
}

const struct server *serverredis_server(const struct serverredis *redis)
{
    return &redis->server;
}

void serverredis_print(const struct serverredis *redis)
{
    const char *version = hf__redis_value(hf__redis_member(redis->group, 0),
                                          "redis_version", "INFO server");

    printf("-- Redis %s, %d server%s, nothing on disk, TCP on loopback\n",
           version, redis->n, redis->n == 1 ? "" : "s");
}

const int *serverredis_ports(const struct serverredis *redis)
{
    return redis->ports;
}

struct serverredis_scripts serverredis_scripts(const struct serverredis *redis)
{
    static const char *const scripts[] = {"evalsha", "eval", NULL};

    return (struct serverredis_scripts){
        .calls = sum(redis, scripts, "calls"),
        .us = sum(redis, scripts, "usec"),
    };
}
