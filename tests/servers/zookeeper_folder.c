/* SPDX-License-Identifier: MIT */
/*
 * What a private ZooKeeper finds in its folder, and how its JVM is called: to
 * start quickly, with little memory, its classes read from an archive that is
 * made once. A snapshot of nothing and small steps of the log make its folder
 * small. Called by the process that starts the server.
 */
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYOUT = 1 }; /* to be raised when the classes or options change */

#define MAIN "org.apache.zookeeper.server.quorum.QuorumPeerMain"

static char archive[HF__TEMPLATE_PATH]; /* "": there is none */

static void write_file(const struct hf__zookeeper *s, const char *name,
                       const char *text)
{
    char path[HF__ZOOKEEPER_ROOM];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    f = fopen(path, "we");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
}

/* The last line of a name counts, so the extra ones come last. A name that the
 * server does not know is a property of its JVM, "zookeeper." before it. */
void hf__zookeeper_write_config(const struct hf__zookeeper *s)
{
    char text[8192];
    char path[HF__ZOOKEEPER_ROOM];
    int n = snprintf(text, sizeof text,
                     "clientPort=%d\n"
                     "clientPortAddress=127.0.0.1\n"
                     "dataDir=%s/data\n"
                     "tickTime=%d\n"
                     "maxSessionTimeout=120000\n"
                     "maxClientCnxns=0\n"
                     "admin.enableServer=false\n"
                     "4lw.commands.whitelist=*\n"
                     "initLimit=30\n"
                     "syncLimit=50\n"
                     "%s",
                     s->port, s->folder, HF__ZOOKEEPER_TICK_MS, s->members);

    for (int i = 0; s->extra[i][0]; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "%s\n", s->extra[i]);
    }
    snprintf(path, sizeof path, "%s/data", s->folder);
    mkdir(path, 0700);
    write_file(s, "zoo.cfg", text);
    snprintf(text, sizeof text, "%d\n", s->number);
    write_file(s, "data/myid", text);
}

/* SHA-1 of NAME:PASSWORD, as of zookeeper_client.h, in base 64. */
static const char administrator[] =
    "-Dzookeeper.DigestAuthenticationProvider.superDigest="
    "super:OxZchdFFZsWeZKrZt0Viy3WyLqs=";
/* With a logger: without one there would be no log. */
static const char classes[] =
    "/usr/share/java/slf4j-simple.jar:" HF__ZOOKEEPER_JAR;

/* A member that does not hear of the others asks again soon. Of two, one that
 * does not find its leader at once, for the machine is busy, is no follower
 * until that gives up (initLimit): it tries for a second. Empty containers
 * stay, so that what a store cleans up can be counted. */
static const char *const options[] = {
    "-cp",
    classes,
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Xss256k",
    "-Xlog:disable",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    administrator,
    "-Dzookeeper.preAllocSize=512",
    "-Dzookeeper.fastleader.minNotificationInterval=50",
    "-Dzookeeper.fastleader.maxNotificationInterval=1000",
    "-Dzookeeper.leaderConnectDelayDuringRetryMs=200",
    "-Dznode.container.checkIntervalMs=3600000",
};
static const char *const small[] = {"-XX:TieredStopAtLevel=1", "-Xmx96m"};
static const char *const quick[] = {"-Xms512m", "-Xmx1g"};

struct call {
    const char *argv[HF__ZOOKEEPER_ARGS + 1];
    int n;
};

static void add(struct call *c, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c->n == HF__ZOOKEEPER_ARGS) {
            hf__servers_fail("zookeeper: too many options");
        }
        c->argv[c->n++] = words[i];
    }
}

static void add_archive(struct call *c, const char *new_archive,
                        char option[HF__TEMPLATE_PATH + 40])
{
    const char *const words[] = {option};

    if (new_archive) {
        snprintf(option, HF__TEMPLATE_PATH + 40, "-XX:ArchiveClassesAtExit=%s",
                 new_archive);
    } else {
        snprintf(option, HF__TEMPLATE_PATH + 40, "-XX:SharedArchiveFile=%s",
                 archive);
    }
    if (new_archive || archive[0]) {
        add(c, words, 1);
    }
}

void hf__zookeeper_exec(struct hf__zookeeper *s, const char *new_archive)
{
    char java[HF__SERVERS_PATH];
    char config[HF__ZOOKEEPER_ROOM];
    char option[HF__TEMPLATE_PATH + 40];
    const char *sync =
        s->on_disk ? "-Dzookeeper.forceSync=yes" : "-Dzookeeper.forceSync=no";
    const char *const first[] = {java, sync};
    const char *const last[] = {MAIN, config};
    struct call c = {.n = 0};

    hf__servers_find("java", java, sizeof java);
    snprintf(config, sizeof config, "%s/zoo.cfg", s->folder);
    add(&c, first, 2);
    add(&c, options, sizeof options / sizeof options[0]);
    add(&c, s->is_for_speed ? quick : small, 2);
    add_archive(&c, new_archive, option);
    for (int i = 0; s->java[i][0]; i++) {
        const char *const given[] = {s->java[i]};

        add(&c, given, 1);
    }
    add(&c, last, 2);
    s->pid = hf__warden_start(s->warden, c.argv);
}

/* ---- the archive */

/* An ensemble of one has the classes of all. What a JVM can't archive is an
 * empty file, which none is asked to use. */
static void make_archive(const char *path)
{
    static const char *const alone[] = {"standaloneEnabled=false", NULL};
    const struct hf__zookeeper_opts opts = {.extra = alone};
    struct hf__zookeeper *s = hf__zookeeper_new(&opts);
    int fd;

    snprintf(s->members, sizeof s->members, "server.1=127.0.0.1:%d:%d\n",
             s->quorum_port, s->election_port);
    hf__zookeeper_write_config(s);
    hf__zookeeper_exec(s, path);
    (void)hf__zookeeper_wait(s);
    hf__zookeeper_stop(s);
    hf__zookeeper_free(s);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
}

void hf__zookeeper_prepare(void)
{
    char java[HF__SERVERS_PATH];
    const struct hf__template template = {.kind = "zookeeper",
                                          .layout = LAYOUT,
                                          .of = {java, HF__ZOOKEEPER_JAR},
                                          .make = make_archive};
    struct stat st;

    hf__servers_find("java", java, sizeof java);
    if (archive[0]) {
        return;
    }
    if (!hf__servers_template(&template, archive) || stat(archive, &st) < 0 ||
        st.st_size == 0) {
        archive[0] = '\0';
    }
}
