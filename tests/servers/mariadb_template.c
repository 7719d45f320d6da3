/* SPDX-License-Identifier: MIT */
/*
 * The data that each server starts with, made once by mariadb-install-db and
 * kept in the build folder, or in that of HOLDFAST_TEST_TEMPLATES: system
 * tables, the ordinary user and the administrator. Its name says for which
 * mariadbd and which user it is good. Programs that run side by side make it
 * once, under a lock; it appears whole, by a rename. Where the build folder
 * can't be written to, each server's data are made anew.
 */
#include "tests/lib/runner.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYOUT = 1 }; /* to be raised when the data below change */
enum { ROOM = 1024 };

/* The pattern of a grant takes "_" for any character, unless escaped. */
static const char accounts[] =
    "DROP DATABASE IF EXISTS sys;\n"
    "FLUSH PRIVILEGES;\n"
    "CREATE USER '" HF__MARIADB_ADMIN "'@'localhost'"
    " IDENTIFIED BY '" HF__MARIADB_ADMIN_PASSWORD "';\n"
    "GRANT ALL PRIVILEGES ON *.* TO '" HF__MARIADB_ADMIN "'@'localhost'"
    " WITH GRANT OPTION;\n"
    "CREATE USER '" HF__MARIADB_USER "'@'127.0.0.1'"
    " IDENTIFIED BY '" HF__MARIADB_PASSWORD "';\n"
    "CREATE USER '" HF__MARIADB_USER "'@'localhost'"
    " IDENTIFIED BY '" HF__MARIADB_PASSWORD "';\n"
    "GRANT ALL PRIVILEGES ON `hf\\_%`.* TO '" HF__MARIADB_USER "'@'127.0.0.1',"
    " '" HF__MARIADB_USER "'@'localhost';\n";

static void write_accounts(const char *path)
{
    FILE *f = fopen(path, "we");

    if (!f || fputs(accounts, f) < 0 || fclose(f) != 0) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
}

static void install(const char *data)
{
    char program[HF__SERVERS_PATH];
    char where[ROOM + 16];
    char sql[ROOM + 16];
    char extra[ROOM + 32];
    char log[ROOM + 16];
    char temporary[ROOM + 16];
    char option[ROOM + 32];
    const char *argv[] = {
        program,
        "--no-defaults",
        where,
        extra,
        option,
        "--skip-test-db",
        "--auth-root-authentication-method=socket",
        HF__MARIADB_SMALL,
        /* By its long name mariadb-install-db takes it for the user of the
         * system's server, and gives that what is in the plugins' folder. */
        geteuid() == 0 ? "-uroot" : NULL,
        NULL,
    };

    hf__servers_find("mariadb-install-db", program, sizeof program);
    snprintf(where, sizeof where, "--datadir=%s", data);
    snprintf(sql, sizeof sql, "%s.sql", data);
    snprintf(extra, sizeof extra, "--extra-file=%s", sql);
    snprintf(log, sizeof log, "%s.log", data);
    snprintf(temporary, sizeof temporary, "%s.tmp", data);
    snprintf(option, sizeof option, "--tmpdir=%s", temporary);
    mkdir(temporary, 0700);
    write_accounts(sql);
    if (!hf__servers_run(argv, log)) {
        hf__servers_fail("mariadb-install-db failed");
    }
    unlink(sql);
    unlink(log);
    hf__test_remove_tree(temporary);
}

static bool template_name(char path[ROOM])
{
    const char *given = getenv("HOLDFAST_TEST_TEMPLATES");
    const char *folder = given && given[0] ? given : HF__SERVERS_BUILD;
    char program[HF__SERVERS_PATH];
    struct stat st;

    hf__servers_find("mariadbd", program, sizeof program);
    if (stat(program, &st) < 0 || access(folder, W_OK | X_OK) < 0) {
        return false;
    }
    snprintf(path, ROOM, "%s/mariadb-%d-%u-%lld-%lld", folder, LAYOUT,
             geteuid(), (long long)st.st_mtime, (long long)st.st_size);
    return true;
}

void hf__mariadb_fill(const char *data)
{
    char name[ROOM];
    char draft[ROOM + 8];
    char path[ROOM + 8];
    int lock;

    if (!template_name(name)) {
        install(data);
        return;
    }
    snprintf(path, sizeof path, "%s.lock", name);
    snprintf(draft, sizeof draft, "%s.draft", name);
    lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        hf__servers_fail("%s: %s", path, strerror(errno));
    }
    if (access(name, F_OK) < 0) {
        hf__test_remove_tree(draft); /* of one that was killed */
        install(draft);
        if (rename(draft, name) < 0) {
            hf__servers_fail("rename %s: %s", draft, strerror(errno));
        }
    }
    close(lock);
    hf__servers_copy(name, data);
}
