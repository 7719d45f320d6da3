/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: runs a program beside a private PostgreSQL, and
 * exits as that does.
 *
 *     with_postgres -- PROGRAM [ARGUMENT]...
 *
 * The program finds in its environment HOLDFAST_TEST_POSTGRES_URL (an empty
 * database, the ordinary role, which is let in without a password), and
 * HOLDFAST_TEST_POSTGRES_ followed by PORT, PID, SOCKET (its folder) and ADMIN
 * (by the socket only). SIGUSR1 to this process, the program's parent, kills
 * the server, SIGUSR2 starts it again with its data; other signals are passed
 * on. Without PostgreSQL it says in TAP that all is skipped, or in CI that it
 * failed.
 */
#include "tests/servers/beside.h"
#include "tests/servers/postgres.h"
#include "tests/servers/postgres_private.h"

static void tell(const struct hf__postgres *s)
{
    char url[HF__POSTGRES_URL];

    hf__postgres_fresh_url(s, url, sizeof url);
    hf__beside_tell("POSTGRES", "URL", url);
    hf__beside_add_number("POSTGRES", "PORT", hf__postgres_port(s), true);
    hf__beside_add_number("POSTGRES", "PID", hf__postgres_pid(s), true);
    hf__beside_tell("POSTGRES", "SOCKET", hf__postgres_socket(s));
    hf__beside_tell("POSTGRES", "ADMIN", HF__POSTGRES_ADMIN);
}

static void kill_server(void *s)
{
    hf__postgres_kill(s);
}

static void restart(void *s)
{
    hf__postgres_restart(s, NULL);
}

int main(int argc, char **argv)
{
    struct hf__beside beside = {
        .command = "with_postgres", .kill = kill_server, .launch = restart};
    struct hf__postgres *s;
    int code;

    argv = hf__beside_program(argc, argv, NULL, NULL);
    if (!hf__postgres_is_installed()) {
        return hf__beside_missing("postgres");
    }
    s = hf__postgres_start(NULL);
    tell(s);
    beside.servers = s;
    code = hf__beside_run(&beside, argv);
    hf__postgres_free(s);
    return code;
}
