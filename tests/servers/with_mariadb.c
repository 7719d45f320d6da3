/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private MariaDB, and exits
 * as that does.
 *
 *     with_mariadb -- PROGRAM [ARGUMENT]...
 *
 * The program finds in its environment HOLDFAST_TEST_MYSQL_URL (an empty
 * database, the ordinary user), and HOLDFAST_TEST_MYSQL_ followed by PORT,
 * PID, SOCKET, ADMIN and ADMIN_PASSWORD (by the socket only). SIGUSR1 to this
 * process, the program's parent, kills the server, SIGUSR2 starts it again
 * with its data; other signals are passed on. Without MariaDB it says in TAP
 * that all is skipped, or in CI that it failed.
 */
#include "tests/servers/beside.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/servers.h"

static void tell(const struct hf__mariadb *m)
{
    char url[HF__MARIADB_URL];

    hf__mariadb_fresh_url(m, url, sizeof url);
    hf__beside_tell("MYSQL", "URL", url);
    hf__beside_add_number("MYSQL", "PORT", hf__mariadb_port(m), true);
    hf__beside_add_number("MYSQL", "PID", hf__mariadb_pid(m), true);
    hf__beside_tell("MYSQL", "SOCKET", hf__mariadb_socket(m));
    hf__beside_tell("MYSQL", "ADMIN", HF__MARIADB_ADMIN);
    hf__beside_tell("MYSQL", "ADMIN_PASSWORD", HF__MARIADB_ADMIN_PASSWORD);
}

static void kill_server(void *m)
{
    hf__mariadb_kill(m);
}

static void restart(void *m)
{
    hf__mariadb_restart(m, NULL);
}

int main(int argc, char **argv)
{
    struct hf__beside beside = {
        .command = "with_mariadb", .kill = kill_server, .launch = restart};
    struct hf__mariadb *m;
    int code;

    argv = hf__beside_program(argc, argv, NULL, NULL);
    if (!hf__mariadb_is_installed()) {
        return hf__beside_missing("mariadbd");
    }
    m = hf__mariadb_start(NULL);
    tell(m);
    beside.servers = m;
    code = hf__beside_run(&beside, argv);
    hf__mariadb_free(m);
    return code;
}
