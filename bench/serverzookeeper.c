/* SPDX-License-Identifier: MIT */
/*
 * The server is that of the tests (tests/servers), but for what makes theirs
 * small: steps of the log and looks for empty containers are as ZooKeeper has
 * them. Thread: main.
 */
#include "bench/serverzookeeper.h"

#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct serverzookeeper {
    struct server server; /* the first: count() and seconds() are given it */
    struct hf__zookeeper *zookeeper;
    bool is_flushed;
    char url[HF__ZOOKEEPER_URL];
};

static const struct serverzookeeper *of(const struct server *server)
{
    return (const struct serverzookeeper *)server;
}

/* Requests and, one in ten seconds and session, proofs that it lives. */
static struct server_counts count(const struct server *server)
{
    const char *received = hf__zookeeper_value(of(server)->zookeeper,
                                               "zk_packets_received", "mntr");

    return (struct server_counts){.asked = strtoull(received, NULL, 10)};
}

static double seconds(const struct server *server)
{
    return server_process_seconds(hf__zookeeper_pid(of(server)->zookeeper));
}

struct serverzookeeper *serverzookeeper_start(bool is_flushed)
{
    static const char *const java[] = {
        "-Dzookeeper.preAllocSize=65536",
        "-Dznode.container.checkIntervalMs=60000", NULL};
    const struct hf__zookeeper_opts opts = {
        .java = java, .on_disk = is_flushed, .is_for_speed = true};
    struct serverzookeeper *zookeeper;

    if (!hf__zookeeper_is_installed()) {
        return NULL;
    }
    zookeeper = server_new(sizeof *zookeeper);
    zookeeper->is_flushed = is_flushed;
    zookeeper->zookeeper = hf__zookeeper_start(&opts);
    hf__zookeeper_url(zookeeper->zookeeper, "", zookeeper->url,
                      sizeof zookeeper->url);
    zookeeper->server = (struct server){.scheme = "zookeeper",
                                        .url = zookeeper->url,
                                        .asked = "requests",
                                        .count = count,
                                        .seconds = seconds};
    return zookeeper;
}

void serverzookeeper_stop(struct serverzookeeper *zookeeper)
{
    hf__zookeeper_free(zookeeper->zookeeper);
    free(zookeeper);
}

const struct server *
serverzookeeper_server(const struct serverzookeeper *zookeeper)
{
    return &zookeeper->server;
}

void serverzookeeper_print(const struct serverzookeeper *zookeeper)
{
    const char *version =
        hf__zookeeper_value(zookeeper->zookeeper, "zk_version", "mntr");

    printf("-- ZooKeeper %.*s, one server, forceSync=%s, TCP on loopback\n",
           (int)strcspn(version, "-,"), version,
           zookeeper->is_flushed ? "yes, on disk" : "no, in memory");
}

int serverzookeeper_port(const struct serverzookeeper *zookeeper)
{
    return hf__zookeeper_port(zookeeper->zookeeper);
}
