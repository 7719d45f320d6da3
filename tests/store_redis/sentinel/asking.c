/* SPDX-License-Identifier: MIT */
/*
 * Whom the Sentinels are believed about the primary, and who is told what is
 * wrong: with a URL, a Sentinel, a password.
 */
#include "tests/servers/servers.h"
#include "tests/store_redis/sentinel/site.h"
#include "tests/store_server/door.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *sentinel_at(const struct hf__redis_sentinels *g, int i)
{
    return at(hf__redis_sentinel(g, i));
}

static const char *url_of(const struct hf__redis_sentinels *g,
                          const char *options)
{
    return url_at(sentinel_at(g, 0), sentinel_at(g, 1), sentinel_at(g, 2),
                  options);
}

/* ---- how many */

TEST_WITHIN(60, a_minority_of_sentinels_is_not_believed)
{
    AUTO_SITE *g = begin_site(NULL);
    int64_t start;
    DOOR(d);

    hf__redis_pause(hf__redis_sentinel(g, 0));
    start = hf__test_now_ms();
    EXPECT_IS(enter_within(&d, url_of(g, ""), 6000), HF_OK);
    EXPECT_SOON(hf__test_now_ms() - start, 1500);
    shut(&d);
    d = (struct door){0};
    hf__redis_kill(hf__redis_sentinel(g, 1));
    EXPECT_IS(enter_within(&d, url_of(g, ""), 600), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "1 of the 3 Sentinels");
    EXPECT_HAS(d.error.text, sentinel_at(g, 1));
    hf__redis_resume(hf__redis_sentinel(g, 0));
    EXPECT_IS(enter(&d, url_of(g, "")), HF_OK);
}

TEST(a_url_names_a_majority_of_sentinels)
{
    AUTO_SITE *g = begin_site(NULL);
    DOOR(d);

    expect_refused(url_at(sentinel_at(g, 0), NULL, NULL, ""), HF_EUNSAFE,
                   "names 1 of the 3 Sentinels");
    EXPECT_IS(enter(&d, url_at(sentinel_at(g, 0), sentinel_at(g, 1), NULL, "")),
              HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'C');
}

TEST(a_sentinel_that_is_named_twice_has_one_vote)
{
    AUTO_SITE *g = begin_site(NULL);
    char other[32];
    DOOR(d);

    snprintf(other, sizeof other, "localhost:%d",
             hf__redis_port(hf__redis_sentinel(g, 0)));
    EXPECT_IS(enter_within(&d, url_at(sentinel_at(g, 0), other, NULL, ""), 600),
              HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "1 of the 3 Sentinels");
}

/* ---- which */

TEST_WITHIN(90, the_newest_configuration_is_believed)
{
    AUTO_SITE *g = begin_site(NULL);
    char url[256];
    DOOR(d);

    hf__redis_kill(hf__redis_watched(g, 0));
    (void)await_failover(g, 0);
    AUTO_SERVER *stale = stale_sentinel(hf__redis_watched(g, 0));
    snprintf(url, sizeof url, "%s",
             url_at(at(stale), sentinel_at(g, 1), sentinel_at(g, 2), ""));
    EXPECT_IS(enter(&d, url), HF_OK);
    shut(&d);
    d = (struct door){0};
    hf__redis_kill(hf__redis_sentinel(g, 1));
    hf__redis_kill(hf__redis_sentinel(g, 2));
    EXPECT_IS(enter_within(&d, url, 600), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "1 of the 3 Sentinels");
}

TEST(a_replica_is_no_primary_whoever_says_so)
{
    AUTO_SITE *g = begin_site(NULL);
    DOOR(d);
    AUTO_SERVER *stale = stale_sentinel(hf__redis_watched(g, 1));

    EXPECT_IS(enter_within(&d, url_at(at(stale), NULL, NULL, ""), 800),
              HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "but it is a replica");
    EXPECT_IS(enter_by(&d, url_at(at(stale), NULL, NULL, ""), "replica", 800),
              HF_EUNAVAIL);
}

/* It goes on, and no other can be promoted; but one may be at any time. */
TEST_WITHIN(60, a_primary_that_is_held_for_down_is_not_entered)
{
    AUTO_SITE *g = begin_site(NULL);
    DOOR(d);

    hf__redis_kill(hf__redis_watched(g, 1));
    hf__redis_kill(hf__redis_watched(g, 2));
    hf__redis_keep_out(hf__redis_watched(g, 0), true);
    UNTIL(enter_within(&d, url_of(g, ""), 300) == HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "for down");
    EXPECT_HAS(d.error.text, at(hf__redis_watched(g, 0)));
    /* They come back by new connections. */
    hf__redis_keep_out(hf__redis_watched(g, 0), false);
    hf__redis_command(hf__redis_watched(g, 0), "CLIENT KILL TYPE normal");
    UNTIL(enter_within(&d, url_of(g, ""), 300) == HF_OK);
}

static int64_t connections_of(const struct hf__redis *sentinel)
{
    return strtoll(
        hf__redis_value(sentinel, "total_connections_received", "INFO stats"),
        NULL, 10);
}

/* Those who wait for it must not keep them from choosing it. */
TEST_WITHIN(60, sentinels_without_a_primary_are_asked_on_one_connection)
{
    AUTO_SITE *g = begin_site(NULL);
    int64_t before;
    DOOR(d);

    for (int i = 0; i < 3; i++) {
        hf__redis_kill(hf__redis_watched(g, i));
    }
    before = connections_of(hf__redis_sentinel(g, 0));
    EXPECT_IS(enter_within(&d, url_of(g, ""), 3000), HF_EUNAVAIL);
    /* That one, and those by which the test asks. */
    EXPECT_LESS(connections_of(hf__redis_sentinel(g, 0)) - before, 5);
}

/* ---- what is wrong */

static void expect_path_refused(const struct hf__redis_sentinels *g,
                                const char *path, const char *words)
{
    char url[256];

    snprintf(url, sizeof url, "redis+sentinel://%s/%s", sentinel_at(g, 0),
             path);
    expect_refused(url, HF_EINVAL, words);
}

TEST(a_service_that_nobody_knows_is_named)
{
    AUTO_SITE *g = begin_site(NULL);

    expect_path_refused(g, "nightly/0",
                        "no service \"nightly\", but \"" HF__REDIS_SERVICE
                        "\"");
    expect_path_refused(g, "", "no name of a service");
    expect_path_refused(g, "/0", "no name of a service");
    expect_path_refused(g, HF__REDIS_SERVICE "/x", "no number of a database");
}

TEST(a_server_and_a_sentinel_are_told_apart)
{
    AUTO_SITE *g = begin_site(NULL);
    const struct hf__redis *server = hf__redis_watched(g, 0);
    char url[128];

    expect_refused(url_at(at(server), NULL, NULL, ""), HF_EINVAL,
                   "it is no Sentinel");
    snprintf(url, sizeof url, "redis://%s", sentinel_at(g, 0));
    expect_refused(url, HF_EINVAL, "redis+sentinel://");
    snprintf(url, sizeof url, "redis://%s?sentinel_user=x", at(server));
    expect_refused(url, HF_EINVAL, "names no Sentinels");
    snprintf(url, sizeof url, "redis+sentinel:///%s?socket=/x",
             HF__REDIS_SERVICE);
    expect_refused(url, HF_EINVAL, "names no Sentinel");
    expect_refused(url_at(sentinel_at(g, 0), NULL, NULL, "socket=/x"),
                   HF_EINVAL, "Sentinels name servers by host");
}

/* ---- TLS */

TEST(sentinels_and_servers_are_verified)
{
    AUTO_SERVER *server = hf__redis_start(
        &(struct hf__redis_opts){.has_tls = true, .has_aof = true});
    AUTO_SERVER *sentinel = tls_sentinel(server);
    char url[512];
    DOOR(d);

    for (int i = 0; i < 2; i++) {
        snprintf(url, sizeof url, "rediss+sentinel://127.0.0.1:%d/%s?ca=%s",
                 hf__redis_tls_port(sentinel), HF__REDIS_SERVICE,
                 hf__redis_tls_file(server, i ? "other-ca.crt" : "ca.crt"));
        EXPECT_IS(enter(&d, url), i ? HF_EUNSAFE : HF_OK);
    }
    EXPECT_HAS(d.error.text, "Sentinel 127.0.0.1");
    /* Neither of them has TLS on its other port. */
    snprintf(url, sizeof url, "rediss+sentinel://%s/%s?ca=%s", at(sentinel),
             HF__REDIS_SERVICE, hf__redis_tls_file(server, "ca.crt"));
    EXPECT_NOT(enter_within(&d, url, 1000), HF_OK);
}

/* ---- passwords */

static const char *write_secret(const char *name, const char *secret)
{
    static char path[256];
    bool is_written = false;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", hf__test_folder(), name);
    f = fopen(path, "we");
    if (f != NULL) {
        is_written = fprintf(f, "%s\n", secret) > 0;
        is_written = fclose(f) == 0 && is_written;
    }
    EXPECT(is_written);
    EXPECT_IS(chmod(path, 0600), 0);
    return path;
}

static void expect_untold(const char *text)
{
    EXPECT(strstr(text, "s3ntinel") == NULL && strstr(text, "s3rver") == NULL);
}

TEST(sentinels_have_a_password_of_their_own)
{
    AUTO_SITE *g = begin_site(&(struct hf__redis_sentinels_opts){
        .password = "s3rver", .sentinel_password = "s3ntinel"});
    char with[320];
    char options[300];
    DOOR(d);

    snprintf(with, sizeof with, "redis+sentinel://:s3rver@%s/%s",
             sentinel_at(g, 0), HF__REDIS_SERVICE);
    EXPECT_IS(enter(&d, with), HF_EAUTH);
    EXPECT_HAS(d.error.text, "sentinel_password_file=");
    expect_untold(d.error.text);
    snprintf(options, sizeof options, "sentinel_password_file=%s",
             write_secret("wrong", "s3ntinels"));
    EXPECT_IS(enter(&d, url_of(g, options)), HF_EAUTH);
    EXPECT_HAS(d.error.text, "Sentinel");
    expect_untold(d.error.text);
    snprintf(options, sizeof options,
             "sentinel_user=default&sentinel_password_file=%s",
             write_secret("right", "s3ntinel"));
    /* Then the server wants its own. */
    EXPECT_IS(enter(&d, url_of(g, options)), HF_EAUTH);
    EXPECT_HAS(d.error.text, "redis://");
    expect_untold(d.error.text);
    snprintf(with, sizeof with, "redis+sentinel://:s3rver@%s",
             strstr(url_of(g, options), "127"));
    EXPECT_IS(enter(&d, with), HF_OK);
}
