/* SPDX-License-Identifier: MIT */
/*
 * What a session asks its server about itself. When it opens: how many members
 * the ensemble has, and for how long a grant is safe after the server last
 * heard of us. And check(): is this server fit for locks, and how good is it?
 * It tells the number of members, which hosts of the URL serve, the session
 * timeout, how long a write takes and whether we may write, and who else may.
 * It writes an ephemeral node and a container, and deletes both. Called by the
 * backend session's thread.
 */
#include "src/backend/report.h"
#include "src/backend/zookeeper/zookeeper.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An ensemble of fewer members survives no member's loss. */
#define QUORUM_MIN 3

int hf__zk_count_members(const char *config)
{
    static const char begin[] = "server.";
    static const char observer[] = ":observer";
    int n = 0;

    for (const char *line = config; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *role = strstr(line, observer);

        if (strncmp(line, begin, sizeof begin - 1) == 0 &&
            (role == NULL || role > line + length)) {
            n++;
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return n == 0 ? 1 : n;
}

/* The library says that the session is over; wait for its event, which tells
 * why. HF_OK: it did not come. */
static int await_end(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    for (;;) {
        unsigned seen = hf__parker_seen(&s->ref.parker);
        int r = hf__zk_may_wait(&s->ref, deadline, err);

        if (r != HF_OK) {
            return r == HF_BUSY ? HF_OK : r;
        }
        hf__park(&s->ref.parker, seen, deadline);
    }
}

static void take_config(struct hf__zk *s, const char *text)
{
    s->members = hf__zk_count_members(text);
    s->is_alone = strstr(text, "server.") == NULL;
}

static int read_config(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, 1);

    if (calls == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    hf__zk_config(calls, 0);
    int r = hf__zk_await(calls, deadline, err);
    const struct hf__zk_answer *answer = hf__zk_answer(calls, 0);
    if (r < 0) {
        return r;
    }
    switch (answer->rc) {
    case ZOK:
        take_config(s, answer->text);
        return HF_OK;
    case ZNONODE: /* the server is older than 3.5 */
    case ZNOAUTH:
        return HF_OK; /* unknown: the ensemble counts as one member */
    case ZINVALIDSTATE:
    case ZAUTHFAILED:
        r = await_end(s, deadline, err);
        break;
    default:
        break;
    }
    return r < 0 ? r
                 : hf__zk_fail(&s->ref, answer, ZOO_CONFIG_NODE, false, err);
}

/* If the connection was lost meanwhile, wait until we are let in again, or told
 * why not: a server that refuses us may hang up before we have read that. */
static int ask_config(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    int r = read_config(s, deadline, err);
    int ready =
        r == HF_EUNAVAIL ? hf__zk_ready(&s->ref, deadline, err) : (int)HF_BUSY;

    if (ready == HF_OK) {
        return read_config(s, deadline, err);
    }
    return ready < 0 ? ready : r;
}

int hf__zk_data(struct hf__zk *s, hf__time deadline, hf_error *err)
{
    s->members = 1;
    s->is_alone = false;
    int r = ask_config(s, deadline, err);
    /* The leader counts the session timeout from when it last heard of us,
     * which is at most a third of the timeout before our request:
     * hf__zk_prove() ensures that. */
    s->head.server_info = (struct hf__server_info){
        .grade = s->members >= QUORUM_MIN ? 'A' : 'B',
        .reach = HF_REACH_HOSTS,
        .lease_us = (int64_t)hf__zk_timeout_ms(&s->ref) * 2000 / 3,
    };
    return r;
}

/* ---- a four-letter word
 *
 * A four-letter word is sent to a server on a connection of its own; the server
 * sends one answer and hangs up. It tells what the server tells in no other
 * way. The caller may be interrupted meanwhile, so it checks for that often.
 */

/* So often it checks for an interrupt. */
#define MOMENT_MS 50

static bool await_peer(struct hf__zk_ref *f, int fd, short events,
                       hf__time deadline)
{
    for (;;) {
        hf__time now = hf__now();
        struct pollfd slot = {.fd = fd, .events = events};

        if (hf__is_interrupted(f->head) || !hf__before(now, deadline)) {
            return false;
        }
        int64_t left_ms = hf__ms_until(deadline, now);
        int n = poll(&slot, 1, left_ms < MOMENT_MS ? (int)left_ms : MOMENT_MS);
        if (n > 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
    }
}

/* "127.0.0.1:2181", "[::1]:2181", "localhost:2181". */
static int dial(const char *server)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[300];

    (void)snprintf(host, sizeof host, "%s", server);
    char *port = strrchr(host, ':');
    if (port == NULL) {
        return -1;
    }
    *port++ = '\0';
    char *name = host + (host[0] == '[' ? 1 : 0);
    name[strcspn(name, "]")] = '\0';
    if (getaddrinfo(name, port, &hints, &found) != 0) {
        return -1;
    }
    int fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0 &&
        errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void hear(struct hf__zk_ref *f, int fd, char *to, size_t size,
                 hf__time deadline)
{
    size_t length = 0;

    while (length + 1 < size && await_peer(f, fd, POLLIN, deadline)) {
        ssize_t n = recv(fd, to + length, size - 1 - length, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            break;
        }
        length += n > 0 ? (size_t)n : 0;
    }
    to[length] = '\0';
}

static bool ask_word(struct hf__zk_ref *f, const char *server, const char *word,
                     char *to, size_t size, hf__time deadline)
{
    int fd = dial(server);
    bool is_answered;

    to[0] = '\0';
    if (fd < 0) {
        return false;
    }
    if (await_peer(f, fd, POLLOUT, deadline) &&
        send(fd, word, strlen(word), MSG_NOSIGNAL) == (ssize_t)strlen(word)) {
        hear(f, fd, to, size, deadline);
    }
    close(fd);
    is_answered = to[0] != '\0';
    if (strstr(to, "not in the whitelist") != NULL) {
        to[0] = '\0';
    }
    return is_answered;
}

/* ---- check() */

/* Time limit of a four-letter word. */
#define WORD_MS 1000

struct checking {
    struct hf__zk *s;
    struct hf__report report;
    hf__time deadline;
    hf_error *err;
    bool may_delete; /* we may delete what we make in the folder */
    int acl_rc;      /* rc of reading the folder's ACL, … */
    bool is_open;    /* … which lets anybody change it */
    int64_t took_us;
    /* The lowest folder of the chroot that exists, "" for the root. */
    char folder[HF__ZK_CHROOT_MAX];
};

/* Tell a fact that is fine, or a warning with a remedy. */
static void tell_if(struct checking *c, const char *name, const char *value,
                    bool is_fine, const char *remedy)
{
    hf__report_say(&c->report, name, value, is_fine ? NULL : remedy);
}

/* Wait for all answers. HF_OK, or an error. */
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
    return hf__zk_fail(&c->s->ref, hf__zk_answer(calls, i), path, false,
                       c->err);
}

/* ---- the server */

/* Copies the text after the label, up to one of `ends`; "" if it is not
 * there. */
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

    (void)ask_word(&c->s->ref, hf__zk_server(&c->s->ref, server, sizeof server),
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

/* Check one of the hosts that the URL names. */
static void check_host(struct checking *c, const char *host)
{
    char name[320];
    char said[2048];
    char mode[64];
    hf__time until = hf__earlier(c->deadline, hf__after_ms(hf__now(), WORD_MS));
    bool is_there =
        ask_word(&c->s->ref, host, "srvr", said, sizeof said, until);

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

    (void)snprintf(hosts, sizeof hosts, "%s", c->s->url.hosts);
    if (strchr(hosts, ',') == NULL) {
        return; /* the only host was asked already */
    }
    for (char *host = strtok_r(rest, ",", &rest); host != NULL;
         host = strtok_r(rest, ",", &rest)) {
        check_host(c, host);
    }
}

static void check_session(struct checking *c)
{
    int given_ms = hf__zk_timeout_ms(&c->s->ref);
    char value[64];
    char remedy[160];

    (void)snprintf(value, sizeof value, "%d ms, leases %" PRId64 " ms",
                   given_ms, c->s->head.server_info.lease_us / 1000);
    (void)snprintf(remedy, sizeof remedy,
                   "%d ms were asked for: see tickTime, minSessionTimeout and "
                   "maxSessionTimeout of the server",
                   c->s->url.timeout_ms);
    tell_if(c, "session_timeout", value, given_ms == c->s->url.timeout_ms,
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

/* Make an ephemeral node, and delete it. Returns a status, and the rc of the
 * making. */
static int try_to_write(struct checking *c, int *ret_rc)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&c->s->ref, 3);
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

/* Find the part of the chroot that exists, and whether we may write in it. */
static int find_folder(struct checking *c, int *ret_rc)
{
    int r = HF_OK;

    (void)snprintf(c->folder, sizeof c->folder, "%s", c->s->url.chroot);
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
    bool is_all = strcmp(c->folder, c->s->url.chroot) == 0;
    char value[512];
    char took[64];

    (void)snprintf(value, sizeof value, "%.200s%s%s", shown,
                   rc == ZOK ? "" : " is not ours to write: ",
                   rc == ZOK ? "" : zerror(rc));
    if (rc == ZOK && !is_all) {
        (void)snprintf(value, sizeof value,
                       "%.200s, to be made at the first need",
                       c->s->url.chroot);
    }
    hf__report_tell(
        &c->report, "chroot", value, rc == ZOK ? HF_FINE : HF_UNFIT,
        "give a user that may create nodes there, or another chroot");
    if (rc == ZOK) {
        (void)snprintf(took, sizeof took, "%" PRId64 ".%03" PRId64 " ms",
                       c->took_us / 1000, c->took_us % 1000);
        tell_if(c, "write", took,
                c->took_us < c->s->head.server_info.lease_us / 10,
                "a write takes long, measured by the lease: see the server's "
                "disk (fsync) and the network");
    }
}

/* Tell who may change our nodes, and whether another user may make a folder of
 * names before we do. */
static void check_access(struct checking *c)
{
    const char *shown = c->folder[0] == '\0' ? "/" : c->folder;
    char value[512];

    if (!hf__zk_has_user(&c->s->ref)) {
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

/* The server removes a name's empty folder, if it knows containers. One that
 * never had a child would stay, so it is made only where we may delete it. */
static int check_containers(struct checking *c)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&c->s->ref, 2);
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
    int r = hf__zk_ready(&s->ref, deadline, err);

    if (r == HF_BUSY) {
        return hf__fail(err, HF_EUNAVAIL, "%s: not connected", s->url.hosts);
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
        check_hosts(&c); /* last, for each silent host takes its time */
    }
    return r;
}
