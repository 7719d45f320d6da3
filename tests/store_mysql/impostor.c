/* SPDX-License-Identifier: MIT */
/*
 * The words of impostor.h: as much of the protocol as an impostor needs.
 * Thread: see there; what was heard is under the mutex.
 */
#include "tests/store_mysql/impostor.h"

#include "src/base/thread.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEARD_MAX = 65536, PACKET_MAX = 4096, SSL_REQUEST = 32 };
enum { CAN_SSL = 0x800 };
#define CAN         0x81bff75du /* all that counts, but TLS and compression */
#define SCRAMBLE    "0123456789abcdefghij"
#define OK_PACKET   "\0\0\0\2\0\0\0"
#define DENIED      "\xff\x15\x04#28000"
#define LOCAL_FILES '\xfb'

struct hf__impostor {
    struct hf__impostor_opts opts;
    struct hf__test_thread *thread;
    SSL_CTX *tls;
    int listener;
    int port;
    struct hf__mutex lock; /* the next three */
    unsigned char heard[HEARD_MAX];
    size_t n_heard;
    int n_packets;
};

/* One client. */
struct visit {
    struct hf__impostor *of;
    int fd;
    SSL *tls;
    unsigned char number;
    unsigned char packet[PACKET_MAX];
    size_t length;
};

/* ---- packets */

static bool get(struct visit *v, void *to, size_t n)
{
    unsigned char *at = to;

    while (n > 0) {
        ssize_t got = v->tls != NULL ? SSL_read(v->tls, at, (int)n)
                                     : recv(v->fd, at, n, 0);

        if (got <= 0) {
            return false;
        }
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static void put(struct visit *v, const void *bytes, size_t n)
{
    if (v->tls != NULL) {
        (void)SSL_write(v->tls, bytes, (int)n);
    } else {
        (void)send(v->fd, bytes, n, MSG_NOSIGNAL);
    }
}

static void put_packet(struct visit *v, const void *payload, size_t n)
{
    unsigned char packet[PACKET_MAX + 4] = {
        (unsigned char)n, (unsigned char)(n >> 8), 0, v->number++};

    EXPECT(n <= PACKET_MAX);
    memcpy(packet + 4, payload, n);
    put(v, packet, n + 4);
}

static void note(struct visit *v)
{
    struct hf__impostor *m = v->of;
    HF_SCOPED_LOCK(&m->lock);

    m->n_packets += v->length != SSL_REQUEST;
    if (m->n_heard + v->length <= HEARD_MAX) {
        memcpy(m->heard + m->n_heard, v->packet, v->length);
        m->n_heard += v->length;
    }
}

static bool get_packet(struct visit *v)
{
    unsigned char head[4];

    if (!get(v, head, sizeof head)) {
        return false;
    }
    v->length = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
    v->number = (unsigned char)(head[3] + 1);
    if (v->length > PACKET_MAX || !get(v, v->packet, v->length)) {
        return false;
    }
    note(v);
    return true;
}

/* ---- the dialogue */

static size_t add(unsigned char *to, size_t at, const void *bytes, size_t n)
{
    memcpy(to + at, bytes, n);
    return at + n;
}

static size_t write_greeting(const struct hf__impostor_opts *o,
                             unsigned char *to)
{
    const char *plugin =
        o->plugin == NULL ? "mysql_native_password" : o->plugin;
    unsigned can = CAN | (o->cert != NULL || o->hears_only ? CAN_SSL : 0);
    unsigned char low[] = {(unsigned char)can, (unsigned char)(can >> 8)};
    unsigned char high[] = {(unsigned char)(can >> 16),
                            (unsigned char)(can >> 24)};
    size_t n = add(to, 0,
                   "\x0a"
                   "5.5.5-10.11.0-impostor",
                   24);

    n = add(to, n, "\1\0\0\0", 4);
    n = add(to, n, SCRAMBLE, 8);
    n = add(to, n, "", 1);
    n = add(to, n, low, 2);
    n = add(to, n, "\x2d\2\0", 3); /* its charset and status */
    n = add(to, n, high, 2);
    n = add(to, n, "\x15\0\0\0\0\0\0\0\0\0\0", 11);
    n = add(to, n, &SCRAMBLE[8], 13);
    return add(to, n, plugin, strlen(plugin) + 1);
}

static void greet(struct visit *v)
{
    const struct hf__impostor_opts *o = &v->of->opts;
    unsigned char raw[PACKET_MAX];
    unsigned char packet[PACKET_MAX + 4] = {0};
    size_t n;

    if (o->socket != NULL) {
        hf__test_pause_ms(100); /* the library has looked, and waits */
    }
    if (o->greeting != NULL) {
        put(v, o->greeting, o->greeting_bytes);
        return;
    }
    n = write_greeting(o, raw);
    packet[0] = (unsigned char)n;
    memcpy(packet + 4, raw, n);
    for (size_t i = 0; o->in_pieces && i < n + 3; i++) {
        put(v, packet + i, 1);
        hf__test_pause_ms(1);
    }
    n += 4;
    if (o->behind != NULL) {
        n = add(packet, n, o->behind, o->behind_bytes);
    }
    put(v, packet + (o->in_pieces ? n - 1 : 0), o->in_pieces ? 1 : n);
}

/* Till the client goes, or its patience ends. */
static void hear_only(struct visit *v)
{
    ssize_t n;

    while ((n = recv(v->fd, v->packet, PACKET_MAX, 0)) > 0) {
        v->length = (size_t)n;
        note(v);
    }
}

static bool begin_tls(struct visit *v)
{
    if (v->of->opts.hears_only) {
        hear_only(v);
        return false;
    }
    if (v->of->tls == NULL || v->length != SSL_REQUEST) {
        return true;
    }
    if (v->of->opts.behind != NULL) {
        hf__test_pause_ms(100); /* the client waits, in the handshake */
    }
    v->tls = SSL_new(v->of->tls);
    return v->tls != NULL && SSL_set_fd(v->tls, v->fd) == 1 &&
           SSL_accept(v->tls) == 1 && get_packet(v);
}

static void ask(struct visit *v)
{
    const struct hf__impostor_opts *o = &v->of->opts;
    const char *question = o->question == NULL ? SCRAMBLE : o->question;
    unsigned char packet[PACKET_MAX];
    size_t n = add(packet, 0, "\xfe", 1);

    n = add(packet, n, o->asks_by, strlen(o->asks_by) + 1);
    n = add(packet, n, question, strlen(question) + 1);
    put_packet(v, packet, n);
    if (get_packet(v) && o->then != NULL) {
        put_packet(v, o->then, strlen(o->then));
        (void)get_packet(v);
    }
}

/* It takes whatever the first statement is for a LOAD DATA LOCAL. */
static void want_file(struct visit *v)
{
    unsigned char packet[PACKET_MAX];
    size_t n = add(packet, 0, &(char){LOCAL_FILES}, 1);

    put_packet(v, OK_PACKET, sizeof OK_PACKET - 1);
    if (get_packet(v)) {
        n = add(packet, n, v->of->opts.file, strlen(v->of->opts.file));
        put_packet(v, packet, n);
        (void)get_packet(v);
    }
}

/* What begins a record of TLS, and no more of it. */
static void stop_midway(struct visit *v)
{
    put_packet(v, OK_PACKET, sizeof OK_PACKET - 1);
    if (get_packet(v)) {
        (void)send(v->fd, "\x17\3\3", 3, MSG_NOSIGNAL);
        hear_only(v);
    }
}

static void deny(struct visit *v)
{
    const char *says = v->of->opts.says;
    unsigned char packet[PACKET_MAX];
    size_t n = add(packet, 0, DENIED, sizeof DENIED - 1);

    says = says == NULL ? "Access denied by the impostor" : says;
    n = add(packet, n, says, strlen(says));
    put_packet(v, packet, n);
}

static void talk(struct visit *v)
{
    greet(v);
    if (!get_packet(v) || !begin_tls(v)) {
        return;
    }
    if (v->of->opts.asks_by != NULL) {
        ask(v);
    }
    if (v->of->opts.stops_midway) {
        stop_midway(v);
    } else if (v->of->opts.file != NULL) {
        want_file(v);
    } else {
        deny(v);
    }
}

static void serve(void *arg)
{
    struct hf__impostor *m = arg;
    struct timeval patience = {.tv_sec = 10};
    struct hf__sigpipe blocked;

    hf__sigpipe_block(&blocked); /* OpenSSL writes to who has gone */
    for (;;) {
        struct visit v = {.of = m, .fd = accept(m->listener, NULL, NULL)};

        if (v.fd < 0) {
            hf__sigpipe_restore(&blocked);
            return;
        }
        (void)setsockopt(v.fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                         sizeof patience);
        (void)setsockopt(v.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1},
                         sizeof(int));
        talk(&v);
        SSL_free(v.tls);
        close(v.fd);
    }
}

/* ---- for the test */

static void prepare_tls(struct hf__impostor *m)
{
    m->tls = SSL_CTX_new(TLS_server_method());
    EXPECT(m->tls != NULL);
    EXPECT_IS(
        SSL_CTX_use_certificate_file(m->tls, m->opts.cert, SSL_FILETYPE_PEM),
        1);
    EXPECT_IS(
        SSL_CTX_use_PrivateKey_file(m->tls, m->opts.key, SSL_FILETYPE_PEM), 1);
}

static void listen_at_port(struct hf__impostor *m)
{
    struct sockaddr_in at = hf__servers_at(0);
    socklen_t length = sizeof at;

    m->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(m->listener >= 0);
    EXPECT_IS(bind(m->listener, (struct sockaddr *)&at, sizeof at), 0);
    EXPECT_IS(listen(m->listener, 8), 0);
    EXPECT_IS(getsockname(m->listener, (struct sockaddr *)&at, &length), 0);
    m->port = ntohs(at.sin_port);
}

static void listen_at_path(struct hf__impostor *m)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    snprintf(at.sun_path, sizeof at.sun_path, "%s", m->opts.socket);
    m->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(m->listener >= 0);
    EXPECT_IS(bind(m->listener, (struct sockaddr *)&at, sizeof at), 0);
    EXPECT_IS(listen(m->listener, 8), 0);
}

struct hf__impostor *hf__impostor_start(const struct hf__impostor_opts *opts)
{
    struct hf__impostor *m = calloc(1, sizeof *m);

    EXPECT(m != NULL);
    m->opts = *opts;
    hf__mutex_init(&m->lock);
    if (opts->cert != NULL) {
        prepare_tls(m);
    }
    if (opts->socket != NULL) {
        listen_at_path(m);
    } else {
        listen_at_port(m);
    }
    m->thread = hf__test_start(serve, m);
    return m;
}

void hf__impostor_free(struct hf__impostor *m)
{
    if (m == NULL) {
        return;
    }
    (void)shutdown(m->listener, SHUT_RDWR);
    hf__test_join(m->thread);
    close(m->listener);
    SSL_CTX_free(m->tls);
    hf__mutex_fini(&m->lock);
    free(m);
}

int hf__impostor_port(const struct hf__impostor *m)
{
    return m->port;
}

size_t hf__impostor_heard(struct hf__impostor *m)
{
    HF_SCOPED_LOCK(&m->lock);
    return m->n_heard;
}

bool hf__impostor_has_heard(struct hf__impostor *m, const char *text)
{
    HF_SCOPED_LOCK(&m->lock);
    return memmem(m->heard, m->n_heard, text, strlen(text)) != NULL;
}

int hf__impostor_packets(struct hf__impostor *m)
{
    HF_SCOPED_LOCK(&m->lock);
    return m->n_packets;
}
