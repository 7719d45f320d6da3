/* SPDX-License-Identifier: MIT */
/*
 * Looking around on a server: what check() finds and which grade follows from
 * it, what a list has in it, what cleaning leaves behind.
 */
#include "tests/servers/servers.h"
#include "tests/store_redis/world.h"

#include <stdlib.h>
#include <string.h>

static hf_verdict verdict_on(hf_client *client, const char *name)
{
    hf_verdict verdict = HF_UNFIT;

    EXPECT(*finding(client, name, &verdict) != '\0');
    return verdict;
}

/* ---- check */

TEST(a_sound_server_is_fine)
{
    static const char *const names[] = {"version",    "run_id",
                                        "database",   "tls",
                                        "mode",       "role",
                                        "user",       "privileges",
                                        "listing",    "channels",
                                        "memory",     "maxmemory_policy",
                                        "appendonly", "appendfsync",
                                        "save",       "last_write",
                                        "replicas",   "min_replicas_to_write",
                                        "hosts",      "clients",
                                        "round_trip", "clock_ahead_of_ours",
                                        "waiting",    "worst_takeover",
                                        "grade"};
    AUTO_CLIENT *alice = open_store();
    int keys = count_keys();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (verdict_on(alice, names[i]) != HF_FINE) {
            printf("%s\n", names[i]);
            EXPECT_IS(verdict_on(alice, names[i]), HF_FINE);
        }
    }
    EXPECT_TEXT(finding(alice, "version", NULL),
                hf__redis_value(server(), "redis_version", "INFO"));
    EXPECT_TEXT(finding(alice, "role", NULL), "master");
    EXPECT_TEXT(finding(alice, "user", NULL), "default");
    EXPECT_TEXT(finding(alice, "maxmemory_policy", NULL), "noeviction");
    EXPECT_TEXT(finding(alice, "appendfsync", NULL), "always");
    EXPECT_TEXT(finding(alice, "waiting", NULL), "woken by channels");
    EXPECT_TEXT(finding(alice, "grade", NULL), "B");
    EXPECT_IS(grade_of(alice), 'B');
    EXPECT_LESS(
        labs(strtol(finding(alice, "clock_ahead_of_ours", NULL), NULL, 10)),
        1000);
    EXPECT_IS(count_keys(), keys); /* nothing was left */
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST_WITHIN(60, what_a_server_would_forget_is_warned_of)
{
    static const char *const lazy[] = {"appendfsync everysec", NULL};
    AUTO_SERVER *none = own_server(NULL);
    AUTO_CLIENT *alice = open_store();
    AUTO_SERVER *some = own_server_with_aof(lazy);
    AUTO_CLIENT *bob = open_store();

    EXPECT_IS(grade_of(alice), 'D');
    EXPECT_TEXT(finding(alice, "appendonly", NULL), "off");
    EXPECT_IS(verdict_on(alice, "appendonly"), HF_WARN);
    EXPECT_IS(verdict_on(alice, "appendfsync"), HF_WARN);
    EXPECT_IS(grade_of(bob), 'B');
    EXPECT_IS(verdict_on(bob, "appendonly"), HF_FINE);
    EXPECT_TEXT(finding(bob, "appendfsync", NULL), "everysec");
    EXPECT_IS(verdict_on(bob, "appendfsync"), HF_WARN);
    EXPECT(none != some);
}

TEST_WITHIN(60, a_server_that_evicts_is_refused_unless_allowed)
{
    static const char *const extra[] = {"maxmemory-policy volatile-lru", NULL};
    AUTO_SERVER *r = own_server(extra);
    hf_error err = HF_ERROR_INIT;
    AUTO_CLIENT *alice = NULL;

    EXPECT_IS(open_status(store_url(NULL), &err), HF_EUNSAFE);
    EXPECT_HAS(err.text, "volatile-lru");
    EXPECT_HAS(err.text, "noeviction");
    alice = open_with("allow=evicting");
    EXPECT_IS(verdict_on(alice, "maxmemory_policy"), HF_UNFIT);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__redis_command(r, "CONFIG SET maxmemory-policy noeviction");
    EXPECT_IS(verdict_on(alice, "maxmemory_policy"), HF_FINE);
}

static void await_link(const struct hf__redis *replica)
{
    UNTIL(strcmp(hf__redis_value(replica, "master_link_status", "INFO"),
                 "up") == 0);
}

TEST_WITHIN(60, a_replica_costs_a_grade_and_is_no_store)
{
    AUTO_SERVER *replica = own_server(NULL);
    hf_acquire_opts opts = wanting(0, 30000);
    char url[HF__REDIS_URL];
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    hf__redis_url(replica, 0, url, sizeof url);
    AUTO_SERVER *master = own_server_with_aof(NULL);
    hf__redis_command(master, "CONFIG SET repl-diskless-sync-delay 0");
    hf__redis_command(replica, "REPLICAOF 127.0.0.1 %d",
                      hf__redis_port(master));
    await_link(replica);
    AUTO_CLIENT *alice = open_store();
    EXPECT_IS(grade_of(alice), 'C');
    EXPECT_TEXT(finding(alice, "replicas", NULL), "1 connected");
    EXPECT_IS(verdict_on(alice, "replicas"), HF_WARN);
    EXPECT_IS(verdict_on(alice, "min_replicas_to_write"), HF_WARN);
    hf__redis_command(master, "CONFIG SET min-replicas-to-write 1");
    EXPECT_IS(verdict_on(alice, "min_replicas_to_write"), HF_FINE);
    EXPECT_IS(open_status(url, &err), HF_EUNSAFE);
    EXPECT_HAS(err.text, "replica");
    hf__redis_command(master, "CONFIG SET min-replicas-to-write 2");
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "min-replicas-to-write");
    hf__redis_command(master, "CONFIG SET min-replicas-to-write 0");
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

static struct hf__redis *begin_replica(const struct hf__redis *master)
{
    struct hf__redis *replica = hf__redis_start(NULL);

    hf__redis_command(replica, "REPLICAOF 127.0.0.1 %d",
                      hf__redis_port(master));
    return replica;
}

TEST_WITHIN(60, both_sides_of_a_cut_may_have_enough_replicas)
{
    AUTO_SERVER *master = own_server(NULL);
    AUTO_CLIENT *alice = NULL;

    hf__redis_command(master, "CONFIG SET repl-diskless-sync-delay 0");
    AUTO_SERVER *first = begin_replica(master);
    AUTO_SERVER *second = begin_replica(master);
    AUTO_SERVER *third = begin_replica(master);
    EXPECT(first && second && third);
    EXPECT_IS(hf_open(url_as("", "wait_replicas=1"), NULL, &alice, NULL),
              HF_OK);
    UNTIL(strcmp(finding(alice, "needed_replicas", NULL), "1 of 3") == 0);
    EXPECT_IS(verdict_on(alice, "needed_replicas"), HF_WARN);
    hf__redis_command(master, "CONFIG SET min-replicas-to-write 2");
    EXPECT_IS(verdict_on(alice, "needed_replicas"), HF_FINE);
}

TEST_WITHIN(60, what_a_user_may_not_see_is_said_to_be_unseen)
{
    AUTO_SERVER *r = own_server_with_users(
        "user bob on >pw ~* &* +@all -config -scan -publish -subscribe "
        "-acl");
    AUTO_CLIENT *bob = NULL;

    EXPECT_IS(hf_open(url_as("bob:pw", ""), NULL, &bob, NULL), HF_OK);
    EXPECT_TEXT(finding(bob, "user", NULL), "bob");
    EXPECT_HAS(finding(bob, "min_replicas_to_write", NULL), "can't be seen");
    EXPECT_HAS(finding(bob, "save", NULL), "can't be seen");
    EXPECT_IS(verdict_on(bob, "maxmemory_policy"), HF_FINE); /* INFO has it */
    EXPECT_IS(verdict_on(bob, "listing"), HF_WARN);
    EXPECT_IS(verdict_on(bob, "channels"), HF_WARN);
    EXPECT_TEXT(finding(bob, "channels", NULL),
                "neither PUBLISH nor SUBSCRIBE");
    EXPECT_HAS(finding(bob, "waiting", NULL), "polling");
    EXPECT_IS(verdict_on(bob, "privileges"), HF_FINE);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT(!hf__redis_has_ended(r));
}

TEST_WITHIN(60, few_places_left_are_warned_of)
{
    static const char *const extra[] = {"maxclients 4", NULL};
    AUTO_SERVER *r = own_server(extra);
    HELD(a, alice, bob);
    AUTO_LOCK *b = acquire(bob, "b");

    EXPECT_IS(hf_renew(a, NULL), HF_OK); /* each by its own connection */
    EXPECT_IS(hf_renew(b, NULL), HF_OK);
    EXPECT_IS(verdict_on(alice, "clients"), HF_WARN);
    EXPECT(!hf__redis_has_ended(r));
}

/* ---- list */

struct listed {
    int count;
    char last[HF_NAME_MAX + 1];
};

static int note(void *arg, const hf_info *info)
{
    struct listed *l = arg;

    EXPECT(strcmp(l->last, hf_info_name(info)) < 0);
    snprintf(l->last, sizeof l->last, "%s", hf_info_name(info));
    l->count++;
    return 0;
}

static int count_listed(hf_client *client, const char *prefix)
{
    struct listed l = {0};

    EXPECT_IS(hf_list(client, prefix, note, &l, NULL), HF_OK);
    return l.count;
}

/* Among many that are none of ours, or nobody's; sorted, each once. */
TEST_WITHIN(60, a_list_is_whole_however_many_keys_there_are)
{
    enum { HELD = 700 };
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *other = open_with("prefix=h*ldfast");
    static hf_lock *locks[HELD];
    AUTO_LOCK *theirs = acquire(other, "n000");
    char name[32];

    for (int i = 0; i < HELD; i++) {
        snprintf(name, sizeof name, "n%03d", i);
        locks[i] = acquire(alice, name);
        snprintf(name, sizeof name, "free%03d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
    hf__redis_command(server(), "EVAL %s 0",
                      "for i = 1, 5000 do redis.call('SET', 'filler' .. i, "
                      "i) end");
    EXPECT_IS(count_listed(alice, NULL), HELD);
    EXPECT_IS(count_listed(alice, "n1"), 100);
    EXPECT_IS(count_listed(alice, "free"), 0);
    EXPECT_IS(count_listed(other, NULL), 1);
    for (int i = 0; i < HELD; i++) {
        hf_free(locks[i]);
    }
    EXPECT_IS(hf_release(theirs, NULL), HF_OK);
}

TEST(a_name_of_patterns_and_braces_is_itself)
{
    static const char *const names[] = {"a*",  "a?",     "a[b]", "a\\b", "{a}",
                                        "a}b", "a}:w",   "}",    "{",    "^a-z",
                                        "a b", "a\r\nb", "-1"};
    enum { N = sizeof names / sizeof *names };
    AUTO_CLIENT *alice = open_store();
    hf_lock *locks[N];

    for (int i = 0; i < N; i++) {
        locks[i] = acquire(alice, names[i]);
        EXPECT_IS(try_once(alice, names[i]), HF_BUSY);
    }
    EXPECT_IS(count_listed(alice, NULL), N);
    for (int i = 0; i < N; i++) {
        AUTO_INFO *info = look_at(alice, names[i]);

        EXPECT_TEXT(hf_info_name(info), names[i]);
        EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
        hf_free(locks[i]);
    }
    EXPECT_IS(count_listed(alice, "a*"), 0);
    AUTO_LOCK *one = acquire(alice, "a*");
    AUTO_LOCK *two = acquire(alice, "ab");
    EXPECT_IS(count_listed(alice, "a*"), 1);
    EXPECT(one && two);
}

/* ---- gc */

static uint64_t clean(hf_client *client, int64_t idle_ms)
{
    hf_gc_info gone = HF_GC_INFO_INIT;

    EXPECT_IS(hf_gc(client, idle_ms, &gone, NULL), HF_OK);
    return gone.removed;
}

TEST_WITHIN(60, cleaning_goes_through_however_many_keys_there_are)
{
    enum { IDLE = 1500 };
    HELD(held, alice);
    char name[32];

    hf__redis_command(server(), "EVAL %s 0",
                      "for i = 1, 20000 do redis.call('SET', 'filler' .. i, "
                      "i) end");
    for (int i = 0; i < IDLE; i++) {
        snprintf(name, sizeof name, "idle%d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
    EXPECT_IS(clean(alice, 3600000), 0);
    EXPECT_IS(clean(alice, 0), IDLE);
    EXPECT_IS(count_keys(), 20001);
    expect_held(held);
}

/* The record and all that goes with it. */
TEST(cleaning_leaves_no_helper_behind)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, 30000);
    hf_lock *lock = NULL;
    hf_lock *none = NULL;

    opts.shared = 1;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &lock, NULL), HF_OK);
    opts = wanting(50, 30000);
    opts.fair = 1;
    EXPECT_IS(hf_acquire(bob, "job", &opts, &none, NULL), HF_TIMEDOUT);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    hf_free(lock);
    hf__test_pause_ms(20);
    EXPECT_IS(clean(alice, 0), 1);
    EXPECT_IS(count_keys(), 0);
}

/* Records go by themselves, long after their name was used. */
TEST(what_is_stored_goes_by_itself)
{
    AUTO_CLIENT *alice = open_store();
    long ms;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    ms =
        strtol(hf__redis_command(server(), "PTTL %s", record("job")), NULL, 10);
    EXPECT_MORE(ms, 24L * 3600 * 1000 - 60000);
    EXPECT_LESS(ms, 25L * 3600 * 1000);
    hf__redis_command(server(), "PEXPIRE %s 1", record("job"));
    hf__test_pause_ms(20);
    EXPECT_TEXT(hf__redis_command(server(), "EXISTS %s", record("job")), "0");
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}
