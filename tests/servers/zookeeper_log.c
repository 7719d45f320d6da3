/* SPDX-License-Identifier: MIT */
/*
 * A number in the log of a server, changed while that is away: how many
 * children a node has had, which is what sequential nodes are numbered by and
 * would take months to be worn out. Who makes a child writes it into the log,
 * and a server that starts believes the last. An entry is a checksum, its
 * length, a header, what was done, a digest and an end. Called by the process
 * that started the server.
 */
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_jute.h"
#include "tests/servers/zookeeper_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512, PRIME = 65521 };
/* Of the log; before an entry's own bytes, and after them. */
enum { HEAD = 16, SUM = 8, BEFORE = SUM + 4, AFTER = 1 };
/* In an entry: its header, and what is last: the count and the digest. */
enum { HEADER = 32, COUNT = 4, DIGEST = 12 };

static void find_newest(const struct hf__zookeeper *s, char path[PATH])
{
    char folder[HF__ZOOKEEPER_ROOM];
    unsigned long long newest = 0;
    struct dirent *entry;
    DIR *dir;

    snprintf(folder, sizeof folder, "%s/data/version-2", s->folder);
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "log.", 4) == 0 &&
            strtoull(entry->d_name + 4, NULL, 16) >= newest) {
            newest = strtoull(entry->d_name + 4, NULL, 16);
        }
    }
    if (dir) {
        closedir(dir);
    }
    snprintf(path, PATH, "%s/log.%llx", folder, newest);
}

static void put_number(uint8_t *at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

/* Adler-32. */
static uint32_t checksum(const uint8_t *bytes, size_t n)
{
    uint32_t a = 1;
    uint32_t b = 0;

    for (size_t i = 0; i < n; i++) {
        a = (a + bytes[i]) % PRIME;
        b = (b + a) % PRIME;
    }
    return b << 16 | a;
}

/* Where the entry is that made that node. NULL: there is none, or the format is
 * another. */
static uint8_t *find_entry(uint8_t *log, size_t length, const char *node,
                           size_t *ret_n)
{
    size_t at = HEAD;

    while (at + BEFORE < length) {
        size_t n = (size_t)hf__jute_number(log + at + SUM);
        uint8_t *entry = log + at + BEFORE;

        if (n < HEADER || n > length - at - BEFORE - AFTER ||
            (uint32_t)hf__jute_number(log + at + 4) != checksum(entry, n)) {
            break;
        }
        if (n > HEADER + 4 + strlen(node) + COUNT + DIGEST &&
            memcmp(entry + HEADER + 4, node, strlen(node)) == 0) {
            *ret_n = n;
            return entry;
        }
        at += BEFORE + n + AFTER;
    }
    return NULL;
}

static void change_log(const char *path, const char *node, uint32_t count)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st = {0};
    size_t n = 0;
    uint8_t *entry;
    uint8_t *log;

    if (fd < 0 || fstat(fd, &st) < 0) {
        hf__servers_fail("%s: %s", path, strerror(errno));
    }
    log = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
               0);
    close(fd);
    entry = log == MAP_FAILED ? NULL
                              : find_entry(log, (size_t)st.st_size, node, &n);
    if (!entry) {
        hf__servers_fail("%s is no log as we know it, of %s", path, node);
    }
    put_number(entry + n - DIGEST - COUNT, count);
    put_number(entry - BEFORE + 4, checksum(entry, n));
    munmap(log, (size_t)st.st_size);
}

/* The name is no other node's, so that the entry found is this one. */
void hf__zookeeper_set_sequence(struct hf__zookeeper *s, const char *path,
                                int32_t next)
{
    static int number;
    char log[PATH];
    char node[PATH];

    if (s->members[0]) {
        hf__servers_fail("a member of an ensemble has its data from others");
    }
    snprintf(node, sizeof node, "%s/worn-%d-%d", path, s->pid, ++number);
    hf__zookeeper_put(s, node, "");
    hf__zookeeper_remove(s, node);
    hf__zookeeper_stop(s);
    find_newest(s, log);
    change_log(log, node, (uint32_t)next);
    hf__zookeeper_restart(s, NULL);
}
