/* SPDX-License-Identifier: MIT */
/*
 * Which server a URL means: several hosts of which some are dead, silent,
 * standbys or primaries that were replaced; a unix socket; options that
 * contradict each other.
 */
#include "tests/store_postgres/site.h"

#include "tests/servers/postgres_pair.h"
#include "tests/servers/servers.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

#define AUTO_PAIR   __attribute__((cleanup(free_pair))) struct hf__postgres_pair
#define AUTO_SERVER __attribute__((cleanup(free_server))) struct hf__postgres

static void free_pair(struct hf__postgres_pair **p)
{
    hf__postgres_pair_free(*p);
}

static void free_server(struct hf__postgres **s)
{
    hf__postgres_free(*s);
}

static const char *url_of_all(const char *hosts, const char *rest)
{
    static _Thread_local char url[1024];

    snprintf(url, sizeof url, "postgres://%s:%s@%s%s", HF__POSTGRES_USER,
             HF__POSTGRES_PASSWORD, hosts, rest);
    return url;
}

static const char *url_at(const char *hosts, const char *database)
{
    char rest[512];

    snprintf(rest, sizeof rest, "/%s", database);
    return url_of_all(hosts, rest);
}

/* Two ports of 127.0.0.1, of the test's database or another. */
static const char *url_of_both(int first, int second, const char *name)
{
    char hosts[96];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d", first, second);
    return url_at(hosts, name);
}

static int port_of(const struct hf__postgres_pair *p, int which)
{
    return hf__postgres_port(hf__postgres_pair_node(p, which));
}

static int shared_port(void)
{
    return hf__postgres_port(server());
}

/* ---- hosts that do not answer */

TEST(a_dead_host_is_passed_by_at_once)
{
    DOOR(d);
    int dead = hf__servers_take_port();
    int64_t start = hf__test_now_ms();

    EXPECT_IS(enter(&d, url_of_both(dead, shared_port(), database())), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade,
              'D'); /* the shared server's */
    EXPECT_IS(enter(&d, url_of_both(shared_port(), dead, database())), HF_OK);
    EXPECT_SOON(hf__test_now_ms() - start, 2000);
    use(&d, "job");
}

TEST(a_silent_host_costs_its_share)
{
    DOOR(d);
    int port = 0;
    int fd = listen_silently(&port);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(
        enter_within(&d, url_of_both(port, shared_port(), database()), 3000),
        HF_OK);
    EXPECT_MORE(hf__test_now_ms() - start, 1400);
    EXPECT_SOON(hf__test_now_ms() - start, 2900);
    close(fd);
}

/* Who takes writes is known; the others are looked at for half a second. */
TEST(a_silent_host_behind_a_good_one_costs_little)
{
    DOOR(d);
    int port = 0;
    int fd = listen_silently(&port);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(enter(&d, url_of_both(shared_port(), port, database())), HF_OK);
    EXPECT_SOON(hf__test_now_ms() - start, 4000); /* half of what it has: 5 */
    use(&d, "job");
    close(fd);
}

/* What a session has set, as a trigger sees it. */
static void watch_settings(void)
{
    sql("CREATE TABLE public.seen(patience text)");
    sql("GRANT ALL ON public.seen TO PUBLIC");
    sql("CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO public.seen VALUES(current_setting("
        "'statement_timeout')); RETURN NEW; END$$");
    sql("CREATE TRIGGER see BEFORE UPDATE ON holdfast_lock FOR EACH ROW "
        "EXECUTE FUNCTION public.see()");
}

/* It was looked at last, and could not be asked what its schema is. */
TEST(a_host_that_falls_silent_takes_no_settings_away)
{
    DOOR(d);
    struct hf__proxy *proxy = hf__proxy_start(shared_port(), framing);
    const struct hf__proxy_rule rule = {.what = HF__STATEMENT,
                                        .where = HF__BEFORE,
                                        .action = HF__SILENCE,
                                        .text = "current_schema()"};

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "job");
    watch_settings();
    hf__proxy_rule(proxy, &rule);
    EXPECT_IS(enter(&d, url_of_both(shared_port(), hf__proxy_port(proxy),
                                    database())),
              HF_OK);
    use(&d, "job");
    EXPECT_TEXT(value("SELECT min(patience)||max(patience) FROM seen"), "5s5s");
    shut(&d);
    hf__proxy_free(proxy);
}

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

        EXPECT_IS(enter_within(&d, url_at(hosts, "db"), limits[i]),
                  HF_EUNAVAIL);
        EXPECT_HAS(d.error.text, words);
        EXPECT_MORE(hf__test_now_ms() - start, limits[i] - 5);
        EXPECT_SOON(hf__test_now_ms() - start, limits[i] + 1000);
    }
    close(fd);
}

TEST(a_name_that_is_none_is_told)
{
    expect_refused(url_at("no.such.host.invalid", "db"), HF_EUNAVAIL,
                   "no.such.host.invalid can't be looked up");
}

/* ---- several that are no copies of one */

TEST_WITHIN(60, another_server_is_not_taken_for_one_of_the_same)
{
    AUTO_SERVER *other =
        hf__postgres_start(&(struct hf__postgres_opts){.is_stranger = true});

    hf__postgres_sql(other, NULL, "CREATE DATABASE \"%s\"", database());
    expect_refused(
        url_of_both(shared_port(), hf__postgres_port(other), database()),
        HF_EUNSAFE, "no copies of one server");
    expect_refused(
        url_of_both(hf__postgres_port(other), shared_port(), database()),
        HF_EUNSAFE, "no copies of one server");
}

/* Both began with the data of one template, as if somebody had copied it. */
TEST_WITHIN(60, two_that_take_writes_are_refused)
{
    AUTO_SERVER *other = hf__postgres_start(NULL);

    hf__postgres_sql(other, NULL, "CREATE DATABASE \"%s\"", database());
    expect_refused(
        url_of_both(shared_port(), hf__postgres_port(other), database()),
        HF_EUNSAFE, "two of its hosts take writes");
}

TEST(one_server_by_two_names_is_one)
{
    DOOR(d);
    char hosts[96];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,localhost:%d", shared_port(),
             shared_port());
    EXPECT_IS(enter(&d, url_at(hosts, database())), HF_OK);
    use(&d, "job");
}

/* ---- a primary and its standby */

static int is_on(const struct hf__postgres_pair *p, int which, const char *name,
                 const char *lock)
{
    return strcmp(hf__postgres_value(hf__postgres_pair_node(p, which), name,
                                     "SELECT count(*) FROM holdfast_lock "
                                     "WHERE name_key='holdfast:%s'",
                                     lock),
                  "1") == 0;
}

TEST_WITHIN(60, a_standby_is_passed_by)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    char name[HF__POSTGRES_NAME];
    char url[HF__POSTGRES_URL];
    DOOR(d);

    hf__postgres_database(hf__postgres_pair_node(p, 0), name);
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 0), port_of(p, 1), name)),
              HF_OK);
    use(&d, "job");
    hf__postgres_pair_await_caught_up(p, 1);
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 1), port_of(p, 0), name)),
              HF_OK);
    use(&d, "job");
    EXPECT_MORE(hf__conn_server_info(&d.conn).grade,
                'B'); /* it is not waited for */
    hf__postgres_url(hf__postgres_pair_node(p, 1), name, url, sizeof url);
    expect_refused(url, HF_EUNAVAIL, "the server is a standby");
}

/* Whatever the standby has for a search_path, which it need not share. */
TEST_WITHIN(60, the_schema_is_the_one_of_the_host_that_is_used)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    struct hf__postgres *standby = hf__postgres_pair_node(p, 1);
    char name[HF__POSTGRES_NAME];
    DOOR(d);

    hf__postgres_database(hf__postgres_pair_node(p, 0), name);
    hf__postgres_sql(
        hf__postgres_pair_node(p, 0), name,
        "CREATE SCHEMA other; GRANT ALL ON SCHEMA other TO PUBLIC");
    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_sql(standby, NULL, "ALTER SYSTEM SET search_path=other");
    hf__postgres_sql(standby, NULL, "SELECT pg_reload_conf()");
    UNTIL(strcmp(hf__postgres_value(standby, name, "SHOW search_path"),
                 "other") == 0);
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 0), port_of(p, 1), name)),
              HF_OK);
    EXPECT_TEXT(finding(&d, "schema", NULL), "public");
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 1), port_of(p, 0), name)),
              HF_OK);
    EXPECT_TEXT(finding(&d, "schema", NULL), "public");
}

/* The first was the primary, and has come back: it takes writes as well. */
TEST_WITHIN(60, of_two_primaries_the_promoted_one_is_taken)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    char name[HF__POSTGRES_NAME];
    char url[HF__POSTGRES_URL];
    uint64_t server_id;
    DOOR(d);

    hf__postgres_database(hf__postgres_pair_node(p, 0), name);
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 0), port_of(p, 1), name)),
              HF_OK);
    use(&d, "old");
    server_id = hf__conn_server_info(&d.conn).server_id;
    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
    hf__postgres_pair_restart(p, 0);
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 0), port_of(p, 1), name)),
              HF_OK);
    use(&d, "new");
    EXPECT_SAFE(is_on(p, 1, name, "new") && !is_on(p, 0, name, "new"));
    EXPECT(hf__conn_server_info(&d.conn).server_id != server_id);
    EXPECT_IS(enter(&d, url_of_both(port_of(p, 1), port_of(p, 0), name)),
              HF_OK);
    /* By itself it is known for what it is: this process has seen more. */
    hf__postgres_url(hf__postgres_pair_node(p, 0), name, url, sizeof url);
    expect_refused(url, HF_EUNSAFE, "timeline 2 has begun");
}

/* The promoted one is a standby again, by mistake. */
TEST_WITHIN(60, a_primary_below_the_timeline_of_a_standby_is_refused)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    struct hf__postgres *second = hf__postgres_pair_node(p, 1);

    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
    hf__postgres_sql(second, NULL,
                     "COPY (SELECT 1) TO PROGRAM 'cat >standby.signal'");
    hf__postgres_stop(second);
    hf__postgres_restart(second, NULL);
    hf__postgres_pair_restart(p, 0);
    expect_refused(url_of_both(port_of(p, 0), port_of(p, 1), "postgres"),
                   HF_EUNSAFE, "timeline 2 has begun");
}

/* ---- sockets and options */

TEST_WITHIN(60, a_socket_is_entered_with_and_without_a_host)
{
    static const char *const hba[] = {
        "local all " HF__POSTGRES_USER " scram-sha-256", NULL};
    AUTO_SERVER *s = hf__postgres_start(
        &(struct hf__postgres_opts){.hba = hba, .with_password = true});
    int port = hf__postgres_port(s);
    char rest[400];
    DOOR(d);

    hf__postgres_sql(s, NULL, "GRANT CREATE ON SCHEMA public TO PUBLIC");
    snprintf(rest, sizeof rest, ":%d/postgres?socket=%s", port,
             hf__postgres_socket(s));
    EXPECT_IS(enter(&d, url_of_all("localhost", rest)), HF_OK);
    EXPECT_IS(enter(&d, url_of_all("127.0.0.1", rest)), HF_OK);
    expect_refused(url_of_all("far.example", rest), HF_EINVAL,
                   "name one of them");
    snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "&tls=verify");
    expect_refused(url_of_all("localhost", rest), HF_EINVAL, "no TLS there");
}

/* As psql does, and for cron as for a shell. */
TEST(without_a_user_it_is_the_one_of_the_system)
{
    DOOR(d);
    struct passwd *me = getpwuid(geteuid());
    char url[600];

    EXPECT(me != NULL);
    sql("DO $$BEGIN CREATE ROLE %s LOGIN; EXCEPTION WHEN duplicate_object "
        "THEN NULL; END$$",
        me->pw_name);
    sql("GRANT ALL ON SCHEMA public TO %s", me->pw_name);
    snprintf(url, sizeof url, "postgres://127.0.0.1:%d/%s", shared_port(),
             database());
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_HAS(finding(&d, "user", NULL), me->pw_name);
}

TEST(odd_options_are_refused_by_name)
{
    expect_refused(url_with("tls=maybe"), HF_EINVAL,
                   "\"maybe\" is none of verify, require, off");
    expect_refused(url_with("tls=off&ca=/x"), HF_EINVAL, "tls=off needs no ca");
    expect_refused(url_with("ca=/not/there"), HF_EAUTH,
                   "ca: /not/there can't be read");
    expect_refused(url_with("cert=/dev/null"), HF_EINVAL,
                   "cert and key go together");
    expect_refused(url_with("socket=run"), HF_EINVAL,
                   "no path that begins with /");
    expect_refused(url_with("socket=/run,/tmp"), HF_EINVAL,
                   "socket: \"/run,/tmp\" has a comma");
    expect_refused(url_with("schema="), HF_EINVAL, "schema: ");
    expect_refused(url_with("schema=pg_mine"), HF_EINVAL, "schema: ");
    expect_refused(url_with("schema=nowhere"), HF_EINVAL,
                   "no \"nowhere\"; create it: CREATE SCHEMA");
    expect_refused("postgres:///db", HF_EINVAL, "names no server");
    expect_refused(url_at("127.0.0.1", ""), HF_EINVAL, "names no database");
    expect_refused(url_at("127.0.0.1%2C127.0.0.2", "db"), HF_EINVAL,
                   "is no name and no address");
    expect_refused(url_at("one%20host", "db"), HF_EINVAL,
                   "is no name and no address");
}

TEST(a_database_that_is_not_there_is_told)
{
    char hosts[64];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", shared_port());
    expect_refused(url_at(hosts, "not%20there%27%5C"), HF_EINVAL,
                   "create it: CREATE DATABASE");
    /* No list of options, either. */
    expect_refused(url_at(hosts, "port%3D1"), HF_EINVAL,
                   "\"port=1\" does not exist");
}
