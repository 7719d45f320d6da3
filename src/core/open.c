/* SPDX-License-Identifier: MIT */
/*
 * hf_open() and hf_close(): from a URL and options to a connected client, and
 * its end. This file decides what a URL may contain, what is refused, and in
 * which order the parts are ended; client.c serves the time in between. Called
 * by users' threads.
 */
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/base/utf8.h"
#include "src/core/claim_cleanup.h"
#include "src/core/grant.h"
#include "src/core/options.h"
#include "src/core/sweeper.h"

#include <string.h>
#include <unistd.h>

#define IO_TIMEOUT_MS      5000
#define CONNECT_TIMEOUT_MS 10000
#define TIMEOUT_MIN_MS     10
#define TIMEOUT_MAX_MS     600000
#define WAIT_CONNECTIONS   4
#define DEFAULT_PREFIX     "holdfast"

static const char *const common_options[] = {
    "prefix",      "io_timeout",       "connect_timeout",
    "connections", "wait_connections", "allow",
    "gc",          "gc_idle",          NULL};

/* The words that allow= accepts; each gives up a promise. */
static const char *const overrides[] = {"evicting", "replica", "proxy",
                                        "galera",   "netfs",   "few-members",
                                        "volatile", "hosts"};

static bool is_override(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++) {
        if (strlen(overrides[i]) == length &&
            memcmp(overrides[i], word, length) == 0) {
            return true;
        }
    }
    return false;
}

static int check_allow(const char *list, hf_error *err)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");

        if (length > 0 && !is_override(list, length)) {
            return hf__fail(err, HF_EINVAL,
                            "allow: \"%.*s\" is none of evicting, replica, "
                            "proxy, galera, netfs, few-members, volatile, "
                            "hosts",
                            (int)length, list);
        }
        list += length + (list[length] == ',');
    }
    return HF_OK;
}

/* Join the overrides of the URL and of the options in one list. */
static int join_allow(struct hf_client *c, const hf_open_opts *opts,
                      hf_error *err)
{
    const char *a = hf__url_option(c->url, "allow");
    const char *b = opts->allow == NULL ? "" : opts->allow;
    size_t length = 0;

    a = a == NULL ? "" : a;
    length = strlen(a);
    c->allow = hf__alloc(length + strlen(b) + 2);
    if (c->allow == NULL) {
        return HF_ENOMEM;
    }
    memcpy(c->allow, a, length);
    if (length > 0 && *b != '\0') {
        c->allow[length++] = ',';
    }
    memcpy(c->allow + length, b, strlen(b));
    return check_allow(c->allow, err);
}

static int read_prefix(struct hf_client *c, hf_error *err)
{
    const char *prefix = hf__url_option(c->url, "prefix");
    size_t length = 0;

    c->prefix = prefix == NULL ? DEFAULT_PREFIX : prefix;
    length = strlen(c->prefix);
    if (length == 0 || length > HF__PREFIX_MAX ||
        strpbrk(c->prefix, ":;=") != NULL ||
        !hf__utf8_is_valid(c->prefix, length)) {
        return hf__fail(
            err, HF_EINVAL,
            "prefix: 1 to %d bytes of UTF-8 without ':', ';' and '='",
            HF__PREFIX_MAX);
    }
    return HF_OK;
}

static int read_url(struct hf_client *c, hf_error *err)
{
    struct hf__settings *t = &c->settings;
    int64_t connections = 1;
    int64_t wait_connections = WAIT_CONNECTIONS;
    int r =
        hf__url_check_options(c->url, common_options, t->backend->options, err);

    if (r == HF_OK) {
        r = read_prefix(c, err);
    }
    t->io_timeout_ms = IO_TIMEOUT_MS;
    t->connect_timeout_ms = CONNECT_TIMEOUT_MS;
    if (r == HF_OK) {
        r = hf__url_duration(c->url, "io_timeout", TIMEOUT_MIN_MS,
                             TIMEOUT_MAX_MS, &t->io_timeout_ms, err);
    }
    if (r == HF_OK) {
        r = hf__url_duration(c->url, "connect_timeout", TIMEOUT_MIN_MS,
                             TIMEOUT_MAX_MS, &t->connect_timeout_ms, err);
    }
    if (r == HF_OK) {
        r = hf__url_int(c->url, "connections", 1, HF__CONNECTIONS_MAX,
                        &connections, err);
    }
    if (r == HF_OK) {
        r = hf__url_int(c->url, "wait_connections", 1, HF__CONNECTIONS_MAX,
                        &wait_connections, err);
    }
    t->wait_connections = (int)wait_connections;
    c->n_main = (int)connections;
    return r == HF_OK ? hf__sweeper_read(c, err) : r;
}

static int make_parts(struct hf_client *c)
{
    c->main = hf__alloc((size_t)c->n_main * sizeof *c->main);
    c->seen = hf__alloc(HF__SEEN_SLOTS * sizeof *c->seen);
    if (c->main == NULL || c->seen == NULL) {
        c->n_main = 0;
        return HF_ENOMEM;
    }
    for (int i = 0; i < c->n_main; i++) {
        hf__session_init(&c->main[i], &c->settings, "main");
    }
    return HF_OK;
}

/* Set up all that needs no store. On failure the client can be unreferenced. */
static int build(struct hf_client *c, const char *text,
                 const hf_open_opts *opts, hf_error *err)
{
    int r = hf__backend_url(text, &c->url, err);

    if (r != HF_OK) {
        return r;
    }
    c->settings.counters = &c->counters;
    c->settings.url = c->url;
    c->settings.log =
        (struct hf__log){opts->log, opts->log_arg, opts->log_level};
    r = hf__backend_load(c->url->scheme, &c->settings.backend, err);
    r = r == HF_OK ? read_url(c, err) : r;
    if (r == HF_OK) {
        c->settings.caps = hf__caps_of(c->settings.backend, c->url);
        r = join_allow(c, opts, err);
    }
    c->settings.allow = c->allow;
    if (r != HF_OK) {
        c->n_main = 0; /* hf_close() has no sessions to close then */
        return r;
    }
    return make_parts(c);
}

static int check_reach(struct hf_client *c, const hf_open_opts *opts,
                       hf_error *err)
{
    static const char *const names[] = {"this process", "this user",
                                        "this host", "all hosts"};
    hf_reach found = hf__session_server_info(&c->main[0]).reach;

    if (found >= opts->reach) {
        return HF_OK;
    }
    return hf__fail(err, HF_EUNSAFE,
                    "%s reaches %s, but %s was asked for: name a store that "
                    "they share",
                    c->url->redacted, names[found], names[opts->reach]);
}

/* A new server may not know what the old one granted. */
static void moved(void *client)
{
    hf__break_listener_check_all(client);
}

static int init_client(struct hf_client *c, hf_error *err)
{
    int r = HF_OK;

    atomic_init(&c->refs, 1);
    c->fork_generation = hf__fork_generation();
    hf__random(&c->settings.mark, sizeof c->settings.mark);
    c->settings.moved = moved;
    c->settings.moved_arg = c;
    hf__mutex_init(&c->mutex);
    hf__break_listener_init(&c->break_listener, c);
    hf__watchers_init(&c->watchers, &c->settings);
    hf__list_init(&c->grants);
    hf__list_init(&c->cleanups);
    hf__list_init(&c->retrying);
    hf__list_init(&c->unready);
    hf__executor_init(&c->executor);
    hf__event_queue_init(&c->events);
    hf__session_init(&c->renew, &c->settings, "renew");
    c->renew.is_runners = true;
    hf__host_name(c->host);
    r = hf__timer_thread_init(&c->timer_thread);
    if (r == HF_EUNAVAIL) {
        return hf__fail(
            err, r,
            "the system gives no file descriptor for the timer: raise "
            "the limit (ulimit -n)");
    }
    return r == HF_OK ? hf__map_init(&c->name_queues) : r;
}

int hf_open(const char *url, const hf_open_opts *given, hf_client **ret_client,
            hf_error *err)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;
    struct hf_client *c = NULL;
    int r = hf__options_copy(&opts, sizeof opts, given, err);

    if (r != HF_OK) {
        return r;
    }
    if (url == NULL || ret_client == NULL) {
        return hf__fail(err, HF_EINVAL,
                        "hf_open(): the URL, or the pointer that receives the "
                        "client, is NULL");
    }
    if ((unsigned)opts.reach > (unsigned)HF_REACH_HOSTS) {
        r = hf__fail(err, HF_EINVAL, "the reach is %d: an hf_reach is meant",
                     (int)opts.reach);
    }
    if (r != HF_OK) {
        return r;
    }
    c = hf__fork_watch() == HF_OK ? hf__alloc(sizeof *c) : NULL;
    if (c == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = init_client(c, err);
    r = r == HF_OK ? build(c, url, &opts, err) : r;
    r = r == HF_OK ? hf__session_connect(&c->main[0],
                                         c->settings.connect_timeout_ms, err)
                   : r;
    r = r == HF_OK ? check_reach(c, &opts, err) : r;
    r = r == HF_OK ? hf__sweeper_start(c, err) : r;
    if (r == HF_OK && (c->settings.caps & HF_CAP_SESSION) != 0) {
        hf__break_listener_start(
            &c->break_listener); /* this store needs it from the start */
    }
    if (r != HF_OK) {
        hf_close(c);
        return r == HF_ENOMEM ? hf__fail(err, r, "out of memory") : r;
    }
    if (*c->allow != '\0') {
        hf__log(&c->settings.log, HF_LOG_WARN, "event=allowed overrides=%s",
                c->allow);
    }
    *ret_client = c;
    return HF_OK;
}

/* ---- closing */

/* Release all that is still held; await_cleanups() then waits for all of them
 * together. */
static void abandon_grants(struct hf_client *c)
{
    for (;;) {
        struct hf__link *link = NULL;
        struct hf__grant *h = NULL;
        bool is_alive = false;

        hf__mutex_lock(&c->mutex);
        link = hf__list_pop(&c->grants);
        if (link != NULL) {
            h = HF__ELEMENT(link, struct hf__grant, link);
            is_alive = hf__grant_try_ref(h);
        }
        hf__mutex_unlock(&c->mutex);
        if (link == NULL) {
            return;
        }
        if (is_alive) {
            hf__grant_abandon(h);
            hf__grant_unref(h);
        }
    }
}

static void await_cleanups(struct hf_client *c)
{
    hf__time limit = hf__client_close_by(c);

    hf__mutex_lock(&c->mutex);
    while (c->unsettled > 0 && hf__before(hf__now(), limit)) {
        unsigned seen = hf__parker_seen(&c->settled);

        hf__mutex_unlock(&c->mutex);
        hf__park(&c->settled, seen, limit);
        hf__mutex_lock(&c->mutex);
    }
    hf__mutex_unlock(&c->mutex);
}

static void set_close_by(struct hf_client *c)
{
    HF_SCOPED_LOCK(&c->mutex);
    c->close_by = hf__client_limit(c);
}

/* Let the jobs that were called off end, and call their callbacks; a callback
 * may release more locks. */
static void tell_all(struct hf_client *c)
{
    do {
        hf__executor_drain(&c->executor);
    } while (hf__event_queue_dispatch(&c->events) > 0);
}

/* The timer thread has ended: drop the give-backs that waited for it. */
static void drop_retries(struct hf_client *client)
{
    for (;;) {
        struct hf__link *link = NULL;

        hf__mutex_lock(&client->mutex);
        client->is_closed = true;
        link = hf__list_pop(&client->retrying);
        hf__mutex_unlock(&client->mutex);
        if (link == NULL) {
            return;
        }
        hf__client_end_cleanup(client);
        hf__grant_unref(HF__ELEMENT(link, struct hf__grant, retry_link));
    }
}

void hf_close(hf_client *c)
{
    if (c == NULL || c->fork_generation != hf__fork_generation()) {
        return;
    }
    set_close_by(c);
    hf__executor_call_off(&c->executor);
    tell_all(c);
    abandon_grants(c);
    await_cleanups(c);
    tell_all(c);
    hf__event_queue_close(&c->events);
    hf__executor_stop(&c->executor);
    hf__timer_thread_stop(&c->timer_thread);
    hf__break_listener_close(&c->break_listener);
    hf__watchers_close(&c->watchers);
    for (int i = 0; i < c->n_main; i++) {
        hf__session_close(&c->main[i]);
    }
    hf__session_close(&c->renew);
    hf__claim_cleanup_drop_all(c);
    drop_retries(c);
    hf__client_unref(c);
}
