/* SPDX-License-Identifier: MIT */
/*
 * Which server a URL means: several hosts of which some are dead, silent or
 * read-only; a unix socket; options that contradict each other.
 */
#include "tests/store_mysql/site.h"

#include "tests/servers/servers.h"

#include <pwd.h>
#include <unistd.h>

static const char *url_at(const char *hosts, const char *rest)
{
    static char url[1024];

    snprintf(url, sizeof url, "mysql://%s:%s@%s/%s%s", HF__MARIADB_USER,
             HF__MARIADB_PASSWORD, hosts, database(), rest);
    return url;
}

/* The first is a server of its own, and is away for a while. */
TEST(two_servers_that_know_nothing_of_each_other_are_refused)
{
    DOOR(d);
    char hosts[96];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d",
             hf__servers_take_port(), hf__mariadb_port(server()));
    expect_refused(url_at(hosts, ""), HF_EUNAVAIL, "let all be up once");
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d",
             hf__mariadb_port(server()), hf__mariadb_port(server()));
    expect_refused(url_at(hosts, ""), HF_EUNSAFE,
                   "2 of its hosts can be written to");
    EXPECT_IS(enter_allowing(&d, url_at(hosts, ""), "hosts"), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'C');
}

/* The library would take it for two. */
TEST(a_host_with_a_comma_in_it_is_none)
{
    char hosts[96];

    snprintf(hosts, sizeof hosts, "127.0.0.1%%2C127.0.0.1:%d",
             hf__mariadb_port(server()));
    expect_refused(url_at(hosts, ""), HF_EINVAL, "is no name and no address");
    expect_refused(url_at("one%20host", ""), HF_EINVAL,
                   "is no name and no address");
    expect_refused(url_at("127.0.0.1%2Fx", ""), HF_EINVAL,
                   "is no name and no address");
    expect_refused(url_at("127.0.0.1:1,b%2Cc", ""), HF_EINVAL,
                   "is no name and no address");
}

TEST(a_dead_host_is_passed_by_at_once)
{
    DOOR(d);
    char hosts[96];
    int64_t start = hf__test_now_ms();

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d",
             hf__servers_take_port(), hf__mariadb_port(server()));
    EXPECT_IS(enter_allowing(&d, url_at(hosts, ""), "hosts"), HF_OK);
    EXPECT_SOON(hf__test_now_ms() - start, 2000);
    use(&d, "job");
}

TEST(a_silent_host_costs_its_share)
{
    DOOR(d);
    char hosts[96];
    int port = 0;
    int fd = listen_silently(&port);
    int64_t start = hf__test_now_ms();

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d", port,
             hf__mariadb_port(server()));
    EXPECT_IS(enter_by(&d, url_at(hosts, ""), "hosts", 3000), HF_OK);
    EXPECT_MORE(hf__test_now_ms() - start, 1400);
    EXPECT_SOON(hf__test_now_ms() - start, 2900);
    close(fd);
}

/* The limits of the client library are whole seconds. */
TEST(a_silent_host_alone_is_told_by_its_name_to_the_millisecond)
{
    static const int limits[] = {120, 250, 1300};
    DOOR(d);
    char hosts[96];
    char words[64];
    int port = 0;
    int fd = listen_silently(&port);

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", port);
    snprintf(words, sizeof words, "127.0.0.1 port %d did not answer in time",
             port);
    for (int i = 0; i < 3; i++) {
        int64_t start = hf__test_now_ms();

        EXPECT_IS(enter_within(&d, url_at(hosts, ""), limits[i]), HF_EUNAVAIL);
        EXPECT_HAS(d.error.text, words);
        EXPECT_MORE(hf__test_now_ms() - start, limits[i] - 5);
        EXPECT_SOON(hf__test_now_ms() - start, 1000 + limits[i] / 1000 * 1000);
    }
    close(fd);
}

TEST(who_is_not_let_in_is_not_tried_elsewhere)
{
    DOOR(d);
    char url[512];

    snprintf(url, sizeof url,
             "mysql://holdfast:wrong@127.0.0.1:%d,127.0.0.1:1"
             "/%s",
             hf__mariadb_port(server()), database());
    EXPECT_IS(enter_allowing(&d, url, "hosts"), HF_EAUTH);
}

TEST_WITHIN(90, a_read_only_server_is_passed_by)
{
    static const char *const read_only[] = {"--read-only=ON", NULL};
    struct hf__mariadb_opts opts = {.extra = read_only};
    struct hf__mariadb *m = hf__mariadb_start(&opts);
    DOOR(d);
    char hosts[96];
    char url[HF__MARIADB_URL];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d",
             hf__mariadb_port(m), hf__mariadb_port(server()));
    hf__mariadb_sql(m, "CREATE DATABASE %s", database());
    EXPECT_IS(enter_allowing(&d, url_at(hosts, ""), "hosts"), HF_OK);
    use(&d, "job");
    hf__mariadb_url(m, database(), url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "read-only");
    /* By request it is entered, and then refuses by itself. */
    EXPECT_IS(enter_allowing(&d, url, "replica"), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "read-only");
    shut(&d);
    hf__mariadb_free(m);
}

TEST(a_socket_is_entered_with_and_without_a_host)
{
    DOOR(d);
    char rest[300];
    char url[600];

    hf__mariadb_sql(server(),
                    "CREATE USER 's_%s'@'localhost' IDENTIFIED BY "
                    "'pw'",
                    database());
    hf__mariadb_sql(server(), "GRANT ALL ON %s.* TO 's_%s'@'localhost'",
                    database(), database());
    snprintf(rest, sizeof rest, "/%s?socket=%s", database(),
             hf__mariadb_socket(server()));
    snprintf(url, sizeof url, "mysql://s_%s:pw@localhost%s", database(), rest);
    EXPECT_IS(enter(&d, url), HF_OK);
    use(&d, "job");
    snprintf(url, sizeof url, "mysql://s_%s:pw@far.example%s", database(),
             rest);
    expect_refused(url, HF_EINVAL, "name one of them");
}

/* As mysql does, and for cron as for a shell. */
TEST(without_a_user_it_is_the_one_of_the_system)
{
    DOOR(d);
    struct passwd *me = getpwuid(geteuid());
    char url[600];

    EXPECT(me != NULL);
    hf__mariadb_sql(server(),
                    "CREATE OR REPLACE USER '%s'@'localhost' "
                    "IDENTIFIED BY ''",
                    me->pw_name);
    hf__mariadb_sql(server(), "GRANT ALL ON `hf\\_%%`.* TO '%s'@'localhost'",
                    me->pw_name);
    snprintf(url, sizeof url, "mysql:///%s?socket=%s", database(),
             hf__mariadb_socket(server()));
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_HAS(finding(&d, "user", NULL), me->pw_name);
}

TEST(odd_options_are_refused_by_name)
{
    expect_refused(url_with("max_connections=1"), HF_EINVAL,
                   "max_connections: it goes with scheme=row");
    expect_refused(url_with("session_timeout=30s"), HF_EINVAL,
                   "session_timeout: it goes with scheme=session");
    expect_refused(url_with("locks_per_connection=1"), HF_EINVAL,
                   "locks_per_connection: it goes with scheme=session");
    expect_refused(url_with("scheme=best"), HF_EINVAL,
                   "\"best\" is none of table, session, row");
    expect_refused(url_with("tls=maybe"), HF_EINVAL,
                   "\"maybe\" is none of verify, require, off");
    expect_refused(url_with("tls=off&ca=/x"), HF_EINVAL, "tls=off needs no ca");
    expect_refused(url_with("ca=/not/there"), HF_EAUTH,
                   "ca: /not/there can't be read");
    expect_refused(url_with("cert=/dev/null"), HF_EINVAL,
                   "cert and key go together");
    expect_refused(url_with("socket=mysql.sock"), HF_EINVAL,
                   "no path that begins with /");
    expect_refused("mysql:///db", HF_EINVAL, "names no server");
}

TEST(scheme_table_is_what_it_is_anyway)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("scheme=table")), HF_OK);
    use(&d, "job");
}
