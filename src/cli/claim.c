/* SPDX-License-Identifier: MIT */
/*
 * How the lock is acquired: which options contradict each other, how options of
 * the command become options of the library, how several names become one lock.
 * First there is one attempt, whose failures are final (the store is down, the
 * name is invalid); if the lock is held, a wait follows that survives an outage
 * of the store. The library blocks and the main thread must not, because it
 * forwards signals; nothing else in the command makes threads. Thread: main
 * checks, starts and looks; the claim's own thread does the rest.
 */
#include "src/cli/claim.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/output.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct cli_worker {
    pthread_t thread;
    void (*fn)(void *);
    void *arg;
};

static void *run_worker(void *arg)
{
    struct cli_worker *worker = arg;

    worker->fn(worker->arg);
    return NULL;
}

struct cli_worker *cli_worker_start(void (*fn)(void *), void *arg)
{
    struct cli_worker *worker = cli_alloc(sizeof *worker);
    sigset_t all;
    sigset_t before;
    int code;

    worker->fn = fn;
    worker->arg = arg;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&worker->thread, NULL, run_worker, worker);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        cli_free(worker);
        return NULL;
    }
    return worker;
}

void cli_worker_leave(struct cli_worker *worker)
{
    (void)pthread_detach(worker->thread);
}

void cli_worker_join(struct cli_worker *worker)
{
    if (worker) {
        (void)pthread_join(worker->thread, NULL);
        cli_free(worker);
    }
}

_Static_assert(CLI_LIST_MAX + 1 == HF_MANY_MAX, "NAME and the list are a lock");

int cli_names_count(const struct cli_options *o)
{
    return o->locks.count + 1;
}

const char *cli_names_at(const struct cli_options *o, int i)
{
    return i ? o->locks.words[i - 1] : o->name;
}

static int check_one(const char *verb, const char *name)
{
    size_t length = strlen(name);

    if (!length || length > HF_NAME_MAX) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: the name has %zu bytes, not 1 to %d", verb, length,
                        HF_NAME_MAX);
    }
    for (const char *c = name; *c;) {
        uint32_t point;
        size_t step = cli_utf8(c, &point);

        if (!step) {
            return cli_fail(CLI_EXIT_USAGE, "%s: the name '%s' is not UTF-8",
                            verb, name);
        }
        c += step;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sort all names; returns their number. */
static int sort(const struct cli_options *o, const char **ret_names)
{
    int n = cli_names_count(o);

    for (int i = 0; i < n; i++) {
        ret_names[i] = cli_names_at(o, i);
    }
    /* cppcheck-suppress uninitvar; it was filled just now */
    qsort(ret_names, (size_t)n, sizeof *ret_names, compare);
    return n;
}

int cli_names_check(const struct cli_options *o)
{
    const char *verb = cli_verb_table[o->verb].word;
    const char *names[HF_MANY_MAX];
    int n;

    for (int i = 0; i < cli_names_count(o); i++) {
        int r = check_one(verb, cli_names_at(o, i));

        if (r) {
            return r;
        }
    }
    n = sort(o, names);
    for (int i = 1; i < n; i++) {
        if (!compare(&names[i - 1], &names[i])) {
            return cli_fail(CLI_EXIT_USAGE, "%s: '%s' is named twice", verb,
                            names[i]);
        }
    }
    return 0;
}

/* Acquire all names; returns like hf_acquire(). */
static int names_acquire(const struct cli_options *o, hf_client *client,
                         const hf_acquire_opts *opts, hf_lock **ret_lock,
                         hf_error *err)
{
    const char *names[HF_MANY_MAX];
    int n = cli_names_count(o);

    if (n == 1) {
        return hf_acquire(client, o->name, opts, ret_lock, err);
    }
    for (int i = 0; i < n; i++) {
        names[i] = cli_names_at(o, i);
    }
    return hf_acquire_many(client, names, n, opts, ret_lock, err);
}

/* Allowance for wall clocks that differ. */
#define SLACK_US INT64_C(60000000)

static bool is_ours(const hf_info *info)
{
    const char *holder = hf_info_host(info);
    char host[65] = "";

    if (gethostname(host, sizeof host - 1)) {
        return false;
    }
    return hf_info_pid(info) == getpid() && holder && !strcmp(holder, host);
}

/* While we wait for one of several names, we hold the earlier ones ourselves.
 * For a single name our own grant is only ignored if it is recent: it came too
 * late and is being given back. Pids repeat in containers, so an older grant
 * with our pid is another process's. */
static bool is_in_way(const hf_info *info, int n, int64_t since_us)
{
    if (hf_info_presence(info) != HF_HELD_BY) {
        return n == 1 || cli_holder_kept_ms(info) > 0;
    }
    return !is_ours(info) ||
           (n == 1 && hf_info_acquired_us(info) < since_us - SLACK_US);
}

hf_info *cli_names_look(const struct cli_options *o, hf_client *client,
                        int64_t since_us)
{
    const char *names[HF_MANY_MAX];
    hf_info *info = NULL;
    int n = sort(o, names);

    for (int i = 0; i < n; i++) {
        if (hf_inspect(client, names[i], &info, NULL)) {
            return NULL;
        }
        if (is_in_way(info, n, since_us)) {
            return info;
        }
        hf_info_free(info);
        info = NULL;
    }
    return NULL;
}

const char *cli_names_in_way(const struct cli_options *o, const hf_info *info)
{
    return info ? hf_info_name(info) : o->name;
}

void cli_names_line(struct cli_text *text, const struct cli_options *o)
{
    cli_text_clean(text, o->name);
    if (o->locks.count) {
        cli_text_add(text, " and %d more", o->locks.count);
    }
}

void cli_names_json(struct cli_text *text, const hf_lock *lock)
{
    int n = hf_count(lock);

    if (n == 1) {
        return;
    }
    cli_text_add(text, ",\"locks\":[");
    for (int i = 0; i < n; i++) {
        cli_text_add(text, "%s{\"name\":", i ? "," : "");
        cli_text_json(text, hf_name_at(lock, i));
        cli_text_add(text, ",\"fence\":%" PRIu64 "}", hf_fence_at(lock, i));
    }
    cli_text_add(text, "]");
}

/* How long a start counts; 0: starts are not counted. */
static int64_t once_ms(const struct cli_options *o)
{
    return o->once_ms > 0 ? o->once_ms : o->once_key ? HF_FOREVER : 0;
}

int cli_lock_options_check(const struct cli_options *o)
{
    int r = cli_names_check(o);

    if (r) {
        return r;
    }
    if (o->is_reentrant && o->locks.count) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: --reentrant is for one name, without --lock");
    }
    if (o->is_try && o->wait_ms && cli_option_given(o, "wait")) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --try and --wait exclude each other",
                        cli_verb_table[o->verb].word);
    }
    if (o->is_shared && o->slots > 0) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --shared and --slots exclude each other: shared "
                        "has no limit, slots are one",
                        cli_verb_table[o->verb].word);
    }
    if (o->min_hold_ms && (o->is_shared || o->slots > 0)) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --min-hold is for a lock that one holds alone: "
                        "leave out --%s, or --min-hold",
                        cli_verb_table[o->verb].word,
                        o->is_shared ? "shared" : "slots");
    }
    if (o->is_retry_failed && !once_ms(o)) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: --retry-failed takes back the mark of a start, "
                        "so it needs --once-per DUR or --once-key KEY");
    }
    return 0;
}

/* A lock that reaches this process alone is useless: it ends with the process
 * and excludes no other. */
static bool is_vain(const struct cli_options *o, const hf_caps_info *caps)
{
    return caps->reach == HF_REACH_PROCESS &&
           (!o->reach || o->verb == CLI_ACQUIRE);
}

static int refuse_vain(const struct cli_options *o, hf_error *err)
{
    (void)snprintf(err->text, sizeof err->text,
                   "a lock in this store ends with this process and excludes "
                   "no other; use another store%s",
                   o->verb == CLI_ACQUIRE ? ""
                                          : ", or for a test --reach process");
    err->status = HF_EUNSAFE;
    return HF_EUNSAFE;
}

/* Check the options against the store: a lock there must exclude other
 * processes, and the lease must be one that the store can give. Returns HF_OK,
 * or a status with the reason in `err`. */
static int options_fit(const struct cli_options *o, const hf_caps_info *caps,
                       hf_error *err)
{
    char lease[CLI_DURATION_SIZE];
    const char *what = NULL;
    int status = HF_EINVAL;

    if (is_vain(o, caps)) {
        return refuse_vain(o, err);
    }
    if (!caps->lease_ms || o->verb == CLI_ACQUIRE) {
        return HF_OK; /* the library itself reports any refusal */
    }
    if (cli_option_given(o, "lease") && o->lease_ms != caps->lease_ms) {
        what = "leave out --lease, or set session_timeout= in the URL";
        status = HF_ENOTSUP;
    } else if (o->verb == CLI_RUN && caps->lease_ms < CLI_RUN_LEASE_MIN_MS) {
        what = "ending a command in time needs 1s, so set a longer "
               "session_timeout= in the URL";
    } else if (o->verb == CLI_RUN && cli_option_given(o, "grace") &&
               o->grace_ms > caps->lease_ms / 3) {
        what = "--grace can be a third of that at most";
    } else {
        return HF_OK;
    }
    (void)snprintf(err->text, sizeof err->text,
                   "this store's locks live with the session, which is a lease "
                   "of %s; %s",
                   cli_duration(caps->lease_ms, lease), what);
    err->status = status;
    return status;
}

int64_t cli_lock_options_wait_ms(const struct cli_options *o)
{
    return o->is_try ? 0 : o->wait_ms;
}

/* Fill in all options but wait_ms and cancel. */
static void fill_options(const struct cli_options *o, hf_acquire_opts *ret_opts)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.lease_ms = o->lease_ms;
    opts.owner = o->owner;
    opts.note = o->note;
    opts.min_hold_ms = o->min_hold_ms;
    opts.once_ms = once_ms(o);
    opts.once_key = o->once_key;
    opts.fair = o->is_fair != 0;
    opts.shared = o->is_shared != 0;
    opts.slots = o->slots > 0 ? (int)o->slots : 0;
    opts.detached = o->verb == CLI_ACQUIRE;
    opts.auto_renew = !opts.detached;
    *ret_opts = opts;
}

void cli_lock_options_settle(const struct cli_options *o, hf_lock *lock,
                             enum cli_lock_options_end end)
{
    hf_error err = HF_ERROR_INIT;
    bool must_undo = end == CLI_OPTIONS_UNUSED ||
                     (end == CLI_OPTIONS_FAILED && o->is_retry_failed);

    if (!once_ms(o) || !must_undo) {
        return;
    }
    if (hf_once_undo(lock, &err)) {
        cli_event(CLI_SAYS, "once-kept", NULL,
                  "this start of %s counts though it failed: the mark could "
                  "not be taken back: %s",
                  o->name, err.text);
    } else {
        cli_event(CLI_QUIET, "once-undone", NULL,
                  "this start of %s does not count", o->name);
    }
}

/* Pause between two attempts while the store does not answer. */
#define OUTAGE_PAUSE_MS 1000

static void enter(struct cli_claim *claim, enum cli_claim_phase phase)
{
    uint64_t one = 1;
    ssize_t n;

    atomic_store(&claim->phase, phase);
    n = write(claim->event_fd, &one, sizeof one);
    (void)n;
}

/* The time left to wait; HF_FOREVER stays. */
static int64_t left_ms(const struct cli_claim *claim)
{
    int64_t spent_ms = (cli_boot_ns() - claim->started_ns) / CLI_NS_PER_MS;

    if (claim->wait_ms < 0) {
        return HF_FOREVER;
    }
    return spent_ms < claim->wait_ms ? claim->wait_ms - spent_ms : 0;
}

static int attempt(struct cli_claim *claim, int64_t wait_ms)
{
    hf_acquire_opts opts;

    fill_options(claim->options, &opts);
    opts.wait_ms = wait_ms;
    opts.cancel = claim->cancel;
    claim->err = (hf_error)HF_ERROR_INIT;
    claim->attempts++;
    return names_acquire(claim->options, claim->client, &opts, &claim->lock,
                         &claim->err);
}

static int wait_for_it(struct cli_claim *claim)
{
    for (;;) {
        int64_t patience_ms = left_ms(claim);
        int r = attempt(claim, patience_ms);

        if (r != HF_EUNAVAIL && r != HF_EUNKNOWN) {
            return r == HF_BUSY ? HF_TIMEDOUT : r;
        }
        if (!left_ms(claim)) {
            return r;
        }
        cli_log_outage(claim->err.text);
        /* This pause cannot be cancelled, but a cancel makes the next attempt
         * return at once. */
        (void)poll(NULL, 0, OUTAGE_PAUSE_MS);
    }
}

static int acquire(struct cli_claim *claim)
{
    int r;

    claim->started_ns = cli_boot_ns();
    claim->started_us = cli_wall_us();
    enter(claim, CLI_CLAIM_TRYING);
    r = attempt(claim, 0);
    if (r == HF_BUSY && claim->wait_ms) {
        enter(claim, CLI_CLAIM_WAITING);
        r = wait_for_it(claim);
    }
    return r;
}

static int open_store(struct cli_claim *claim)
{
    int r = cli_store_open(claim->store, &claim->client, &claim->err);

    claim->caps = (hf_caps_info)HF_CAPS_INFO_INIT;
    r = r ? r : hf_caps(claim->client, &claim->caps);
    return r ? r : options_fit(claim->options, &claim->caps, &claim->err);
}

int64_t cli_claim_lease_ms(const struct cli_claim *claim)
{
    return claim->caps.lease_ms ? claim->caps.lease_ms
                                : claim->options->lease_ms;
}

void cli_claim_tell_takeover(const struct cli_claim *claim)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text names CLI_AUTO(cli_text_fini) = {0};
    hf_stats_info stats = HF_STATS_INFO_INIT;

    if (hf_stats(claim->client, &stats) || !stats.taken_over) {
        return;
    }
    cli_text_add(&fields, ",\"taken_over\":%" PRIu64, stats.taken_over);
    cli_names_line(&names, claim->options);
    if (hf_count(claim->lock) > 1) {
        cli_text_add(&names,
                     ": %" PRIu64 " taken over, their last holders let them "
                     "expire or died",
                     stats.taken_over);
    } else {
        cli_text_add(&names,
                     ": taken over, the last holder let it expire or died");
    }
    cli_event(CLI_QUIET, "takeover", fields.data, "%s", names.data);
}

static void run_claim(void *arg)
{
    struct cli_claim *claim = arg;
    int r = open_store(claim);

    r = r ? r : acquire(claim);
    claim->status = r;
    if (!r) {
        claim->granted_ns = cli_boot_ns();
        enter(claim, CLI_CLAIM_HELD);
        claim->status = hf_wait_lost(claim->lock, HF_FOREVER);
        enter(claim, CLI_CLAIM_ENDED);
        return;
    }
    if (r == HF_BUSY || r == HF_TIMEDOUT) {
        claim->info =
            cli_names_look(claim->options, claim->client, claim->started_us);
    }
    enter(claim, CLI_CLAIM_FAILED);
}

int cli_claim_start(struct cli_claim *claim)
{
    int r;

    claim->err = (hf_error)HF_ERROR_INIT;
    claim->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (claim->event_fd < 0) {
        return HF_ENOMEM;
    }
    r = hf_cancel_new(&claim->cancel);
    if (r) {
        return r;
    }
    claim->worker = cli_worker_start(run_claim, claim);
    if (!claim->worker) {
        hf_cancel_free(claim->cancel);
        return HF_ENOMEM;
    }
    return HF_OK;
}

enum cli_claim_phase cli_claim_look(struct cli_claim *claim)
{
    uint64_t count;
    ssize_t n = read(claim->event_fd, &count, sizeof count);

    (void)n;
    return atomic_load(&claim->phase);
}

void cli_claim_finish(struct cli_claim *claim)
{
    struct pollfd change = {claim->event_fd, POLLIN, 0};

    hf_cancel_fire(claim->cancel);
    while (cli_claim_look(claim) < CLI_CLAIM_HELD) {
        (void)poll(&change, 1, -1);
    }
    /* A detached lock belongs to its token now. */
    if (hf_state(claim->lock) != HF_STATE_DETACHED) {
        (void)!hf_release(claim->lock, NULL);
    }
    cli_worker_join(claim->worker);
    hf_info_free(claim->info);
    hf_free(claim->lock);
    hf_close(claim->client);
    hf_cancel_free(claim->cancel);
    (void)close(claim->event_fd);
}
