/* SPDX-License-Identifier: MIT */
/*
 * What an ordinary user needs: four privileges on three tables; what lacks is
 * said with the remedy.
 */
#include "tests/store_mysql/site.h"

#include "src/backend/mysql/schema.h"

#include <string.h>

/* A user of this test with these privileges on its database. */
static const char *url_of(const char *user, const char *privileges)
{
    char login[96];

    hf__mariadb_sql(server(),
                    "CREATE USER '%s_%s'@'127.0.0.1' IDENTIFIED BY "
                    "'pw'",
                    user, database());
    if (*privileges != '\0') {
        hf__mariadb_sql(server(), "GRANT %s ON %s.* TO '%s_%s'@'127.0.0.1'",
                        privileges, database(), user, database());
    }
    snprintf(login, sizeof login, "%s_%s:pw@", user, database());
    return url_as(login);
}

static void make_tables(void)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
}

TEST(four_privileges_suffice)
{
    DOOR(d);
    hf_verdict verdict = HF_UNFIT;

    make_tables();
    EXPECT_IS(enter(&d, url_of("four", "SELECT,INSERT,UPDATE,DELETE")), HF_OK);
    use(&d, "job");
    EXPECT_TEXT(finding(&d, "privileges", &verdict),
                "SELECT, INSERT, UPDATE, DELETE");
    EXPECT_IS(verdict, HF_FINE);
    EXPECT_HAS(finding(&d, "create", NULL), "none seen");
}

CASE(who_may_make_no_tables_is_told_what_helps,
     expect_refused(url_of("none", "SELECT,INSERT,UPDATE,DELETE"), HF_EAUTH,
                    "\"holdfast check --ddl\""));

/* As an administrator would: what --ddl prints, statement by statement. */
TEST(what_the_ddl_makes_is_taken)
{
    DOOR(d);
    char ddl[8192];
    char *rest = ddl;

    snprintf(ddl, sizeof ddl, "%s", hf__mysql_schema_ddl(false));
    for (char *end; (end = strstr(rest, ";\n")) != NULL; rest = end + 2) {
        char *name = strstr(rest, "EXISTS ") + 7;

        *end = '\0';
        hf__mariadb_sql(server(), "CREATE TABLE %s.%s", database(), name);
    }
    EXPECT_IS(enter(&d, url_of("made", "SELECT,INSERT,UPDATE,DELETE")), HF_OK);
    use(&d, "job");
}

TEST(a_user_who_may_only_read_is_unfit)
{
    DOOR(d);
    hf_verdict verdict = HF_FINE;

    make_tables();
    EXPECT_IS(enter(&d, url_of("read", "SELECT")), HF_OK);
    EXPECT_HAS(finding(&d, "privileges", &verdict),
               "no INSERT on holdfast_lock, UPDATE on holdfast_lock");
    EXPECT_IS(verdict, HF_UNFIT);
    EXPECT_IS(claim(&d, "job", NULL), HF_EAUTH);
    EXPECT_HAS(d.error.text, "grant SELECT, INSERT, UPDATE, DELETE");
}

TEST(who_may_not_enter_is_told_so)
{
    expect_refused(url_of("out", ""), HF_EAUTH, "grant this user the database");
    expect_refused(url_as("holdfast:wrong@"), HF_EAUTH,
                   "check user and password");
    expect_refused(url_as("nobody:wrong@"), HF_EAUTH,
                   "check user and password");
}

TEST(a_database_that_is_not_there_is_named)
{
    char url[256];

    hf__mariadb_url(server(), "hf_not_there", url, sizeof url);
    expect_refused(url, HF_EINVAL, "hf_not_there");
    *strrchr(url, '/') = '\0';
    expect_refused(url, HF_EINVAL, "names no database");
}
