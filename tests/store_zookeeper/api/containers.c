/* SPDX-License-Identifier: MIT */
/*
 * The folder of a name is a container, which the server takes away when it is
 * empty: also while somebody comes. A server that knows no containers says so
 * and hangs up; then whoever leaves a name last deletes its folder.
 */
#include "tests/store_zookeeper/api/guest.h"

#include <stdatomic.h>

/* ---- a server that is too old */

static struct hf__proxy *disguise(const char *request)
{
    struct hf__proxy *proxy = hf__proxy_start(
        hf__zookeeper_port(hf__zookeeper_shared()), &hf__framing_zookeeper);
    struct hf__proxy_rule rule = {.what = HF__STATEMENT,
                                  .where = HF__BEFORE,
                                  .action = HF__DISGUISE,
                                  .always = true};

    snprintf(rule.text, sizeof rule.text, "%s ", request);
    hf__proxy_rule(proxy, &rule);
    return proxy;
}

static bool has_folder(void)
{
    return hf__zookeeper_count(hf__zookeeper_shared(), path_of("job")) >= 0;
}

static void do_without_containers(const char *recipe)
{
    AUTO_PROXY *proxy = disguise("createContainer");
    AUTO_CLIENT *client = open_through(proxy, recipe);
    AUTO_CLIENT *other = open_through(proxy, recipe);
    int asked = 0;

    for (int i = 0; i < 3; i++) {
        AUTO_LOCK *lock = acquire(client, "job");
        struct hf__zookeeper_node node;
        int hits = hf__proxy_counts(proxy).hits;

        /* The server's word may be lost with the connection, and is asked for
         * once more then; who has heard it does not ask again. */
        asked = i == 0 ? hits : asked;
        EXPECT_MORE(hits, 0);
        EXPECT_IS(hits, asked);
        EXPECT(
            hf__zookeeper_look(hf__zookeeper_shared(), path_of("job"), &node));
        EXPECT_IS(node.owner, 0); /* persistent */
        EXPECT_IS(try_once(other, "job"), HF_BUSY);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
        EXPECT(!has_folder());
    }
    /* With somebody in it, it stays, until that one goes. */
    AUTO_LOCK *lock = acquire(other, "job");
    EXPECT_IS(try_once(client, "job"), HF_BUSY);
    EXPECT(has_folder());
    expect_held(lock);
}

CASE_WITHIN(60, a_server_without_containers_has_no_empty_folders,
            do_without_containers("fair"));
CASE_WITHIN(60, a_server_without_containers_has_none_by_the_simple_recipe,
            do_without_containers("simple"));

TEST_WITHIN(60, a_server_that_is_too_old_for_all_is_told_so)
{
    AUTO_PROXY *proxy = disguise("create2");
    AUTO_CLIENT *client = open_through(proxy, "fair");
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, &err), HF_ENOTSUP);
    EXPECT_HAS(err.text, "too old");
    EXPECT_HAS(err.text, "3.5");
}

/* ---- one that takes them away at any moment */

enum {
    NAMES = 3,
    COMERS = 4,
    RUN_MS = 4000, /* at least, and until it was seen so often */
    REAPED = 5,
    GRANTED = 100
};

struct reaping {
    int port;
    const char *recipe;
    atomic_int inside[NAMES];
    atomic_int granted;
    atomic_bool is_over;
};

static void come_and_go(void *arg)
{
    static const char *const names[NAMES] = {"a", "b", "c"};
    struct reaping *run = arg;
    char rest[64];

    snprintf(rest, sizeof rest, "/locks?recipe=%s&session_timeout=20s",
             run->recipe);
    AUTO_CLIENT *client = open_at(run->port, "", rest);
    for (int i = 0; !atomic_load(&run->is_over); i++) {
        int k = i % NAMES;
        AUTO_LOCK *lock = acquire(client, names[k]);

        EXPECT_SAFE_IS(atomic_fetch_add(&run->inside[k], 1), 0);
        atomic_fetch_add(&run->granted, 1);
        atomic_fetch_sub(&run->inside[k], 1);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
        hf__test_pause_ms(i % 7);
    }
}

static void race_the_reaper(const char *recipe)
{
    static const char *const often[] = {"-Dznode.container.checkIntervalMs=5",
                                        "-Dznode.container.maxPerMinute=60000",
                                        NULL};
    struct hf__zookeeper_opts opts = {.java = often};
    AUTO_SERVER *server = hf__zookeeper_start(&opts);
    struct reaping run = {.port = hf__zookeeper_port(server), .recipe = recipe};
    struct hf__test_thread *threads[COMERS];
    struct hf__zookeeper_node node = {.czxid = 0};
    int64_t last = 0;
    int reaped = 0;

    hf__test_start_all(threads, COMERS, come_and_go, &run);
    for (int64_t start = hf__test_now_ms();
         since(start) < RUN_MS ||
         ((reaped <= REAPED || run.granted <= GRANTED) &&
          since(start) < patience(30000));) {
        if (hf__zookeeper_look(server, "/locks/holdfast/a", &node)) {
            reaped += node.czxid != last;
            last = node.czxid;
        }
    }
    atomic_store(&run.is_over, true);
    hf__test_join_all(threads, COMERS);
    printf("# %d grants, %d folders seen of one name\n", run.granted, reaped);
    EXPECT_MORE(reaped, REAPED);
    EXPECT_MORE(run.granted, GRANTED);
}

CASE_WITHIN(60, folders_that_go_while_somebody_comes, race_the_reaper("fair"));
CASE_WITHIN(60, folders_that_go_while_somebody_comes_simply,
            race_the_reaper("simple"));
