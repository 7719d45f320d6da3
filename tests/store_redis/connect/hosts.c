/* SPDX-License-Identifier: MIT */
/*
 * Which server a URL means: several hosts, or addresses, of which some are dead
 * or silent; a unix socket; options that contradict each other; one that is no
 * Redis.
 */
#include "tests/store_redis/connect/site.h"

#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TEST(a_dead_host_is_told_at_once_and_passed_by)
{
    AUTO_SERVER *r = hf__redis_start(NULL);
    int port = hf__servers_take_port();
    int64_t start;

    expect_refused(url_of("redis://127.0.0.1:%d", port), HF_EUNAVAIL,
                   "Connection refused");
    has_been_a_replica(r);
    start = hf__test_now_ms();
    expect_open(url_of("redis://127.0.0.1:%d,%s", port, at(r)));
    EXPECT_SOON(hf__test_now_ms() - start, 2000);
    expect_refused(url_of("redis://no-such-host.invalid?"), HF_EUNAVAIL,
                   "no-such-host.invalid");
}

TEST(a_silent_host_costs_its_share)
{
    AUTO_SERVER *r = hf__redis_start(NULL);
    DOOR(d);
    int port = 0;
    int fd = listen_silently(&port);
    int64_t start;

    has_been_a_replica(r);
    start = hf__test_now_ms();
    EXPECT_IS(
        enter_within(&d, url_of("redis://127.0.0.1:%d,%s", port, at(r)), 3000),
        HF_OK);
    EXPECT_MORE(hf__test_now_ms() - start, 1400);
    EXPECT_SOON(hf__test_now_ms() - start, 2900);
    close(fd);
}

/* A resolver that knows one name more, which has two addresses. */
int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **ret_list)
{
    static int (*real)(const char *, const char *, const struct addrinfo *,
                       struct addrinfo **);
    int error;

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    }
    if (strcmp(node, "two.test") != 0) {
        return real(node, service, hints, ret_list);
    }
    error = real("127.0.0.2", service, hints, ret_list);
    return error != 0
               ? error
               : real("127.0.0.1", service, hints, &(*ret_list)->ai_next);
}

TEST(each_address_of_a_name_is_tried)
{
    int port = hf__redis_port(hf__redis_shared());

    expect_refused(url_of("redis://127.0.0.2:%d", port), HF_EUNAVAIL,
                   "Connection refused");
    expect_open(url_of("redis://two.test:%d", port));
}

TEST(a_unix_socket)
{
    const char *path = hf__redis_socket(hf__redis_shared());

    expect_open(url_of("redis:///?socket=%s", path));
    expect_open(url_of("redis:///3?socket=%s", path));
    expect_open(url_of("redis://localhost/3?socket=%s", path));
    expect_refused(url_of("redis:///?socket=%s.none", path), HF_EUNAVAIL,
                   ".none");
    expect_refused(url_of("redis:///?socket=relative"), HF_EINVAL, "relative");
    expect_refused(url_of("redis://db1/?socket=%s", path), HF_EINVAL, "db1");
    expect_refused(url_of("redis:///?socket=%s&tls=require", path), HF_EINVAL,
                   "TLS");
    expect_refused(url_of("rediss:///?socket=%s", path), HF_EINVAL, "TLS");
    expect_refused(url_of("fault+rediss:///?socket=%s", path), HF_EINVAL,
                   "TLS");
}

TEST(what_a_url_may_not_say)
{
    expect_refused("redis:///0", HF_EINVAL, "names no server");
    expect_refused("redis://h/0?tls=maybe", HF_EINVAL, "maybe");
    expect_refused("rediss://h/0?tls=off", HF_EINVAL, "redis:");
    expect_refused("redis://h/0?tls=off&ca=/etc/hostname", HF_EINVAL, "ca");
    expect_refused("redis://h/0?cert=/etc/hostname", HF_EINVAL, "both");
    expect_refused("rediss://h/0?ca=/nowhere/ca.pem", HF_EAUTH,
                   "/nowhere/ca.pem");
    expect_refused("redis://h/0?password_file=/nowhere/pw", HF_EAUTH,
                   "/nowhere/pw");
}

/* Answers each connection with the words, and closes it after a while. */
struct stranger {
    int fd;
    const char *words;
};

static void answer(void *arg)
{
    const struct stranger *s = arg;
    char heard[4096];
    int fd = accept(s->fd, NULL, NULL);

    EXPECT(recv(fd, heard, sizeof heard, 0) > 0);
    EXPECT(send(fd, s->words, strlen(s->words), MSG_NOSIGNAL) > 0);
    while (recv(fd, heard, sizeof heard, 0) > 0) {
    }
    close(fd);
}

static void expect_stranger(const char *words, int status, const char *told)
{
    int port = 0;
    struct stranger s = {listen_silently(&port), words};
    struct hf__test_thread *thread = hf__test_start(answer, &s);

    expect_refused(url_of("redis://127.0.0.1:%d", port), status, told);
    hf__test_join(thread);
    close(s.fd);
}

/* Whatever a server says to AUTH, in whichever words. */
TEST(a_password_that_a_server_repeats_is_not_told)
{
    static const char *const words[] = {
        "-ERR unknown command 'AUTH', with args beginning with: 'u' "
        "'s3cretpw' \r\n",
        "-ERR unknown command `AUTH`, with args beginning with: `u`, "
        "`s3cretpw`, \r\n",
        "-ERR what does AUTH u s3cretpw mean\r\n",
        "-WRONGPASS u has not s3cretpw\r\n"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int port = 0;
        struct stranger s = {listen_silently(&port), words[i]};
        struct hf__test_thread *thread = hf__test_start(answer, &s);
        DOOR(d);

        EXPECT(enter(&d, url_of("redis://u:s3cretpw@127.0.0.1:%d", port)) < 0);
        EXPECT_HAS(d.error.text, "AUTH: the server ");
        EXPECT(strstr(d.error.text, "s3cret") == NULL);
        EXPECT(strstr(d.error.text, "tpw") == NULL);
        hf__test_join(thread);
        close(s.fd);
    }
}

TEST(what_is_no_redis_is_told)
{
    expect_stranger("HTTP/1.1 400 Bad Request\r\n\r\n", HF_EPROTO,
                    "does not speak as Redis");
    expect_stranger("+OK\r\n", HF_EPROTO, "no Redis");
    expect_stranger("*2147483647\r\n", HF_ENOMEM, "memory");
    expect_stranger("-DENIED Redis is running in protected mode\r\n", HF_EAUTH,
                    "protected-mode");
    expect_stranger("-ERR unknown command 'INFO'\r\n", HF_EPROTO, "renamed");
}
