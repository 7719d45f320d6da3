/* SPDX-License-Identifier: MIT */
/*
 * What libpq takes from its surroundings elsewhere: variables, services, files
 * in the user's home. A URL means the same whatever they say.
 */
#include "tests/store_postgres/site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set(const char *name, const char *text)
{
    EXPECT_IS(setenv(name, text, 1), 0);
}

static const char *write_in_home(const char *name, const char *text)
{
    static _Thread_local char path[512];
    FILE *f;
    int n;

    snprintf(path, sizeof path, "%s/%s", hf__test_folder(), name);
    f = fopen(path, "we");
    EXPECT(f != NULL);
    n = fputs(text, f);
    fclose(f);
    EXPECT(n >= 0);
    EXPECT_IS(chmod(path, 0600), 0);
    return path;
}

/* Each of them would end the connection, or change what it is. */
static const char *const variables[][2] = {
    {"PGHOST", "not.there.example"},
    {"PGHOSTADDR", "127.0.0.1,127.0.0.1"},
    {"PGPORT", "1"},
    {"PGDATABASE", "not_there"},
    {"PGUSER", "nobody_at_all"},
    {"PGPASSWORD", "wrong"},
    {"PGOPTIONS", "-c synchronous_commit=off -c search_path=pg_temp"},
    {"PGSSLMODE", "verify-full"},
    {"PGREQUIRESSL", "1"},
    {"PGSSLROOTCERT", "/not/there"},
    {"PGSSLCERT", "/not/there"},
    {"PGGSSENCMODE", "require"},
    {"PGCHANNELBINDING", "require"},
    {"PGTARGETSESSIONATTRS", "standby"},
    {"PGREQUIREPEER", "nobody_at_all"},
    {"PGCLIENTENCODING", "LATIN1"},
    {"PGAPPNAME", "another"},
    {"PGCONNECT_TIMEOUT", "x"},
    {"PGREQUIREAUTH", "sspi"},
    {"PGSSLNEGOTIATION", "direct"},
    {"PGLOADBALANCEHOSTS", "x"},
};

static const char *marked(void)
{
    return value("SELECT application_name FROM pg_stat_activity WHERE "
                 "datname=current_database() AND "
                 "application_name LIKE 'holdfast.%%'");
}

TEST(variables_change_nothing)
{
    DOOR(d);

    (void)database(); /* is made in peace */
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        set(variables[i][0], variables[i][1]);
        if (enter(&d, url_with("")) != HF_OK) {
            printf("%s: %s\n", variables[i][0], d.error.text);
        }
        EXPECT_IS(hf__conn_is_open(&d.conn), 1);
        EXPECT_IS(unsetenv(variables[i][0]), 0);
        EXPECT_IS(strlen(marked()), 25);
        EXPECT_TEXT(finding(&d, "schema", NULL), "public");
        use(&d, "job");
    }
}

TEST(a_service_changes_nothing)
{
    DOOR(d);

    (void)database();
    set("PGSERVICEFILE",
        write_in_home("services", "[ours]\n"
                                  "host=not.there.example\n"
                                  "port=1\n"
                                  "user=nobody_at_all\n"
                                  "sslmode=verify-full\n"
                                  "options=-c search_path=pg_temp\n"
                                  "target_session_attrs=standby\n"
                                  "replication=true\n"
                                  "tcp_user_timeout=x\n"));
    set("PGSERVICE", "ours");
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "job");
}

/* The library gives up before anything else can be said. */
TEST(a_service_that_is_not_there_is_told)
{
    (void)database();
    set("PGSERVICEFILE", write_in_home("services", "[others]\n"));
    set("PGSERVICE", "ours");
    expect_refused(url_with(""), HF_EUNAVAIL, "\"ours\" not found");
}

TEST_WITHIN(60, files_of_the_home_change_nothing)
{
    struct hf__postgres *s = hf__postgres_start(
        &(struct hf__postgres_opts){.with_password = true, .with_tls = true});
    char folder[600];
    char url[512];
    DOOR(d);

    hf__postgres_sql(s, NULL, "GRANT CREATE ON SCHEMA public TO PUBLIC");
    snprintf(folder, sizeof folder, "%s/.postgresql", hf__test_folder());
    EXPECT_IS(mkdir(folder, 0700), 0);
    (void)write_in_home(".postgresql/root.crt", "no certificate");
    (void)write_in_home(".postgresql/root.crl", "no list");
    (void)write_in_home(".postgresql/postgresql.crt", "no certificate");
    (void)write_in_home(".postgresql/postgresql.key", "no key");
    set("PGPASSFILE",
        write_in_home(".pgpass", "*:*:*:*:" HF__POSTGRES_PASSWORD "\n"));
    set("HOME", hf__test_folder());
    snprintf(url, sizeof url, "postgres://%s@127.0.0.1:%d/postgres",
             HF__POSTGRES_USER, hf__postgres_port(s));
    expect_refused(url, HF_EAUTH, "asks for a password");
    snprintf(url, sizeof url, "postgres://%s:%s@127.0.0.1:%d/postgres",
             HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, hf__postgres_port(s));
    EXPECT_IS(enter(&d, url), HF_OK);
    use(&d, "job");
    shut(&d);
    hf__postgres_free(s);
}
