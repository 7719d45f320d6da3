/* SPDX-License-Identifier: MIT */
/*
 * From a URL to a session. The whole URL is checked first. Several hosts are
 * nodes of one cluster, or servers that replicate each other, or whatever
 * allow=hosts permits. They are tried in their order, each with its share of
 * the time that is left, so that a silent one leaves the next its own share. A
 * server that is up but read-only is passed over like one that is down; one
 * that could become the primary is made it, if no other host is the primary.
 * Called by the session's thread when it opens.
 */
#include "src/backend/mysql/target.h"

#include "src/backend/mysql/galera.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/mysql/schema.h"
#include "src/backend/mysql/settings.h"
#include "src/backend/table/target.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/secret.h"

#include <stdio.h>
#include <string.h>

const char *const hf__mysql_options[] = {"scheme",
                                         "session_timeout",
                                         "locks_per_connection",
                                         "max_connections",
                                         "longest_lease",
                                         "socket",
                                         "tls",
                                         "ca",
                                         "cert",
                                         "key",
                                         "password_file",
                                         NULL};

/* ---- checking the URL */

static bool is_scheme(const struct hf__url *url, const char *scheme)
{
    const char *given = hf__url_option(url, "scheme");

    return given != NULL && strcmp(given, scheme) == 0;
}

static int check_goes_with(const struct hf__url *url, const char *option,
                           const char *scheme, hf_error *err)
{
    return is_scheme(url, scheme) || hf__url_option(url, option) == NULL
               ? HF_OK
               : hf__fail(err, HF_EINVAL, "%s: it goes with scheme=%s", option,
                          scheme);
}

static int check_scheme(const struct hf__url *url, hf_error *err)
{
    static const char *const words[] = {"table", "session", "row", NULL};
    int r = hf__table_check_word(url, "scheme", words, err);

    if (r == HF_OK && !is_scheme(url, "session") && !is_scheme(url, "row") &&
        hf__url_option(url, "session_timeout") != NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "session_timeout: it goes with scheme=session and "
                     "scheme=row; a lock of scheme=table has a lease of its "
                     "own");
    }
    r = r == HF_OK
            ? check_goes_with(url, "locks_per_connection", "session", err)
            : r;
    return r == HF_OK ? check_goes_with(url, "max_connections", "row", err) : r;
}

static bool has_database(const struct hf__url *url)
{
    return url->path[0] == '/' && url->path[1] != '\0';
}

static int check(const struct hf__url *url, hf_error *err)
{
    int r = check_scheme(url, err);

    if (r == HF_OK && !has_database(url) && !is_scheme(url, "session")) {
        r = hf__fail(err, HF_EINVAL,
                     "url: it names no database: "
                     "mysql://user@host:3306/DATABASE");
    }
    r = r == HF_OK
            ? hf__table_check_hosts(url, "mysql://user@host:3306/database", err)
            : r;
    return r == HF_OK ? hf__table_check_tls(url, err) : r;
}

/* ---- connecting */

/* Are the hosts servers that replicate each other, and not nodes of Galera? */
static bool are_several(const struct hf__mysql *s, const struct hf__url *url,
                        const char *allow)
{
    return url->n_hosts > 1 && !s->server.is_galera &&
           !hf__is_allowed(allow, "hosts");
}

/* Two servers that do not copy each other, or do so late, may grant the same
 * lock twice. */
static int judge_several(struct hf__mysql *s, const struct hf__url *url,
                         size_t at)
{
    if (is_scheme(url, "session") || is_scheme(url, "row")) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "url: it names %zu servers that are no nodes of a "
                        "Galera cluster, and while one is away the next would "
                        "grant what the first has granted: name one, leave "
                        "scheme= away, or allow=hosts",
                        url->n_hosts);
    }
    return hf__primary_meet(s, at);
}

static int try_server(struct hf__mysql *s, const struct hf__wire_target *target,
                      const struct hf__url *url, const char *allow, size_t at,
                      hf__time until)
{
    hf__time deadline = s->t.deadline;
    int r;

    s->t.deadline = until;
    r = hf__wire_connect(s, target, until);
    if (r == HF_EUNAVAIL) {
        s->pair.unreached |= UINT64_C(1) << at % 64;
    }
    if (r == HF_OK) {
        r = hf__mysql_settings_apply(s, allow);
    }
    if (r == HF_OK) {
        r = hf__galera_ready(s, url, allow);
    }
    if (r == HF_OK && are_several(s, url, allow)) {
        r = judge_several(s, url, at);
    }
    s->t.deadline = deadline;
    return r;
}

/* No host is the primary yet: make the candidate the primary. */
static int take_candidate(struct hf__mysql *s, const struct hf__url *url,
                          struct hf__wire_target *target, const char *allow)
{
    struct hf__wire_target others = *target;
    char shown[HF__SHOWN];
    int r;

    if (url->n_hosts > HF__PEERS_MAX + 1) {
        return hf__fail(s->t.err, HF_EINVAL,
                        "url: it names %zu hosts, and %d may replicate each "
                        "other at most",
                        url->n_hosts, HF__PEERS_MAX + 1);
    }
    /* If they are one system, this is only a moment of a failover. */
    if (s->pair.n_candidates > 1) {
        return hf__fail(s->t.err, s->pair.is_proven ? HF_EUNAVAIL : HF_EUNSAFE,
                        "url: %d of its hosts can be written to, and none was "
                        "the primary lately: set read_only on all but the one "
                        "that is to be it",
                        s->pair.n_candidates);
    }
    hf__wire_target_host(target, &url->hosts[s->pair.candidate], shown);
    r = hf__wire_connect(s, target, s->t.deadline);
    r = r == HF_OK ? hf__mysql_settings_apply(s, allow) : r;
    r = r == HF_OK ? hf__mysql_schema_ready(s, &hf__mysql_pair_tables) : r;
    r = r == HF_OK ? hf__primary_take(s, url, &others) : r;
    target->shown = NULL;
    return r;
}

/* If a host is fit, errors of the hosts passed over before it do not matter.
 * The hosts are tried a second time if desynced ones were passed over, which
 * will do when no other is fit. */
static int try_hosts(struct hf__mysql *s, const struct hf__url *url,
                     struct hf__wire_target *target, const char *allow)
{
    hf_error *err = s->t.err;
    size_t n = url->n_hosts;
    int r = HF_EUNAVAIL;

    s->pair.passed = (hf_error)HF_ERROR_INIT;
    s->t.err = &s->pair.passed;

    for (size_t i = 0;
         i < (s->server.has_desynced ? 2 * n : n) && r == HF_EUNAVAIL; i++) {
        hf__time now = hf__now();
        bool has_more = s->server.has_desynced || s->pair.n_candidates > 0;
        size_t left = n - i % n + (size_t)(i < n && has_more);
        int64_t share = hf__between_ns(now, s->t.deadline) / (int64_t)left;
        char shown[HF__SHOWN];

        s->server.takes_desynced = i >= n;
        hf__wire_target_host(target, &url->hosts[i % n], shown);
        r = try_server(s, target, url, allow, i % n, hf__after_ns(now, share));
        target->shown = NULL;
        if (hf__is_interrupted(&s->t.head)) {
            break;
        }
    }
    if (r == HF_EUNAVAIL && s->pair.n_candidates > 0 &&
        !hf__is_interrupted(&s->t.head)) {
        r = take_candidate(s, url, target, allow);
    }
    if (r == HF_OK && s->server.is_galera && s->pair.n_candidates > 0) {
        r = hf__fail(s->t.err, HF_EUNSAFE,
                     "url: some of its hosts are no nodes of a Galera cluster, "
                     "and some are: each grants what the others have granted");
    }
    s->t.err = err;
    if (r != HF_OK) {
        hf__error_copy(err, &s->pair.passed);
    }
    if (n > 1 && s->t.head.server_info.grade < 'C') {
        s->t.head.server_info.grade = 'C';
    }
    return r;
}

int hf__mysql_target_connect(struct hf__mysql *s, const struct hf__url *url,
                             const char *allow, hf__time deadline)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__wire_target target = {
        .socket = hf__url_option(url, "socket"),
        .shown = hf__url_option(url, "socket"),
        .user = url->user,
        .tls = hf__table_tls(url),
        .ca = hf__url_option(url, "ca"),
        .cert = hf__url_option(url, "cert"),
        .key = hf__url_option(url, "key"),
    };
    struct hf__table_login login;
    int r = check(url, s->t.err);

    r = r == HF_OK ? hf__pair_option(s, url) : r;
    r = r == HF_OK ? hf__secret_read(url, &secret, s->t.err) : r;
    if (r != HF_OK) {
        return r;
    }
    hf__table_login(&login);
    s->t.deadline = deadline;
    target.user = target.user == NULL ? login.name : target.user;
    target.password = secret.is_given ? secret.text : NULL;
    target.database = has_database(url) ? url->path + 1 : NULL;
    return target.socket != NULL
               ? try_server(s, &target, url, allow, 0, deadline)
               : try_hosts(s, url, &target, allow);
}
