/* SPDX-License-Identifier: MIT */
/*
 * check(): is this server fit for locks, and how good is it? How many members
 * its ensemble has, which of those that the URL names serve, how long a session
 * lives with it, what a write takes and whether we may do one, and who else
 * may. The writes are an ephemeral node and a container of our own, which are
 * gone again. Called by the session's thread.
 */
#include "src/backend/report.h"
#include "src/backend/zookeeper/word.h"
#include "src/backend/zookeeper/zookeeper.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A four-letter word has so long. */
#define WORD_MS 1000

struct checking {
    struct hf__zk *s;
    struct hf__report report;
    hf__time deadline;
    hf_error *err;
    bool may_delete; /* what it makes in the folder */
    int acl_rc;      /* of who may use the folder: it is not told, … */
    bool is_open;    /* … or anybody may */
    int64_t took_us;
    /* The last folder of the chroot that is there, "" for the root. */
    char folder[HF__ZK_CHROOT_MAX];
};

/* Fine, or a warning with what helps. */
static void tell_if(struct checking *c, const char *name, const char *value,
                    bool is_fine, const char *remedy)
{
    hf__report_say(&c->report, name, value, is_fine ? NULL : remedy);
}

/* All of them answered, or what that is. */
static int await(struct checking *c, struct hf__zk_calls *calls)
{
    hf__time from = hf__now();
    int r = hf__zk_await(calls, c->deadline, c->err);

    c->took_us = hf__between_ns(from, hf__now()) / 1000;
    return r != HF_BUSY ? r
                        : hf__fail(c->err, HF_EUNAVAIL,
                                   "the server did not answer in time");
}

static int fail(struct checking *c, struct hf__zk_calls *calls, int i,
                const char *path)
{
    return hf__zk_fail(&c->s->front, hf__zk_answer(calls, i), path, false,
                       c->err);
}

/* ---- the server */

/* Behind "label", up to the next of `ends`; "" if it is not there. */
static void field_of(const char *text, const char *label, const char *ends,
                     char to[64])
{
    const char *at = strstr(text, label);

    at = at == NULL ? "" : at + strlen(label);
    (void)snprintf(to, 64, "%.*s", (int)strcspn(at, ends), at);
}

static void check_server(struct checking *c)
{
    char said[2048];
    char version[64];
    char mode[64];
    char server[300];
    hf__time until = hf__earlier(c->deadline, hf__after_ms(hf__now(), WORD_MS));

    (void)hf__zk_word(&c->s->front,
                      hf__zk_server(&c->s->front, server, sizeof server),
                      "srvr", said, sizeof said, until);
    field_of(said, "version: ", "-, \n", version);
    field_of(said, "Mode: ", "\n", mode);
    tell_if(c, "version", version[0] == '\0' ? "is not told" : version,
            version[0] != '\0',
            "put srvr on 4lw.commands.whitelist to have it shown");
    if (mode[0] != '\0') {
        hf__report_say(&c->report, "mode", mode, NULL);
    }
}

static void check_ensemble(struct checking *c)
{
    int n = c->s->members;
    char value[64];

    (void)snprintf(value, sizeof value, "%d member%s", n, n == 1 ? "" : "s");
    tell_if(c, "ensemble", value, n >= 3,
            "with three members, locks outlive the loss of one");
}

/* One of several that the URL names. */
static void check_host(struct checking *c, const char *host)
{
    char name[320];
    char said[2048];
    char mode[64];
    hf__time until = hf__earlier(c->deadline, hf__after_ms(hf__now(), WORD_MS));
    bool is_there =
        hf__zk_word(&c->s->front, host, "srvr", said, sizeof said, until);

    field_of(said, "Mode: ", "\n", mode);
    (void)snprintf(name, sizeof name, "host %s", host);
    tell_if(c, name,
            mode[0] != '\0'   ? mode
            : !is_there       ? "does not answer"
            : said[0] == '\0' ? "answers"
                              : "serves nobody now",
            is_there && (said[0] == '\0' || mode[0] != '\0'),
            "without a majority of its members the ensemble grants nothing");
}

static void check_hosts(struct checking *c)
{
    char hosts[HF__ZK_HOSTS_MAX];
    char *rest = hosts;

    (void)snprintf(hosts, sizeof hosts, "%s", c->s->place.hosts);
    if (strchr(hosts, ',') == NULL) {
        return; /* it has been asked */
    }
    for (char *host = strtok_r(rest, ",", &rest); host != NULL;
         host = strtok_r(rest, ",", &rest)) {
        check_host(c, host);
    }
}

static void check_session(struct checking *c)
{
    int given_ms = hf__zk_timeout_ms(&c->s->front);
    char value[64];
    char remedy[160];

    (void)snprintf(value, sizeof value, "%d ms, leases %" PRId64 " ms",
                   given_ms, c->s->head.facts.lease_us / 1000);
    (void)snprintf(remedy, sizeof remedy,
                   "%d ms were asked for: see tickTime, minSessionTimeout and "
                   "maxSessionTimeout of the server",
                   c->s->place.timeout_ms);
    tell_if(c, "session_timeout", value, given_ms == c->s->place.timeout_ms,
            remedy);
}

/* ---- our part of the tree */

static void name_probe(const struct checking *c, char *path, size_t size)
{
    uint64_t number = 0;

    hf__random(&number, sizeof number);
    (void)snprintf(path, size, "%.4000s/holdfast-check-%016" PRIx64, c->folder,
                   number);
}

/* An ephemeral node, gone at once. Gives its rc, or a status. */
static int try_to_write(struct checking *c, int *ret_rc)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&c->s->front, 3);
    char path[HF__ZK_CHROOT_MAX + 64];

    if (calls == NULL) {
        return hf__fail(c->err, HF_ENOMEM, "out of memory");
    }
    name_probe(c, path, sizeof path);
    hf__zk_create(calls, 0, path, "", 0, ZOO_EPHEMERAL);
    hf__zk_acl(calls, 1, c->folder[0] == '\0' ? "/" : c->folder);
    int r = await(c, calls);
    if (r == HF_OK && hf__zk_is_unknown(hf__zk_answer(calls, 0)->rc)) {
        r = fail(c, calls, 0, path);
    }
    *ret_rc = hf__zk_answer(calls, 0)->rc;
    c->acl_rc = hf__zk_answer(calls, 1)->rc;
    c->is_open = c->acl_rc == ZOK && hf__zk_answer(calls, 1)->length > 0;
    if (r == HF_OK && *ret_rc == ZOK) {
        int64_t took_us = c->took_us;

        hf__zk_delete(calls, 2, path, -1);
        r = await(c, calls);
        c->took_us = took_us;
        c->may_delete = hf__zk_answer(calls, 2)->rc == ZOK;
    }
    return r;
}

/* The part of the chroot that is there, and whether we may write in it. */
static int find_folder(struct checking *c, int *ret_rc)
{
    int r = HF_OK;

    (void)snprintf(c->folder, sizeof c->folder, "%s", c->s->place.chroot);
    for (;;) {
        r = try_to_write(c, ret_rc);
        if (r != HF_OK || *ret_rc != ZNONODE || c->folder[0] == '\0') {
            return r;
        }
        *strrchr(c->folder, '/') = '\0';
    }
}

static void tell_folder(struct checking *c, int rc)
{
    const char *shown = c->folder[0] == '\0' ? "/" : c->folder;
    bool is_all = strcmp(c->folder, c->s->place.chroot) == 0;
    char value[512];
    char took[64];

    (void)snprintf(value, sizeof value, "%.200s%s%s", shown,
                   rc == ZOK ? "" : " is not ours to write: ",
                   rc == ZOK ? "" : zerror(rc));
    if (rc == ZOK && !is_all) {
        (void)snprintf(value, sizeof value,
                       "%.200s, to be made at the first need",
                       c->s->place.chroot);
    }
    hf__report_tell(
        &c->report, "chroot", value, rc == ZOK ? HF_FINE : HF_UNFIT,
        "give a user that may create nodes there, or another chroot");
    if (rc == ZOK) {
        (void)snprintf(took, sizeof took, "%" PRId64 ".%03" PRId64 " ms",
                       c->took_us / 1000, c->took_us % 1000);
        tell_if(c, "write", took, c->took_us < c->s->head.facts.lease_us / 10,
                "a write takes long, measured by the lease: see the server's "
                "disk (fsync) and the network");
    }
}

/* Of whom our nodes are, and whether another may make a folder of names before
 * we do. */
static void check_access(struct checking *c)
{
    const char *shown = c->folder[0] == '\0' ? "/" : c->folder;
    char value[512];

    if (!hf__zk_has_user(&c->s->front)) {
        tell_if(c, "access", "open", false,
                "whoever reaches the server may break locks: give user and "
                "password in the url");
    } else if (c->acl_rc != ZOK) {
        (void)snprintf(value, sizeof value,
                       "nodes are this user's only; who may use %.200s is not "
                       "told: %s",
                       shown, zerror(c->acl_rc));
        tell_if(c, "access", value, false,
                "let this user read its ACL (r) to have it shown: setAcl");
    } else if (c->is_open) {
        (void)snprintf(value, sizeof value,
                       "nodes are this user's only, but %.200s is open", shown);
        tell_if(
            c, "access", value, false,
            "anybody may make names there first, which are then refused: give "
            "it this user's ACL with setAcl");
    } else {
        tell_if(c, "access", "nodes are this user's only", true, NULL);
    }
}

/* An empty name's folder is the server's to remove, where it can. One that
 * never had a child would stay: it is made only where it can be deleted. */
static int check_containers(struct checking *c)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&c->s->front, 2);
    char path[HF__ZK_CHROOT_MAX + 64];

    if (calls == NULL) {
        return hf__fail(c->err, HF_ENOMEM, "out of memory");
    }
    name_probe(c, path, sizeof path);
    hf__zk_create(calls, 0, path, "", 0, ZOO_CONTAINER);
    hf__zk_delete(calls, 1, path, -1);
    int r = await(c, calls);
    int rc = hf__zk_answer(calls, 0)->rc;
    if (r == HF_OK && hf__zk_is_unknown(rc)) {
        r = fail(c, calls, 0, path);
    }
    if (r == HF_OK) {
        tell_if(c, "containers", rc == ZOK ? "yes" : zerror(rc), rc == ZOK,
                "ZooKeeper 3.5.3 removes the folders of names that nobody "
                "uses; before, whoever leaves a name last does");
    }
    return r;
}

int hf__zk_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                 hf_error *err)
{
    struct hf__zk *s = state;
    struct checking c = {
        .s = s, .report = {fn, arg, false}, .deadline = deadline, .err = err};
    int rc = ZOK;
    int r = hf__zk_ready(&s->front, deadline, err);

    if (r == HF_BUSY) {
        return hf__fail(err, HF_EUNAVAIL, "%s: not connected", s->place.hosts);
    }
    if (r != HF_OK) {
        return r;
    }
    check_server(&c);
    check_ensemble(&c);
    check_session(&c);
    r = find_folder(&c, &rc);
    if (r == HF_OK) {
        tell_folder(&c, rc);
        check_access(&c);
    }
    r = r == HF_OK && c.may_delete ? check_containers(&c) : r;
    if (r == HF_OK) {
        check_hosts(&c); /* last: each that is silent takes its time */
    }
    return r;
}
