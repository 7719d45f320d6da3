/* SPDX-License-Identifier: MIT */
/*
 * Is all of a private PostgreSQL stopped and killed, which is many processes,
 * and nothing left of it, also when its warden is killed?
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres.h"
#include "tests/servers/postgres_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

enum { PROCESSES = 32 };

static PGconn *connect_user(const struct hf__postgres *s)
{
    char url[HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_fresh_url(s, url, sizeof url);
    db = PQconnectdb(url);
    EXPECT_IS(PQstatus(db), CONNECTION_OK);
    return db;
}

struct processes {
    pid_t pids[PROCESSES]; /* ended by 0 */
    int segment;           /* of shared memory */
};

/* That of the caller's statement is gone by then. */
static void note_processes(const struct hf__postgres *s, struct processes *p)
{
    char path[HF__POSTGRES_ROOM];
    char line[HF__POSTGRES_ROOM];
    const char *list = hf__postgres_value(
        s, NULL,
        "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid()");
    int used;
    FILE *f;

    *p = (struct processes){.pids = {hf__postgres_pid(s)}};
    for (int i = 1;
         i + 1 < PROCESSES && sscanf(list, "%d%n", &p->pids[i], &used) == 1;
         i++) {
        list += used;
    }
    snprintf(path, sizeof path, "%s/data/postmaster.pid", s->folder);
    f = fopen(path, "re");
    EXPECT(f);
    for (int i = 0; i < 7; i++) {
        EXPECT(fgets(line, sizeof line, f));
    }
    EXPECT_IS(sscanf(line, "%*u %d", &p->segment), 1);
    fclose(f);
}

static void expect_gone(const struct processes *p)
{
    struct shmid_ds segment;
    int n = 0;

    for (; p->pids[n]; n++) {
        EXPECT(hf__servers_is_gone(p->pids[n]));
    }
    EXPECT_MORE(n, 5);
    EXPECT(shmctl(p->segment, IPC_STAT, &segment) < 0);
    EXPECT(errno == EINVAL || errno == EIDRM);
}

static char state_of(pid_t pid)
{
    char path[64];
    char state = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "re");
    EXPECT(f);
    EXPECT_IS(fscanf(f, "%*d (%*[^)]%*[)] %c", &state), 1);
    fclose(f);
    return state;
}

static void expect_all_stopped(const struct processes *p, bool is_stopped)
{
    for (int i = 0; p->pids[i]; i++) {
        EXPECT_IS(state_of(p->pids[i]) == 'T', is_stopped);
    }
}

TEST_WITHIN(60, all_of_it_is_stopped_and_goes_on)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    PGconn *db = connect_user(s);
    struct processes p;

    note_processes(s, &p);
    expect_all_stopped(&p, false);
    hf__postgres_pause(s);
    expect_all_stopped(&p, true);
    EXPECT(!hf__postgres_has_ended(s));
    EXPECT_IS(PQsendQuery(db, "SELECT 1"), 1);
    hf__postgres_resume(s);
    PQclear(PQgetResult(db));
    EXPECT_IS(PQstatus(db), CONNECTION_OK);
    expect_all_stopped(&p, false);
    PQfinish(db);
    hf__postgres_free(s);
}

TEST_WITHIN(60, nothing_is_left_of_it_however_it_ends)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    PGconn *db = connect_user(s);
    struct processes p;

    EXPECT_IS(PQsendQuery(db, "SELECT count(*) FROM generate_series(1,1e15)"),
              1);
    note_processes(s, &p);
    hf__postgres_pause(s);
    hf__postgres_kill(s);
    expect_gone(&p);
    PQfinish(db);
    hf__postgres_restart(s, NULL);
    note_processes(s, &p);
    hf__postgres_stop(s);
    expect_gone(&p);
    hf__postgres_restart(s, NULL);
    note_processes(s, &p);
    hf__postgres_free(s);
    expect_gone(&p);
}

/* It begins anew then, with other shared memory. */
TEST_WITHIN(60, nothing_is_left_of_one_that_lost_a_session)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    struct processes before;
    struct processes p;

    note_processes(s, &before);
    EXPECT_IS(kill(before.pids[1], SIGKILL), 0);
    UNTIL(strcmp(hf__postgres_try(s, NULL, "SELECT 1"), "") != 0);
    UNTIL(strcmp(hf__postgres_try(s, NULL, "SELECT 1"), "") == 0);
    note_processes(s, &p);
    EXPECT_IS(p.pids[0], before.pids[0]);
    EXPECT_NOT(p.segment, before.segment);
    hf__postgres_free(s);
    expect_gone(&p);
}

/* The harness kills what a test past its limit leaves: the warden too. */
TEST_WITHIN(60, a_warden_that_is_killed_takes_the_server_along)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    char folder[HF__SERVERS_PATH];
    struct processes p;
    char path[64];
    int warden = 0;
    FILE *f;

    note_processes(s, &p);
    snprintf(folder, sizeof folder, "%s", s->folder);
    snprintf(path, sizeof path, "/proc/%d/stat", hf__postgres_pid(s));
    f = fopen(path, "re");
    EXPECT(f);
    EXPECT_IS(fscanf(f, "%*d (%*[^)]%*[)] %*c %d", &warden), 1);
    fclose(f);
    EXPECT_MORE(warden, 1);
    EXPECT_IS(kill(warden, SIGKILL), 0);
    expect_gone(&p);
    /* The next one cleans up; or one of another test's has, meanwhile. */
    hf__postgres_free(hf__postgres_start(NULL));
    EXPECT(access(folder, F_OK) < 0);
    hf__postgres_free(s);
}
