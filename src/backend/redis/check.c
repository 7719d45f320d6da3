/* SPDX-License-Identifier: MIT */
/*
 * check(): is this server fit for locks, and how good is it? Each item of the
 * report is something that a promise rests on; what this user may not see is
 * reported as unseen. The commands change nothing on the server; acl.c checks
 * what the user is allowed. Called by the session's thread.
 */
#include "src/backend/redis/check.h"

#include "src/backend/redis/sentinel.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The fields that INFO has, then those that only CONFIG GET has; "" if
 * unseen. */
enum {
    VERSION,
    MODE,
    RUN_ID,
    UPTIME,
    ROLE,
    REPLICAS,
    POLICY,
    MAXMEMORY,
    USED_MEMORY,
    AOF,
    AOF_STATUS,
    SNAPSHOT_STATUS,
    CLIENTS,
    MAXCLIENTS,
    N_INFO,
    FSYNC = N_INFO,
    SAVE,
    MIN_REPLICAS,
    MAX_LAG,
    N_FACTS
};

static const char *const names[N_FACTS] = {
    [VERSION] = "redis_version",
    [MODE] = "redis_mode",
    [RUN_ID] = "run_id",
    [UPTIME] = "uptime_in_seconds",
    [ROLE] = "role",
    [REPLICAS] = "connected_slaves",
    [POLICY] = "maxmemory_policy",
    [MAXMEMORY] = "maxmemory",
    [USED_MEMORY] = "used_memory",
    [AOF] = "aof_enabled",
    [AOF_STATUS] = "aof_last_write_status",
    [SNAPSHOT_STATUS] = "rdb_last_bgsave_status",
    [CLIENTS] = "connected_clients",
    [MAXCLIENTS] = "maxclients",
    [FSYNC] = "appendfsync",
    [SAVE] = "save",
    [MIN_REPLICAS] = "min-replicas-to-write",
    [MAX_LAG] = "min-replicas-max-lag",
};

struct findings {
    struct hf__checking *c;
    char facts[N_FACTS][64];
    bool is_seen[N_FACTS];
};

static bool is(const struct findings *f, int fact, const char *value)
{
    return strcasecmp(f->facts[fact], value) == 0;
}

static uint64_t number(const struct findings *f, int fact)
{
    return strtoull(f->facts[fact], NULL, 10);
}

static const char *shown(const struct findings *f, int fact)
{
    return f->is_seen[fact] ? f->facts[fact] : "can't be seen by this user";
}

static void tell(struct findings *f, const char *name, const char *value,
                 hf_verdict verdict, const char *remedy)
{
    hf__report_tell(&f->c->to, name, value, verdict, remedy);
}

/* Report HF_FINE, or a warning with its remedy. */
static void tell_if(struct findings *f, const char *name, const char *value,
                    bool is_fine, const char *remedy)
{
    tell(f, name, value, is_fine ? HF_FINE : HF_WARN, remedy);
}

/* ---- reading the facts */

static void note(struct findings *f, int fact, const char *text, size_t length)
{
    (void)snprintf(f->facts[fact], sizeof f->facts[fact], "%.*s", (int)length,
                   text);
    f->is_seen[fact] = true;
}

/* "name:value" */
static void note_line(struct findings *f, const char *line, size_t length)
{
    for (int i = 0; i < N_INFO; i++) {
        size_t at = strlen(names[i]);

        if (length > at && line[at] == ':' && memcmp(line, names[i], at) == 0) {
            note(f, i, line + at + 1, length - at - 1);
        }
    }
}

static int read_info(struct findings *f)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int r = hf__check_ask(f->c, HF__WORDS("INFO"), &reply);

    if (r != HF_OK || reply->type != REDIS_REPLY_STRING) {
        return r;
    }
    for (const char *at = reply->str; *at != '\0';) {
        size_t length = strcspn(at, "\r\n");

        note_line(f, at, length);
        at += length;
        at += strspn(at, "\r\n");
    }
    return HF_OK;
}

static int read_setting(struct findings *f, int fact)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int r =
        hf__check_ask(f->c, HF__WORDS("CONFIG", "GET", names[fact]), &reply);

    if (r == HF_OK && reply->type == REDIS_REPLY_ARRAY &&
        reply->elements == 2 && reply->element[1]->type == REDIS_REPLY_STRING) {
        note(f, fact, reply->element[1]->str, (size_t)reply->element[1]->len);
    }
    return r;
}

static int read_facts(struct findings *f)
{
    int r = read_info(f);

    for (int i = N_INFO; i < N_FACTS && r == HF_OK; i++) {
        r = read_setting(f, i);
    }
    return r;
}

/* ---- the server */

static void check_kind(struct findings *f)
{
    const struct hf__target *target = &f->c->s->peer.target;
    char value[160];

    tell(f, "version", shown(f, VERSION), HF_FINE, NULL);
    (void)snprintf(value, sizeof value, "%s, up for %s s", shown(f, RUN_ID),
                   f->facts[UPTIME]);
    tell(f, "run_id", value, HF_FINE, NULL);
    (void)snprintf(value, sizeof value, "%d", target->database);
    tell(f, "database", value, HF_FINE, NULL);
    tell(f, "tls",
         target->tls == HF__TLS_VERIFY    ? "verified"
         : target->tls == HF__TLS_REQUIRE ? "not verified"
                                          : "none",
         HF_FINE, NULL);
    tell(f, "mode", shown(f, MODE),
         is(f, MODE, "standalone") || !f->is_seen[MODE] ? HF_FINE : HF_UNFIT,
         "name one server that is no member of a cluster, or several of them "
         "by redlock:");
    tell(f, "role", shown(f, ROLE),
         is(f, ROLE, "master") || !f->is_seen[ROLE] ? HF_FINE : HF_UNFIT,
         "name the master: a replica's locks are nobody's");
}

static void check_eviction(struct findings *f)
{
    bool evicts = f->is_seen[POLICY] && !is(f, POLICY, "noeviction");

    tell(f, "maxmemory_policy",
         f->is_seen[POLICY] ? f->facts[POLICY]
                            : "can't be checked by this user",
         evicts               ? HF_UNFIT
         : f->is_seen[POLICY] ? HF_FINE
                              : HF_WARN,
         evicts ? "set maxmemory-policy noeviction: a lock that is evicted is "
                  "given to two"
                : "let the user run INFO, or see to it that maxmemory-policy "
                  "is noeviction");
}

static void check_memory(struct findings *f)
{
    uint64_t used = number(f, USED_MEMORY);
    uint64_t most = number(f, MAXMEMORY);
    char value[96];

    if (most == 0) {
        (void)snprintf(value, sizeof value, "%" PRIu64 " bytes, no limit",
                       used);
    } else {
        (void)snprintf(value, sizeof value, "%" PRIu64 " of %" PRIu64 " bytes",
                       used, most);
    }
    tell_if(f, "memory", value, most == 0 || used < most - most / 10,
            "raise maxmemory: without room nothing new is granted and no "
            "lease renewed");
}

static const char *fsync_of(const struct findings *f)
{
    return is(f, AOF, "0") ? "off" : shown(f, FSYNC);
}

static void check_durability(struct findings *f)
{
    const char *fsync = fsync_of(f);

    tell_if(f, "appendonly",
            !f->is_seen[AOF]  ? shown(f, AOF)
            : is(f, AOF, "1") ? "on"
                              : "off",
            is(f, AOF, "1"),
            "set appendonly yes: a restart of the server forgets grants "
            "(grade D)");
    tell_if(f, "appendfsync", fsync, strcmp(fsync, "always") == 0,
            "set appendfsync always: a crash of the machine forgets grants of "
            "its last second or more; a crash of the server alone does not");
    tell(f, "save",
         f->is_seen[SAVE] && f->facts[SAVE][0] == '\0' ? "no snapshots"
                                                       : shown(f, SAVE),
         HF_FINE, NULL);
    tell_if(f, "last_write",
            is(f, AOF_STATUS, "err")        ? "the append-only file failed"
            : is(f, SNAPSHOT_STATUS, "err") ? "a snapshot failed"
                                            : "ok",
            !is(f, AOF_STATUS, "err") && !is(f, SNAPSHOT_STATUS, "err"),
            "look at the server's disk: it refuses all writes (MISCONF) until "
            "it can save");
}

static void check_replicas(struct findings *f)
{
    uint64_t count = number(f, REPLICAS);
    uint64_t least = number(f, MIN_REPLICAS);
    uint64_t wanted = (uint64_t)f->c->s->wait_replicas;
    uint64_t needed = wanted > least ? wanted : least;
    bool may_fail_over = count > 0 || f->c->s->sentinels != NULL;
    char value[96];

    (void)snprintf(value, sizeof value, "%" PRIu64 " connected", count);
    tell_if(f, "replicas", f->is_seen[REPLICAS] ? value : shown(f, REPLICAS),
            count == 0 || wanted > 0,
            "grade C: they are not waited for, so after a failover to one of "
            "them a grant may be forgotten and given again; say "
            "wait_replicas=, use leases that are over by then, fences, or "
            "redlock:");
    (void)snprintf(value, sizeof value, "%" PRIu64 "%s", wanted,
                   wanted == 0 ? "" : ", told to have each grant and renewal");
    tell_if(f, "wait_replicas", value,
            wanted == 0 || count >= wanted || !f->is_seen[REPLICAS],
            "fewer are connected, so nothing is granted nor renewed: connect "
            "more, or lower it");
    if (wanted > 0) {
        (void)snprintf(value, sizeof value, "%" PRIu64 " of %" PRIu64, needed,
                       count);
        tell_if(f, "needed_replicas", value, 2 * needed >= count,
                "so many may be on each side of a network that is cut, and "
                "both sides grant: say half as many as there are, or more, by "
                "wait_replicas= or min-replicas-to-write");
    }
    (void)snprintf(value, sizeof value, "%" PRIu64 ", max-lag %" PRIu64 " s",
                   least, number(f, MAX_LAG));
    tell_if(f, "min_replicas_to_write",
            f->is_seen[MIN_REPLICAS] ? value : shown(f, MIN_REPLICAS),
            !may_fail_over || least > 0 || !f->is_seen[MIN_REPLICAS],
            "set it to 1, and min-replicas-max-lag below the lease: a master "
            "that was cut off would go on granting beside the new one");
}

static void check_hosts(struct findings *f)
{
    const struct hf__redis *s = f->c->s;
    char value[96];

    if (s->sentinels != NULL) {
        return; /* the Sentinels choose the host */
    }
    (void)snprintf(value, sizeof value, "%zu, of which this is number %zu",
                   s->n_hosts, s->host + 1);
    tell_if(f, "hosts", value, s->n_hosts == 1,
            "grade C at most: who can't reach the master may take a replica "
            "that was promoted, or the other way round; name one host, or "
            "several by redlock:");
}

/* ---- Sentinels: what each reports, and whether a failover would be noticed */

/* Report one Sentinel. It learns of a failover from the others within two
 * seconds. */
static void check_sentinel(struct hf__checking *c, const struct hf__peer *p)
{
    const struct hf__sentinels *a = c->s->sentinels;
    const struct hf__sentinel_reply *said = &p->said;
    bool is_newest = a->best != NULL && said->epoch == a->best->epoch;
    char value[400];

    if (p->state != HF__PEER_READY) {
        hf__report_tell(&c->to, p->target.shown,
                        p->state == HF__PEER_DEAD
                            ? p->err.text
                            : "it does not answer in time",
                        HF_WARN,
                        "start it, or name another: without a majority of "
                        "them nobody can connect");
        return;
    }
    (void)snprintf(value, sizeof value,
                   "primary %s:%d, config-epoch %" PRId64
                   ", quorum %d, %d other Sentinels%s",
                   said->host, said->port, said->epoch, said->quorum,
                   said->others, said->is_down ? ", held for down" : "");
    hf__report_tell(&c->to, p->target.shown, value,
                    is_newest && !said->is_down ? HF_FINE : HF_WARN,
                    "it knows less than the others, or no primary: wait a "
                    "moment, and see its log");
}

static void check_sentinels(struct hf__checking *c)
{
    struct hf__sentinels *a = c->s->sentinels;
    hf_error why = HF_ERROR_INIT;
    hf__time now = hf__now();
    char value[400];
    int r;

    if (a == NULL) {
        return;
    }
    r = hf__sentinel_ask(
        c->s, hf__after_ns(now, hf__between_ns(now, c->deadline) / 2), &why);
    for (int i = 0; i < a->n; i++) {
        check_sentinel(c, &a->peers[i]);
    }
    (void)snprintf(value, sizeof value, "%d of %d answer for \"%s\", %d must",
                   a->answered, a->known, a->service, a->known / 2 + 1);
    hf__report_tell(&c->to, "sentinels", r == HF_OK ? value : why.text,
                    r != HF_OK                               ? HF_UNFIT
                    : a->known < 3 || a->answered < a->known ? HF_WARN
                                                             : HF_FINE,
                    r != HF_OK ? "see what each of them says"
                               : "have three of them answer, each on a machine "
                                 "of its own, so that one can be without");
    hf__sentinel_hang_up(c->s);
}

/* ---- clock and round trip */

static void check_clients(struct findings *f)
{
    uint64_t used = number(f, CLIENTS);
    uint64_t most = number(f, MAXCLIENTS);
    char value[96];

    if (most == 0) {
        (void)snprintf(value, sizeof value, "%s", shown(f, MAXCLIENTS));
    } else {
        (void)snprintf(value, sizeof value, "%" PRIu64 " of %" PRIu64, used,
                       most);
    }
    tell_if(f, "clients", value, most == 0 || used < most - most / 10,
            "raise maxclients: a client of ours has two or three connections");
}

static int check_clock(struct findings *f)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int64_t before = hf__wall_us();
    int64_t after;
    int64_t theirs;
    char value[96];
    int r;

    r = hf__check_ask(f->c, HF__WORDS("TIME"), &reply);
    after = hf__wall_us();
    theirs = r == HF_OK ? hf__answer_time(reply) : 0;
    if (theirs == 0) {
        return r;
    }
    (void)snprintf(value, sizeof value, "%+" PRId64 " ms (± %" PRId64 ")",
                   (theirs - (before / 2 + after / 2)) / 1000,
                   (after - before) / 2000 + 1);
    /* Leases depend on the server's clock only, so the difference does no harm;
     * but that clock must not step. */
    tell(f, "clock_ahead_of_ours", value, HF_FINE, NULL);
    return HF_OK;
}

enum { PINGS = 5 };

static int check_distance(struct findings *f)
{
    int64_t best_ns = INT64_MAX;
    char value[64];

    for (int i = 0; i < PINGS; i++) {
        HF_AUTO(hf__reply_free) redisReply *reply = NULL;
        hf__time sent = hf__now();
        int r = hf__check_ask(f->c, HF__WORDS("PING"), &reply);
        int64_t ns = hf__between_ns(sent, hf__now());

        if (r != HF_OK) {
            return r;
        }
        best_ns = ns < best_ns ? ns : best_ns;
    }
    (void)snprintf(value, sizeof value, "%" PRId64 " µs", best_ns / 1000);
    tell_if(f, "round_trip", value, best_ns < 100 * HF__MS,
            "use leases of many round trips, or a server that is nearer");
    return HF_OK;
}

static void check_promises(struct findings *f)
{
    char grade[2] = {f->c->s->head.server_info.grade, '\0'};

    tell(f, "waiting",
         f->c->has_channels ? "woken by channels"
                            : "by polling: every 50 to 150 ms",
         HF_FINE, NULL);
    tell(f, "worst_takeover",
         f->c->has_channels ? "what is left of the lease, and some "
                              "milliseconds"
                            : "what is left of the lease, and a poll",
         HF_FINE, NULL);
    tell(f, "grade", grade, HF_FINE, NULL);
}

static int check_all(struct findings *f)
{
    int r = read_facts(f);

    if (r != HF_OK) {
        return r;
    }
    check_kind(f);
    r = hf__check_user(f->c);
    if (r != HF_OK) {
        return r;
    }
    check_eviction(f);
    check_memory(f);
    check_durability(f);
    check_replicas(f);
    check_hosts(f);
    check_sentinels(f->c);
    check_clients(f);
    r = check_clock(f);
    r = r == HF_OK ? check_distance(f) : r;
    check_promises(f);
    return r;
}

int hf__redis_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                    hf_error *err)
{
    struct hf__checking c = {.to = {.fn = fn, .arg = arg},
                             .s = state,
                             .deadline = deadline,
                             .err = err};
    struct findings f = {.c = &c};

    return check_all(&f);
}
