/* SPDX-License-Identifier: MIT */
/*
 * Who executes what is queued on a session, where the system gives no thread
 * for its runner and where the caller it would choose is at work elsewhere.
 * Both need the insides: threads are refused by their name.
 */
#include "src/core/client.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool refuses_runners;

int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg)
{
    /* Those of the library say their stack, and are told by their name. */
    bool is_runner = attr != NULL && strcmp(((struct hf__thread *)arg)->name,
                                            "holdfast-run") == 0;

    return is_runner && atomic_load(&refuses_runners)
               ? EAGAIN
               : __real_pthread_create(thread, attr, fn, arg);
}

static hf_client *open_store(const char *url)
{
    hf_client *client = NULL;

    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    return client;
}

static int acquire(hf_client *client, const char *name, int64_t wait_ms,
                   hf_lock **ret_lock, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = wait_ms;
    return hf_acquire(client, name, &opts, ret_lock, err);
}

/* ---- without threads ---------------------------------------------------- */

TEST(a_debt_is_settled_although_no_thread_is_to_be_had)
{
    hf_client *client = open_store("fault+memory:debt?io_timeout=1s&"
                                   "fault=late_reply:acquire:2:1h");
    hf_lock *warm = NULL;
    hf_lock *lock = NULL;

    EXPECT_IS(acquire(client, "warm", 0, &warm, NULL), HF_OK);
    atomic_store(&refuses_runners, true);
    EXPECT_IS(acquire(client, "job", 0, &lock, NULL), HF_EUNKNOWN);
    atomic_store(&refuses_runners, false);
    EXPECT_IS(acquire(client, "job", 5000, &lock, NULL), HF_OK);
    hf_free(lock);
    hf_free(warm);
    hf_close(client);
}

TEST(a_claim_without_a_thread_for_its_debts_is_refused)
{
    hf_client *client = open_store("memory:refused");
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    EXPECT_IS(hf__client_prepare(client, NULL), HF_OK);
    atomic_store(&refuses_runners, true);
    EXPECT_IS(acquire(client, "job", 0, &lock, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "the system gives no thread");
    atomic_store(&refuses_runners, false);
    EXPECT_IS(acquire(client, "job", 0, &lock, NULL), HF_OK);
    hf_free(lock);
    hf_close(client);
}

/* A request that stays at the store until it is let go. */
struct stay {
    struct hf__request request;
    struct hf__parker parker;
    struct hf__session *session;
    hf__time limit;
    enum hf__ending ending;
    atomic_bool is_there;
    atomic_bool may_go;
};

static int stay_there(struct hf__conn *conn, struct hf__request *q,
                      hf__time deadline)
{
    struct stay *t = (struct stay *)q; /* its first member */

    (void)conn;
    (void)deadline;
    atomic_store(&t->is_there, true);
    UNTIL(atomic_load(&t->may_go));
    q->op.result = HF_OK;
    return HF_OK;
}

static bool has_left(void *arg, hf__time *ret_until)
{
    struct stay *t = arg;

    *ret_until = t->limit;
    return hf__session_poll(t->session, &t->request, t->limit, &t->ending);
}

static void run_stay(void *arg)
{
    struct stay *t = arg;

    t->request.call = stay_there;
    hf__session_begin(t->session, &t->request, &t->parker, t->limit);
    hf__run_steps(&t->parker, has_left, t);
}

static bool is_queued(struct hf__session *s)
{
    HF_SCOPED_LOCK(&s->mutex);
    return !hf__list_is_empty(&s->queue);
}

static void await_queued(struct hf__session *s)
{
    UNTIL(is_queued(s));
}

static void await_there(struct stay *t)
{
    UNTIL(atomic_load(&t->is_there));
}

/* Its io_timeout is longer than the patience of who follows, and that longer
 * than the test's. */
TEST(without_a_thread_who_is_late_to_lead_leads_nevertheless)
{
    hf_client *client = open_store("memory:late?io_timeout=60s");
    struct hf__session *s = &client->main[0];
    struct stay first = {.session = s, .limit = HF__NEVER};
    struct stay late = {.session = s, .limit = hf__after_ms(hf__now(), 50000)};
    struct hf__test_thread *threads[2];

    atomic_store(&refuses_runners, true);
    atomic_store(&late.may_go, true);
    threads[0] = hf__test_start(run_stay, &first);
    await_there(&first);
    threads[1] = hf__test_start(run_stay, &late);
    await_queued(s);
    atomic_store(&first.may_go, true);
    hf__test_join_all(threads, 2);
    EXPECT_IS(late.ending, HF__ENDING_RAN);
    hf_close(client);
}

/* ---- at work elsewhere -------------------------------------------------- */

/* Two requests of one caller, on a session each, and who else is there. */
struct crossing {
    hf_client *client;
    struct hf__parker parker;
    struct stay here;   /* the caller leads the first session for it */
    struct stay there;  /* queued on the second, behind `before` */
    struct stay before; /* leads the second */
    struct stay behind; /* queued on the second as well, of another caller */
    bool has_run[2];    /* here, there */
};

static bool have_both_run(void *arg, hf__time *ret_until)
{
    struct crossing *x = arg;
    struct stay *both[] = {&x->here, &x->there};

    (void)ret_until;
    for (int i = 0; i < 2; i++) {
        x->has_run[i] =
            x->has_run[i] ||
            hf__session_advance(&x->client->main[i], &both[i]->request);
    }
    return x->has_run[0] && x->has_run[1];
}

static void run_both(void *arg)
{
    struct crossing *x = arg;

    hf__session_begin(&x->client->main[0], &x->here.request, &x->parker,
                      HF__NEVER);
    hf__session_begin(&x->client->main[1], &x->there.request, &x->parker,
                      HF__NEVER);
    hf__run_steps(&x->parker, have_both_run, x);
}

static int queue_length(struct hf__session *s)
{
    int n = 0;
    HF_SCOPED_LOCK(&s->mutex);

    HF__LIST_EACH (link, &s->queue) {
        n++;
    }
    return n;
}

/* While the caller leads the first session, the second is passed on: to the
 * other caller, who waits until `limit`. All but the first is done before the
 * first session's batch is. */
static void pass_by(const char *url, hf__time limit)
{
    struct crossing x = {.client = open_store(url)};
    struct hf__session *second = &x.client->main[1];
    struct hf__test_thread *threads[3];

    x.here.request.call = stay_there;
    x.there.request.call = stay_there;
    x.before = (struct stay){.session = second, .limit = HF__NEVER};
    x.behind = (struct stay){.session = second, .limit = limit};
    atomic_store(&x.there.may_go, true);
    atomic_store(&x.behind.may_go, true);
    threads[0] = hf__test_start(run_stay, &x.before);
    await_there(&x.before);
    threads[1] = hf__test_start(run_both, &x);
    await_there(&x.here);
    threads[2] = hf__test_start(run_stay, &x.behind);
    UNTIL(queue_length(second) >= 2);
    atomic_store(&x.before.may_go, true);
    hf__test_join(threads[2]);
    EXPECT_IS(x.behind.ending, HF__ENDING_RAN);
    EXPECT(atomic_load(&x.there.is_there));
    atomic_store(&x.here.may_go, true);
    hf__test_join(threads[0]);
    hf__test_join(threads[1]);
    EXPECT(x.has_run[1]);
    hf_close(x.client);
}

CASE(who_leads_elsewhere_is_passed_by_for_another_caller,
     pass_by("memory:pass?connections=2", HF__NEVER));
CASE(who_leads_elsewhere_is_passed_by_for_the_runner,
     pass_by("memory:pass?connections=2&io_timeout=60s",
             hf__after_ms(hf__now(), 50000)));

TEST(without_a_thread_who_leads_elsewhere_leads_afterwards)
{
    struct crossing x = {.client = open_store("memory:pass?connections=2")};
    struct hf__session *second = &x.client->main[1];
    struct hf__test_thread *threads[2];

    atomic_store(&refuses_runners, true);
    x.here.request.call = stay_there;
    x.there.request.call = stay_there;
    x.before = (struct stay){.session = second, .limit = HF__NEVER};
    atomic_store(&x.there.may_go, true);
    threads[0] = hf__test_start(run_stay, &x.before);
    await_there(&x.before);
    threads[1] = hf__test_start(run_both, &x);
    await_there(&x.here);
    atomic_store(&x.before.may_go, true);
    hf__test_join(threads[0]);
    atomic_store(&x.here.may_go, true);
    hf__test_join(threads[1]);
    EXPECT(x.has_run[1]);
    hf_close(x.client);
}

TEST(who_was_chosen_and_leaves_passes_it_on)
{
    hf_client *client = open_store("memory:leaves");
    struct hf__session *s = &client->main[0];
    struct stay chosen = {.may_go = true};
    struct stay next = {.session = s, .limit = HF__NEVER, .may_go = true};
    struct hf__test_thread *thread = NULL;

    chosen.request.call = stay_there;
    hf__session_begin(s, &chosen.request, &chosen.parker, HF__NEVER);
    thread = hf__test_start(run_stay, &next);
    UNTIL(queue_length(s) >= 2);
    EXPECT_IS(hf__session_leave(s, &chosen.request), HF__ENDING_WITHDRAWN);
    hf__test_join(thread);
    EXPECT_IS(next.ending, HF__ENDING_RAN);
    EXPECT(!atomic_load(&chosen.is_there));
    EXPECT(hf__parker_engage(&chosen.parker));
    hf_close(client);
}

TEST(closing_ends_what_somebody_was_chosen_for)
{
    hf_client *client = open_store("memory:closes");
    struct stay chosen = {.may_go = true};

    chosen.request.call = stay_there;
    hf__session_begin(&client->main[0], &chosen.request, &chosen.parker,
                      HF__NEVER);
    hf_close(client);
    EXPECT_IS(chosen.request.progress, HF__PROGRESS_DONE);
    EXPECT_IS(chosen.request.op.result, HF_EUNAVAIL);
    EXPECT(!atomic_load(&chosen.is_there));
    EXPECT(hf__parker_engage(&chosen.parker));
}

TEST(who_never_leads_and_has_yet_to_step_keeps_nobody_waiting)
{
    hf_client *client = open_store("memory:begun");
    struct hf__session *s = &client->main[0];
    struct stay begun = {.may_go = true};
    struct stay next = {.session = s, .limit = HF__NEVER, .may_go = true};

    atomic_store(&refuses_runners, true);
    begun.request.call = stay_there;
    hf__session_begin(s, &begun.request, &begun.parker, (hf__time){0});
    run_stay(&next);
    EXPECT_IS(next.ending, HF__ENDING_RAN);
    EXPECT(hf__session_advance(s, &begun.request));
    hf_close(client);
}

/* Who takes long to begin many must not find that the first ran alone. */
TEST(who_has_no_time_to_lead_begins_all_before_the_runner_comes)
{
    hf_client *client = open_store("memory:late");
    struct hf__session *s = &client->main[0];
    struct stay late[2] = {{.may_go = true}, {.may_go = true}};

    EXPECT_IS(hf__session_start_runner(s), HF_OK);
    for (int i = 0; i < 2; i++) {
        late[i].request.call = stay_there;
        hf__session_begin(s, &late[i].request, &late[0].parker, hf__now());
        EXPECT_IS(s->lead, HF__LEAD_BEGUN);
    }
    for (int i = 0; i < 2; i++) {
        unsigned seen = hf__parker_seen(&late[0].parker);

        while (!hf__session_advance(s, &late[i].request)) {
            hf__park(&late[0].parker, seen, HF__NEVER);
            seen = hf__parker_seen(&late[0].parker);
        }
    }
    hf_close(client);
}

static void note_done(struct hf__request *q)
{
    atomic_store(&((struct stay *)q)->is_there, true);
}

TEST(what_is_submitted_waits_for_nobody_who_has_yet_to_step)
{
    hf_client *client = open_store("memory:begun");
    struct hf__session *s = &client->main[0];
    struct stay begun = {.may_go = true};
    struct stay sent = {.may_go = true};

    EXPECT_IS(hf__session_start_runner(s), HF_OK);
    begun.request.call = stay_there;
    hf__session_begin(s, &begun.request, &begun.parker, (hf__time){0});
    sent.request.call = stay_there;
    sent.request.done = note_done;
    hf__session_submit(s, &sent.request);
    await_there(&sent);
    EXPECT(hf__session_advance(s, &begun.request));
    hf_close(client);
}

/* Who can't be renewed in time is told so when the lease is over. */
static void renew_behind_others(int n)
{
    static const char *const names[] = {"a", "b"};
    hf_client *client = open_store("memory:others?io_timeout=10m");
    struct stay other = {.session = &client->renew, .limit = HF__NEVER};
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf__test_thread *thread = NULL;
    hf_lock *lock = NULL;

    opts.lease_ms = 300;
    opts.auto_renew = 0;
    EXPECT_IS(n > 1 ? hf_acquire_many(client, names, n, &opts, &lock, NULL)
                    : hf_acquire(client, names[0], &opts, &lock, NULL),
              HF_OK);
    thread = hf__test_start(run_stay, &other);
    await_there(&other);
    EXPECT_IS(hf_renew(lock, NULL), HF_LOST);
    atomic_store(&other.may_go, true);
    hf__test_join(thread);
    hf_free(lock);
    hf_close(client);
}

CASE(a_renewal_waits_for_others_no_longer_than_its_lease,
     renew_behind_others(1));
CASE(nor_does_one_of_several_names, renew_behind_others(2));
