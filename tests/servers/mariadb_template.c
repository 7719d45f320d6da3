/* SPDX-License-Identifier: MIT */
/*
 * The data that each server starts with, a template made by mariadb-install-db:
 * system tables, the ordinary user and the administrator. Where no template can
 * be kept, each server's data are made anew.
 */
#include "tests/lib/runner.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYOUT = 1 }; /* to be raised when the data below change */
enum { ROOM = HF__TEMPLATE_PATH + 8 };

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

void hf__mariadb_fill(const char *data)
{
    char program[HF__SERVERS_PATH];
    char path[HF__TEMPLATE_PATH];
    const struct hf__template template = {
        .kind = "mariadb", .layout = LAYOUT, .of = {program}, .make = install};

    hf__servers_find("mariadbd", program, sizeof program);
    if (hf__servers_template(&template, path)) {
        hf__servers_copy(path, data);
    } else {
        install(data);
    }
}
