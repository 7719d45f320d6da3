/* SPDX-License-Identifier: MIT */
/*
 * A number in the files of a server, changed while it is stopped: how many
 * children a node has had, which is what sequential nodes are numbered by and
 * would take months to be worn out. A snapshot is a list of nodes, a checksum,
 * a digest of the nodes and one more checksum. Called by the process that
 * started the server.
 */
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_jute.h"
#include "tests/servers/zookeeper_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 512, PRIME = 65521 };
/* A checksum of eight bytes and the text "/", and what is between them. */
enum { SEAL = 13, DIGEST = 20 };
/* In a node, after its data: the ACL's number, four times and its version. */
enum { TO_COUNT = 8 + 4 * 8 + 4 };

struct snapshot {
    char path[PATH];
    uint8_t *bytes;
    size_t length;
};

/* A server that starts writes all it knows: the newest is all there is. */
static void find_newest(const struct hf__zookeeper *s, char path[PATH])
{
    char folder[HF__ZOOKEEPER_ROOM];
    unsigned long long newest = 0;
    struct dirent *entry;
    DIR *dir;

    snprintf(folder, sizeof folder, "%s/data/version-2", s->folder);
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "snapshot.", 9) == 0 &&
            strtoull(entry->d_name + 9, NULL, 16) >= newest) {
            newest = strtoull(entry->d_name + 9, NULL, 16);
        }
    }
    if (dir) {
        closedir(dir);
    }
    snprintf(path, PATH, "%s/snapshot.%llx", folder, newest);
}

static void read_snapshot(struct snapshot *shot)
{
    FILE *f = fopen(shot->path, "re");

    shot->bytes = malloc(HF__JUTE_BYTES);
    if (!f || !shot->bytes) {
        hf__servers_fail("read %s: %s", shot->path, strerror(errno));
    }
    shot->length = fread(shot->bytes, 1, HF__JUTE_BYTES, f);
    fclose(f);
}

static void write_snapshot(const struct snapshot *shot)
{
    FILE *f = fopen(shot->path, "we");

    if (!f || fwrite(shot->bytes, 1, shot->length, f) != shot->length ||
        fclose(f) != 0) {
        hf__servers_fail("write %s: %s", shot->path, strerror(errno));
    }
}

/* Adler-32 of the first bytes. */
static uint32_t checksum(const struct snapshot *shot, size_t n)
{
    uint32_t a = 1;
    uint32_t b = 0;

    for (size_t i = 0; i < n; i++) {
        a = (a + shot->bytes[i]) % PRIME;
        b = (b + a) % PRIME;
    }
    return b << 16 | a;
}

static void put_number(struct snapshot *shot, size_t at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++) {
        shot->bytes[at + i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static uint32_t number_at(const struct snapshot *shot, size_t at)
{
    return (uint32_t)hf__jute_number(shot->bytes + at);
}

/* Where the two checksums are; if they are not, this is another format. */
static void find_seals(const struct snapshot *shot, size_t at[2])
{
    at[0] = shot->length - SEAL - DIGEST - SEAL;
    at[1] = shot->length - SEAL;
    for (int i = 0; i < 2; i++) {
        if (shot->length < 2 * SEAL + DIGEST ||
            number_at(shot, at[i] + 4) != checksum(shot, at[i])) {
            hf__servers_fail("%s is no snapshot as we know it", shot->path);
        }
    }
}

/* Where the count of a node's children is. */
static size_t find_count(const struct snapshot *shot, const char *path)
{
    uint8_t wanted[PATH];
    struct hf__jute name = {.bytes = wanted};
    const uint8_t *found;
    size_t at;

    hf__jute_put_text(&name, path);
    found = memmem(shot->bytes, shot->length, wanted, name.length);
    if (!found) {
        hf__servers_fail("no %s in %s", path, shot->path);
    }
    at = (size_t)(found - shot->bytes) + name.length;
    return at + 4 + number_at(shot, at) + TO_COUNT;
}

void hf__zookeeper_set_sequence(struct hf__zookeeper *s, const char *path,
                                int32_t next)
{
    struct snapshot shot = {0};
    size_t seals[2];

    if (s->members[0]) {
        hf__servers_fail("a member of an ensemble has its data from others");
    }
    hf__zookeeper_stop(s);
    hf__zookeeper_restart(s, NULL);
    hf__zookeeper_stop(s);
    find_newest(s, shot.path);
    read_snapshot(&shot);
    find_seals(&shot, seals);
    put_number(&shot, find_count(&shot, path), (uint32_t)next);
    for (int i = 0; i < 2; i++) {
        put_number(&shot, seals[i] + 4, checksum(&shot, seals[i]));
    }
    write_snapshot(&shot);
    free(shot.bytes);
    hf__zookeeper_restart(s, NULL);
}
