/* SPDX-License-Identifier: MIT */
/*
 * The words of relay.h. A client logs in by itself; the connections that its
 * statements may go to besides are made with the client library, by the same
 * user, so that the server speaks to all of them alike.
 */
#include "tests/store_mysql_session/relay.h"

#include "src/base/thread.h"
#include "tests/servers/servers.h"
#include "tests/store_mysql_session/world.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS = 32, WORDS = 4, PACKET = 200000, HEAD = 4 };

struct words {
    const char *from;
    const char *to;
    int left; /* below 0: for ever */
};

struct pair {
    int client; /* 0: free */
    int first;  /* by which it logged in */
    MYSQL *other;
    int now; /* where its statements go: one of both sockets */
    unsigned replaced;
    size_t n; /* of a packet that is not all there */
    unsigned char packet[PACKET];
};

struct relay {
    int listener;
    int port;
    struct hf__test_thread *thread;
    struct pair pairs[PAIRS];
    struct hf__mutex mutex; /* guards what follows */
    bool is_over;
    bool multiplexes;
    unsigned replaced;
    int hits;
    struct words words[WORDS];
};

/* ---- connections */

static void send_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

        if (sent <= 0) {
            return; /* it is seen when it is read */
        }
        at += sent;
        n -= (size_t)sent;
    }
}

static int connect_plainly(void)
{
    struct sockaddr_in to = hf__servers_at(hf__mariadb_port(server()));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    EXPECT(fd >= 0);
    EXPECT_IS(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static MYSQL *connect_as_client(void)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db);
    if (!mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                            HF__MARIADB_PASSWORD, database(),
                            (unsigned)hf__mariadb_port(server()), NULL,
                            CLIENT_MULTI_STATEMENTS)) {
        hf__servers_fail("a relay's connection: %s", mysql_error(db));
    }
    /* Such proxies carry over what a client has set. */
    EXPECT_IS(mysql_query(db, "SET SESSION sql_mode='STRICT_ALL_TABLES'"), 0);
    return db;
}

static void enter(struct relay *r)
{
    int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);

    for (int i = 0; i < PAIRS && fd >= 0; i++) {
        struct pair *p = &r->pairs[i];

        if (p->client == 0) {
            memset(p, 0, offsetof(struct pair, packet));
            p->client = fd;
            p->now = p->first = connect_plainly();
            p->replaced = r->replaced;
            return;
        }
    }
    EXPECT(fd < 0); /* more than there is room for */
}

static void leave(struct pair *p)
{
    close(p->client);
    close(p->first);
    if (p->other != NULL) {
        (void)shutdown((int)mysql_get_socket(p->other), SHUT_RDWR);
        mysql_close(p->other);
    }
    p->client = 0;
}

/* ---- statements */

/* The packet has room for it. */
static void translate(struct relay *r, struct pair *p, size_t *length)
{
    for (int i = 0; i < WORDS; i++) {
        struct words *w = &r->words[i];
        unsigned char *at;
        size_t from;
        size_t to;

        if (w->from == NULL || w->left == 0) {
            continue;
        }
        from = strlen(w->from);
        to = strlen(w->to);
        at = memmem(p->packet + HEAD, *length - HEAD, w->from, from);
        if (at == NULL) {
            continue;
        }
        memmove(at + to, at + from, *length - (size_t)(at + from - p->packet));
        memcpy(at, w->to, to);
        *length = *length - from + to;
        w->left -= w->left > 0;
        r->hits++;
    }
    p->packet[0] = (unsigned char)((*length - HEAD) & 0xff);
    p->packet[1] = (unsigned char)((*length - HEAD) >> 8 & 0xff);
    p->packet[2] = (unsigned char)((*length - HEAD) >> 16);
}

static void choose(struct relay *r, struct pair *p)
{
    bool is_next = r->multiplexes && p->other != NULL;

    if (p->other == NULL) {
        p->other = connect_as_client();
    }
    if (is_next || p->replaced != r->replaced) {
        p->now =
            p->now == p->first ? (int)mysql_get_socket(p->other) : p->first;
        p->replaced = r->replaced;
    }
}

/* One packet that is there; of a login it goes where it began. */
static void pass(struct relay *r, struct pair *p, size_t length)
{
    bool is_statement = p->packet[3] == 0 && p->packet[HEAD] == COM_QUERY;
    size_t rest = p->n - length;
    unsigned char *after = malloc(rest + 1);

    EXPECT(after);
    memcpy(after, p->packet + length, rest);
    if (is_statement) {
        HF_SCOPED_LOCK(&r->mutex);
        choose(r, p);
        translate(r, p, &length);
    }
    send_all(p->now, p->packet, length);
    memcpy(p->packet, after, rest);
    p->n = rest;
    free(after);
}

static bool hear_client(struct relay *r, struct pair *p)
{
    ssize_t got =
        recv(p->client, p->packet + p->n, PACKET / 2 - p->n, MSG_DONTWAIT);

    if (got <= 0) {
        return false;
    }
    p->n += (size_t)got;
    while (p->n > HEAD) {
        size_t length = HEAD + (p->packet[0] | (size_t)p->packet[1] << 8 |
                                (size_t)p->packet[2] << 16);

        EXPECT_LESS(length, PACKET / 2);
        if (p->n < length) {
            break;
        }
        pass(r, p, length);
    }
    return true;
}

static bool hear_server(struct pair *p)
{
    char bytes[8192];
    ssize_t got = recv(p->now, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got > 0) {
        send_all(p->client, bytes, (size_t)got);
    }
    return got > 0;
}

/* ---- its thread */

static bool is_over(struct relay *r)
{
    HF_SCOPED_LOCK(&r->mutex);

    return r->is_over;
}

static void turn(struct relay *r)
{
    struct pollfd fds[1 + 2 * PAIRS] = {{.fd = r->listener, .events = POLLIN}};

    for (int i = 0; i < PAIRS; i++) {
        bool is_used = r->pairs[i].client != 0;

        fds[1 + 2 * i] = (struct pollfd){
            .fd = is_used ? r->pairs[i].client : -1, .events = POLLIN};
        fds[2 + 2 * i] = (struct pollfd){.fd = is_used ? r->pairs[i].now : -1,
                                         .events = POLLIN};
    }
    if (poll(fds, 1 + 2 * PAIRS, 20) <= 0) {
        return;
    }
    for (int i = 0; i < PAIRS; i++) {
        struct pair *p = &r->pairs[i];
        bool lives = true;

        if (fds[2 + 2 * i].revents != 0) {
            lives = hear_server(p);
        }
        if (lives && fds[1 + 2 * i].revents != 0) {
            lives = hear_client(r, p);
        }
        if (!lives) {
            leave(p);
        }
    }
    if (fds[0].revents != 0) {
        enter(r);
    }
}

static void work(void *arg)
{
    struct relay *r = arg;

    while (!is_over(r)) {
        turn(r);
    }
}

/* ---- the words */

struct relay *start_relay(void)
{
    struct relay *r = calloc(1, sizeof *r);
    struct sockaddr_in at = hf__servers_at(0);
    socklen_t size = sizeof at;

    EXPECT(r);
    hf__mutex_init(&r->mutex);
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(r->listener >= 0);
    EXPECT_IS(bind(r->listener, (struct sockaddr *)&at, sizeof at), 0);
    EXPECT_IS(listen(r->listener, PAIRS), 0);
    EXPECT_IS(getsockname(r->listener, (struct sockaddr *)&at, &size), 0);
    r->port = ntohs(at.sin_port);
    r->thread = hf__test_start(work, r);
    return r;
}

void free_relay(struct relay **relay)
{
    struct relay *r = *relay;

    if (r == NULL) {
        return;
    }
    hf__mutex_lock(&r->mutex);
    r->is_over = true;
    hf__mutex_unlock(&r->mutex);
    hf__test_join(r->thread);
    for (int i = 0; i < PAIRS; i++) {
        if (r->pairs[i].client != 0) {
            leave(&r->pairs[i]);
        }
    }
    close(r->listener);
    hf__mutex_fini(&r->mutex);
    free(r);
}

int relay_port(const struct relay *r)
{
    return r->port;
}

void relay_multiplex(struct relay *r)
{
    HF_SCOPED_LOCK(&r->mutex);

    r->multiplexes = true;
}

void relay_replace(struct relay *r)
{
    HF_SCOPED_LOCK(&r->mutex);

    r->replaced++;
}

void relay_translate(struct relay *r, const char *from, const char *to, int n)
{
    HF_SCOPED_LOCK(&r->mutex);

    for (int i = 0; i < WORDS; i++) {
        if (r->words[i].from == NULL) {
            r->words[i] = (struct words){from, to, n > 0 ? n : -1};
            return;
        }
    }
    EXPECT(false); /* more than there is room for */
}

void relay_be_plain(struct relay *r)
{
    HF_SCOPED_LOCK(&r->mutex);

    memset(r->words, 0, sizeof r->words);
}

int relay_hits(struct relay *r)
{
    HF_SCOPED_LOCK(&r->mutex);

    return r->hits;
}
