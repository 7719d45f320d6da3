/* SPDX-License-Identifier: MIT */
/*
 * The data that each server starts with, a template made by initdb: small, and
 * with the roles. Where no template can be kept, each server's data are made
 * anew. In Debian its programs lie in a folder of their version, which is in no
 * PATH.
 */
#include "tests/lib/runner.h"
#include "tests/servers/postgres_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSIONS "/usr/lib/postgresql"
enum { LAYOUT = 1 }; /* to be raised when the data below change */
enum { WORDS = 16 };

/* A statement is a line. What nobody makes a database of need not be copied. */
static const char statements[] =
    "CREATE ROLE " HF__POSTGRES_USER " LOGIN PASSWORD '" HF__POSTGRES_PASSWORD
    "'\n"
    "CREATE ROLE " HF__POSTGRES_LINK " LOGIN REPLICATION\n"
    "ALTER DATABASE template0 IS_TEMPLATE false\n"
    "DROP DATABASE template0\n";
/* PostgreSQL goes on after a statement that failed. */
static const char obey[] =
    "printf %s \"$3\" | \"$1\" --single -F -D \"$2\" postgres 2>&1 |"
    " { ! grep -E 'ERROR|FATAL|PANIC'; }";

/* 0: there is none. */
static long newest_version(void)
{
    DIR *dir = opendir(VERSIONS);
    struct dirent *entry;
    long newest = 0;

    while (dir && (entry = readdir(dir))) {
        long version = strtol(entry->d_name, NULL, 10);

        newest = version > newest ? version : newest;
    }
    if (dir) {
        closedir(dir);
    }
    return newest;
}

/* All of one version, so the folders come first. */
bool hf__postgres_find(const char *program, char path[HF__SERVERS_PATH])
{
    snprintf(path, HF__SERVERS_PATH, VERSIONS "/%ld/bin/%s", newest_version(),
             program);
    return access(path, X_OK) == 0 ||
           hf__servers_find(program, path, HF__SERVERS_PATH);
}

/* ---- data that are new */

static void run(const char *const command[], const char *folder)
{
    const char *argv[HF__POSTGRES_AS_USER + WORDS];
    char log[HF__POSTGRES_ROOM];
    int n = hf__postgres_as_user(argv);

    for (int i = 0; i == 0 || command[i - 1]; i++) {
        argv[n + i] = command[i];
    }
    snprintf(log, sizeof log, "%s/log", folder);
    if (!hf__servers_run(argv, log)) {
        hf__servers_fail("%s failed", command[0]);
    }
}

static void make_data(const char *folder, const char *data)
{
    char initdb[HF__SERVERS_PATH];
    char postgres[HF__SERVERS_PATH];
    const char *const make[] = {initdb,
                                "-D",
                                data,
                                "--username",
                                HF__POSTGRES_ADMIN,
                                "--auth",
                                "trust",
                                "--encoding",
                                "UTF8",
                                "--locale",
                                "C",
                                "--no-sync",
                                "--no-instructions",
                                "--wal-segsize=1",
                                NULL};
    const char *const fill[] = {"/bin/sh", "-c", obey,       "sh",
                                postgres,  data, statements, NULL};

    hf__postgres_find("initdb", initdb);
    hf__postgres_find("postgres", postgres);
    run(make, folder);
    run(fill, folder);
}

/* In a folder that its user gets to, which a template's may not be. */
void hf__postgres_install(const char *data)
{
    char folder[HF__SERVERS_PATH];
    char made[HF__POSTGRES_ROOM];
    int lock = hf__servers_folder("postgres-data", false, folder);

    snprintf(made, sizeof made, "%s/data", folder);
    if (chmod(folder, 0711) < 0 || mkdir(made, 0700) < 0) {
        hf__servers_fail("mkdir %s: %s", made, strerror(errno));
    }
    hf__postgres_give(made);
    make_data(folder, made);
    hf__servers_copy(made, data);
    hf__test_remove_tree(folder);
    close(lock);
}

void hf__postgres_fill(const char *data)
{
    char program[HF__SERVERS_PATH];
    char path[HF__TEMPLATE_PATH];
    const struct hf__template template = {.kind = "postgres",
                                          .layout = LAYOUT,
                                          .of = {program},
                                          .make = hf__postgres_install};

    hf__postgres_find("postgres", program);
    if (hf__servers_template(&template, path)) {
        hf__servers_copy(path, data);
    } else {
        hf__postgres_install(data);
    }
}
