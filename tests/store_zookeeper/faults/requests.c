/* SPDX-License-Identifier: MIT */
/*
 * The connection is lost before each request of each call of the library, and
 * before each answer; or one comes when nobody waits for it any
 * more; or the session is over when the connection is back. What alice is told
 * she can act on, what she holds nobody else gets, and when she is done the
 * store has nothing of hers and the lock can be had. A request that was passed
 * on and whose answer is lost was applied.
 */
#include "tests/store_zookeeper/faults/world.h"

#include <string.h>

enum { MESSAGES_MAX = 60, LOSSES = 2 };

struct scene {
    const struct hf__zookeeper *server;
    hf_client *bob; /* not disturbed */
    hf_client *alice;
    struct hf__proxy *proxy; /* alice's */
};

/* What alice does. It may fail anywhere; what she got she has given back. */
struct deed {
    const char *name;
    void (*does)(struct scene *);
    bool needs_line;
    bool is_short; /* it waits for nobody, or not for long */
};

static bool is_outage(int r)
{
    return r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

/* Bob gets it if and only if alice does not believe to hold it. */
static void use(struct scene *s, hf_lock *job)
{
    bool was_held = hf_held(job);
    int r = try_once(s->bob, "job");

    EXPECT_SAFE(!(r == HF_OK && was_held && hf_held(job)));
    EXPECT(r == HF_OK || r == HF_BUSY);
}

static void take_as(struct scene *s, const hf_acquire_opts *opts)
{
    AUTO_LOCK *job = NULL;
    int r = hf_acquire(s->alice, "job", opts, &job, NULL);

    if (r != HF_OK) {
        EXPECT(is_outage(r));
        return;
    }
    use(s, job);
    r = hf_release(job, NULL);
    EXPECT(r == HF_OK || r == HF_LOST || is_outage(r));
}

static void take(struct scene *s)
{
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    take_as(s, &opts);
}

static void renew(struct scene *s)
{
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *job = NULL;
    int r = hf_acquire(s->alice, "job", &opts, &job, NULL);

    if (r == HF_OK) {
        r = hf_renew(job, NULL);
        EXPECT(r == HF_OK || r == HF_LOST || is_outage(r));
        use(s, job);
    }
}

static void take_shared(struct scene *s)
{
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    opts.shared = 1;
    take_as(s, &opts);
}

static void take_a_slot(struct scene *s)
{
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    opts.slots = 2;
    take_as(s, &opts);
}

/* What bob has. */
static void try(struct scene *s)
{
    AUTO_LOCK *taken = acquire(s->bob, "job");
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *none = NULL;
    int r = hf_acquire(s->alice, "job", &opts, &none, NULL);

    EXPECT_SAFE(r != HF_OK);
    EXPECT(r == HF_BUSY || is_outage(r));
    expect_held(taken);
}

static void give_in_a_moment(void *lock)
{
    hf__test_pause_ms(60);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

static void wait(struct scene *s)
{
    AUTO_LOCK *taken = acquire(s->bob, "job");
    struct hf__test_thread *t = hf__test_start(give_in_a_moment, taken);
    hf_acquire_opts opts = wanting(patience(20000), HF_LEASE_DEFAULT_MS);

    take_as(s, &opts);
    hf__test_join(t);
}

static void wait_in_vain(struct scene *s)
{
    AUTO_LOCK *taken = acquire(s->bob, "job");
    hf_acquire_opts opts = wanting(50, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *none = NULL;
    int r = hf_acquire(s->alice, "job", &opts, &none, NULL);

    EXPECT_SAFE(r != HF_OK);
    EXPECT(r == HF_TIMEDOUT || is_outage(r));
    expect_held(taken);
}

static void take_many(struct scene *s)
{
    static const char *const names[] = {"job", "b", "c"};
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *jobs = NULL;
    int r = hf_acquire_many(s->alice, names, 3, &opts, &jobs, NULL);

    EXPECT(r == HF_OK || is_outage(r));
    if (r == HF_OK) {
        use(s, jobs);
    }
}

static const struct deed deeds[] = {
    {.name = "take and give back", .does = take, .is_short = true},
    {.name = "renew", .does = renew},
    {.name = "try what is held", .does = try, .is_short = true},
    {.name = "wait", .does = wait},
    {.name = "wait in vain", .does = wait_in_vain, .is_short = true},
    {.name = "take three", .does = take_many},
    {.name = "take a share", .does = take_shared, .needs_line = true},
    {.name = "take a slot", .does = take_a_slot, .needs_line = true},
};
enum { DEEDS = sizeof deeds / sizeof deeds[0] };

/* ---- with a fault at one message */

/* Alice's client is there still, and has given everything back. */
static void expect_nothing_left(struct scene *s)
{
    await_claims(s->server, "job", 0);
    await_claims(s->server, "b", 0);
    await_claims(s->server, "c", 0);
    EXPECT_IS(try_once(s->bob, "job"), HF_OK);
    EXPECT_IS(attempt(s->alice, "job", patience(10000)), HF_OK);
}

/* False: there were not so many messages. */
static bool fail_at(struct scene *s, const struct deed *deed,
                    const struct hf__proxy_rule *rule)
{
    int before = hf__proxy_counts(s->proxy).hits;
    bool was_hit;

    hf__proxy_rule(s->proxy, rule);
    deed->does(s);
    was_hit = hf__proxy_counts(s->proxy).hits > before;
    hf__proxy_heal(s->proxy);
    expect_nothing_left(s);
    return was_hit;
}

static void fail_everywhere(struct scene *s, const struct deed *deed,
                            const struct hf__proxy_rule *rules, int n_rules)
{
    int64_t start = hf__test_now_ms();
    int n = 0;

    for (int i = 0; i < n_rules; i++) {
        struct hf__proxy_rule rule = rules[i];

        for (rule.n = 1; fail_at(s, deed, &rule); rule.n++) {
            EXPECT_LESS(rule.n, MESSAGES_MAX);
        }
        n += rule.n - 1;
    }
    printf("%s: %d messages, %lld ms\n", deed->name, n,
           (long long)since(start));
    EXPECT_MORE(n, 3);
}

/* To a client a connection that is lost behind a request is one lost before its
 * answer, and behind an answer, one lost before the next request. */
static const struct hf__proxy_rule losses[LOSSES] = {
    {.what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__RESET},
    {.what = HF__REPLY, .where = HF__BEFORE, .action = HF__CLOSE},
};

/* Bob's client outlives all, and alice's comes back soon: one that has lost its
 * connection tries again after a sixtieth of its session. */
static struct scene open_scene(const struct hf__zookeeper *server,
                               struct hf__proxy *proxy, const char *recipe,
                               const char *io_timeout)
{
    struct scene s = {.server = server, .proxy = proxy};
    char options[120];

    snprintf(options, sizeof options, "session_timeout=30s&recipe=%s", recipe);
    say_options(options);
    s.bob = open_store();
    snprintf(options, sizeof options,
             "session_timeout=6s&recipe=%s&io_timeout=%s", recipe, io_timeout);
    s.alice = open_by(proxy, options);
    return s;
}

static void close_scene(struct scene *s)
{
    hf_close(s->alice);
    hf_close(s->bob);
}

static void lose_at_each(const char *recipe, bool needs_line)
{
    AUTO_SERVER *server = start_server("");
    AUTO_PROXY *proxy = start_proxy(server);
    struct scene s = open_scene(server, proxy, recipe, "5s");

    for (int i = 0; i < DEEDS; i++) {
        if (deeds[i].needs_line == needs_line) {
            fail_everywhere(&s, &deeds[i], losses, LOSSES);
        }
    }
    close_scene(&s);
}

CASE_WITHIN(120, a_connection_lost_at_any_request_leaves_nothing,
            lose_at_each("fair", false));
CASE_WITHIN(120, a_connection_lost_at_any_request_of_a_share_leaves_nothing,
            lose_at_each("fair", true));
CASE_WITHIN(120, a_connection_lost_at_any_request_to_one_node_leaves_nothing,
            lose_at_each("simple", false));

/* ---- what comes, or is answered, when nobody waits for it any more */

static void be_late_at_each(const char *recipe)
{
    static const struct hf__proxy_rule delays[] = {
        {.what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__SILENCE},
        {.what = HF__REPLY, .where = HF__BEFORE, .action = HF__SILENCE},
    };
    AUTO_SERVER *server = start_server("");
    AUTO_PROXY *proxy = start_proxy(server);
    struct scene s = open_scene(server, proxy, recipe, "200ms");

    for (int i = 0; i < DEEDS; i++) {
        if (deeds[i].is_short) {
            fail_everywhere(&s, &deeds[i], delays, 2);
        }
    }
    close_scene(&s);
}

CASE_WITHIN(120, a_request_that_comes_too_late_leaves_nothing,
            be_late_at_each("fair"));
CASE_WITHIN(120, a_request_to_one_node_that_comes_too_late_leaves_nothing,
            be_late_at_each("simple"));

/* ---- the session is over when its connection comes back */

/* False: there were not so many requests. */
static bool end_at(struct scene *s, const struct deed *deed, int n)
{
    AUTO_LOCK *mark = acquire(s->alice, "mark");
    int64_t session = session_of(s->server, "mark", 0);
    struct hf__proxy_rule rule = {
        .what = HF__REPLY, .where = HF__BEFORE, .action = HF__RESET, .n = n};
    int before = hf__proxy_counts(s->proxy).hits;
    bool was_hit;
    int r;

    hf__proxy_refuse(s->proxy);
    hf__proxy_rule(s->proxy, &rule);
    deed->does(s);
    was_hit = hf__proxy_counts(s->proxy).hits > before;
    if (was_hit) {
        EXPECT(hf__zookeeper_expire(s->server, session));
    }
    hf__proxy_heal(s->proxy);
    r = hf_release(mark, NULL);
    EXPECT(r == (was_hit ? HF_LOST : HF_OK) || is_outage(r));
    expect_nothing_left(s);
    await_claims(s->server, "mark", 0);
    return was_hit;
}

static void end_at_each(const char *recipe)
{
    AUTO_SERVER *server = start_server("");
    AUTO_PROXY *proxy = start_proxy(server);
    struct scene s = open_scene(server, proxy, recipe, "200ms");

    for (int i = 0; i < DEEDS; i++) {
        int n = 1;

        if (deeds[i].is_short) {
            while (end_at(&s, &deeds[i], n)) {
                EXPECT_LESS(n++, MESSAGES_MAX);
            }
            printf("%s: %d sessions\n", deeds[i].name, n - 1);
            EXPECT_MORE(n, 2);
        }
    }
    close_scene(&s);
}

CASE_WITHIN(120, a_session_that_ends_at_any_answer_leaves_nothing,
            end_at_each("fair"));
CASE_WITHIN(120, a_session_that_ends_at_any_answer_of_one_node_leaves_nothing,
            end_at_each("simple"));
