/* SPDX-License-Identifier: MIT */
/*
 * Servers that are none, or that somebody pretends to be: what they ask of a
 * client, in whatever pieces, and what it tells them.
 */
#include "tests/store_postgres/site.h"

#include "src/base/thread.h"
#include "tests/servers/servers.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET      "knock-thrice"
#define BYTES(text) (text), sizeof(text) - 1
/* What a server asks: all is well; the password as it is; a proof by MD5, by
 * SCRAM; Kerberos. */
#define WELL  "R\0\0\0\x08\0\0\0\0"
#define CLEAR "R\0\0\0\x08\0\0\0\3"
#define MD5   "R\0\0\0\x0c\0\0\0\5salt"
#define SCRAM "R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"
#define GSS   "R\0\0\0\x08\0\0\0\7"
/* Of a server that has let a client in: its version, and that it is ready; and
 * what it may say whenever it likes. */
#define VERSION                                                                \
    "S\0\0\0\x18server_version\0"                                              \
    "15.1\0"
#define READY  "Z\0\0\0\5I"
#define NOTICE "N\0\0\0\x14SNOTICE\0C00000\0\0"

struct impostor {
    const char *says;
    size_t length;
    size_t piece;     /* so many bytes at once; 0: all */
    const char *then; /* what it says to the answer; NULL: nothing */
    size_t then_length;
    bool is_talkative; /* it says notices as long as somebody hears them */
    int listener;
    int port;
    struct hf__test_thread *thread;
    unsigned char heard[4096];
    size_t n_heard;
};

/* What the client says; false: it has gone. */
static bool hear(struct impostor *m, int fd)
{
    ssize_t n =
        recv(fd, m->heard + m->n_heard, sizeof m->heard - m->n_heard, 0);

    m->n_heard += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* So much at once that there is always more to be read. */
static void talk(int fd)
{
    static char many[1000 * (sizeof NOTICE - 1)];

    for (size_t at = 0; at < sizeof many; at += sizeof NOTICE - 1) {
        memcpy(many + at, NOTICE, sizeof NOTICE - 1);
    }
    while (send(fd, many, sizeof many, MSG_NOSIGNAL) == sizeof many) {
    }
}

static void visit(struct impostor *m, int fd)
{
    unsigned char request[8];
    size_t piece = m->piece == 0 ? m->length : m->piece;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    /* A request for TLS, which there is not; then the client's first words. */
    if (recv(fd, request, sizeof request, MSG_WAITALL) != sizeof request) {
        return;
    }
    (void)send(fd, "N", 1, MSG_NOSIGNAL);
    m->n_heard = 0;
    if (!hear(m, fd)) {
        return;
    }
    for (size_t at = 0; at < m->length; at += piece) {
        size_t left = m->length - at;

        (void)send(fd, m->says + at, left < piece ? left : piece, MSG_NOSIGNAL);
        hf__test_pause_ms(m->piece == 0 ? 0 : 1);
    }
    if (m->then != NULL && hear(m, fd)) {
        (void)send(fd, m->then, m->then_length, MSG_NOSIGNAL);
    }
    if (m->is_talkative) {
        talk(fd);
    }
    while (hear(m, fd)) {
    }
}

static void serve(void *arg)
{
    struct impostor *m = arg;
    int fd;

    while ((fd = accept(m->listener, NULL, NULL)) >= 0) {
        visit(m, fd);
        close(fd);
    }
}

static void begin(struct impostor *m)
{
    struct sockaddr_in at = hf__servers_at(0);
    socklen_t length = sizeof at;

    m->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(m->listener >= 0);
    EXPECT_IS(bind(m->listener, (struct sockaddr *)&at, sizeof at), 0);
    EXPECT_IS(listen(m->listener, 8), 0);
    EXPECT_IS(getsockname(m->listener, (struct sockaddr *)&at, &length), 0);
    m->port = ntohs(at.sin_port);
    m->thread = hf__test_start(serve, m);
}

static void end(struct impostor *m)
{
    (void)shutdown(m->listener, SHUT_RDWR);
    hf__test_join(m->thread);
    close(m->listener);
}

/* It is refused with that status and these words, and has told nobody. */
static void expect_refusal_of(struct impostor m, int status, const char *words)
{
    char url[128];

    begin(&m);
    snprintf(url, sizeof url, "postgres://who:" SECRET "@127.0.0.1:%d/db",
             m.port);
    expect_refused(url, status, words);
    end(&m);
    EXPECT_SAFE(memmem(m.heard, m.n_heard, BYTES(SECRET)) == NULL);
    EXPECT(memmem(m.heard, m.n_heard, BYTES("who")) != NULL);
}

static void expect_not_told(const char *says, size_t length, size_t piece,
                            int status, const char *words)
{
    expect_refusal_of(
        (struct impostor){.says = says, .length = length, .piece = piece},
        status, words);
}

TEST(who_asks_for_the_password_as_it_is_is_not_told)
{
    expect_not_told(BYTES(CLEAR), 0, HF_EUNSAFE, "the password as it is");
    expect_not_told(BYTES(CLEAR), 1, HF_EUNSAFE, "the password as it is");
}

TEST(who_asks_for_it_behind_a_proof_is_not_told)
{
    expect_not_told(BYTES(SCRAM CLEAR), 0, HF_EUNSAFE, "the password as it is");
    expect_not_told(BYTES(MD5 CLEAR), 0, HF_EUNSAFE, "the password as it is");
    expect_not_told(BYTES(WELL CLEAR), 0, HF_EUNSAFE, "the password as it is");
    expect_not_told(BYTES(MD5 MD5 CLEAR), 0, HF_EPROTO, "lets a client in");
}

TEST(who_asks_for_it_after_a_proof_is_not_told)
{
    expect_refusal_of((struct impostor){.says = MD5,
                                        .length = sizeof MD5 - 1,
                                        .then = CLEAR,
                                        .then_length = sizeof CLEAR - 1},
                      HF_EUNSAFE, "the password as it is");
    expect_refusal_of((struct impostor){.says = SCRAM,
                                        .length = sizeof SCRAM - 1,
                                        .then = CLEAR,
                                        .then_length = sizeof CLEAR - 1},
                      HF_EUNSAFE, "the password as it is");
}

TEST(who_asks_for_what_is_not_supported_is_told_nothing)
{
    expect_not_told(BYTES(GSS), 0, HF_EAUTH, "Kerberos");
    expect_not_told(BYTES(GSS), 2, HF_EAUTH, "Kerberos");
}

TEST(what_is_no_server_is_told_nothing)
{
    expect_not_told(BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), 0, HF_EPROTO,
                    "is the port right?");
    expect_not_told(BYTES("R\0\0\0\3\0\0\0\3"), 0, HF_EPROTO,
                    "is the port right?");
    expect_not_told(BYTES("R\x7f\0\0\3\0\0\0\3"), 0, HF_EPROTO,
                    "is the port right?");
}

/* What the server says for itself is told, with its status. */
TEST(a_refusal_at_the_door_is_told)
{
    expect_not_told(
        BYTES("E\0\0\0\x2bSFATAL\0VFATAL\0C53300\0Mtoo many of you\0\0"), 0,
        HF_EUNAVAIL, "too many of you (raise max_connections)");
    expect_not_told(
        BYTES("E\0\0\0\x2bSFATAL\0VFATAL\0C53300\0Mtoo many of you\0\0"), 3,
        HF_EUNAVAIL, "too many of you (raise max_connections)");
}

static void expect_to_leave_in_time(struct impostor m)
{
    int64_t start = hf__test_now_ms();
    char url[128];
    DOOR(d);

    begin(&m);
    snprintf(url, sizeof url, "postgres://who:" SECRET "@127.0.0.1:%d/db",
             m.port);
    EXPECT_IS(enter_within(&d, url, 300), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "did not answer in time");
    EXPECT_SOON(hf__test_now_ms() - start, 3000);
    shut(&d);
    end(&m);
}

TEST(who_is_silent_is_left_in_time)
{
    expect_to_leave_in_time((struct impostor){.says = "R\0\0", .length = 3});
}

TEST(who_talks_without_an_answer_is_left_in_time)
{
    expect_to_leave_in_time(
        (struct impostor){.says = WELL VERSION READY,
                          .length = sizeof(WELL VERSION READY) - 1,
                          .is_talkative = true});
}
