/* SPDX-License-Identifier: MIT */
/*
 * A proxy before two servers that have the names between them, and that sends a
 * script where the first of its keys is: whoever asked it for several names by
 * one command would have some of them where nobody else looks. Nothing it says
 * tells what it does; so several go together only at what is surely one server.
 */
#include "tests/store_redis/connect/site.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct passage {
    int listener;
    int ports[2];
    bool has_info; /* INFO goes to the first server, and is not made up */
};

/* ---- the proxy: a thread for each connection */

static void write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = send(fd, bytes, n, MSG_NOSIGNAL);

        if (written <= 0) {
            return; /* who reads will see it */
        }
        bytes += written;
        n -= (size_t)written;
    }
}

/* The next value that comes, passed on to `to` if that is no −1; NULL: no more
 * will. */
static redisReply *next_value(int fd, redisReader *reader, int to)
{
    char bytes[4096];
    void *value = NULL;

    while (redisReaderGetReply(reader, &value) == REDIS_OK && value == NULL) {
        ssize_t n = read(fd, bytes, sizeof bytes);

        if (n <= 0 || redisReaderFeed(reader, bytes, (size_t)n) != REDIS_OK) {
            return NULL;
        }
        if (to >= 0) {
            write_all(to, bytes, (size_t)n);
        }
    }
    return value;
}

static void forward(const redisReply *command, int server, int client)
{
    const char *words[64];
    size_t lengths[64];
    redisReader *reader = redisReaderCreate();
    char *bytes = NULL;
    long long n;

    EXPECT(command->elements <= 64);
    for (size_t i = 0; i < command->elements; i++) {
        words[i] = command->element[i]->str;
        lengths[i] = (size_t)command->element[i]->len;
    }
    n = redisFormatCommandArgv(&bytes, (int)command->elements, words, lengths);
    EXPECT(n > 0);
    write_all(server, bytes, (size_t)n);
    freeReplyObject(next_value(server, reader, client));
    redisFreeCommand(bytes);
    redisReaderFree(reader);
}

static bool is_word(const redisReply *command, const char *word)
{
    return strncasecmp(command->element[0]->str, word, strlen(word)) == 0;
}

/* By what is in the braces. */
static int place_of(const char *key)
{
    const char *name = strchr(key, '{');

    return name == NULL ? 0 : name[1] & 1;
}

static void answer(const struct passage *p, const redisReply *command,
                   const int servers[2], int client)
{
    static const char info[] = "$30\r\n# Proxy\r\nName:PredixyExample\r\n\r\n";
    static const char refusal[] = "-ERR unknown command\r\n";

    if (is_word(command, "INFO") && !p->has_info) {
        write_all(client, info, sizeof info - 1);
    } else if (is_word(command, "ROLE") || is_word(command, "CONFIG") ||
               is_word(command, "CLIENT")) {
        write_all(client, refusal, sizeof refusal - 1);
    } else if (is_word(command, "EVAL")) {
        forward(command, servers[place_of(command->element[3]->str)], client);
    } else {
        forward(command, servers[0], client);
    }
}

static int dial(int port)
{
    struct sockaddr_in to = hf__servers_at(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    EXPECT(fd >= 0);
    EXPECT_IS(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void serve_one(void *arg)
{
    const struct passage *p = arg;
    int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    int servers[2] = {dial(p->ports[0]), dial(p->ports[1])};
    redisReader *reader = redisReaderCreate();
    redisReply *command;

    while ((command = next_value(client, reader, -1)) != NULL) {
        answer(p, command, servers, client);
        freeReplyObject(command);
    }
    redisReaderFree(reader);
    close(servers[0]);
    close(servers[1]);
    close(client);
}

/* ---- who asks it */

enum { NAMES = 4 };

struct asker {
    struct hf__op ops[NAMES];
    hf_error errors[NAMES];
};

static void ask_for(struct door *d, struct asker *a, int from, int n)
{
    static const char *const keys[NAMES] = {"holdfast:a", "holdfast:b",
                                            "holdfast:c", "holdfast:d"};
    static const struct hf__owner owner = {.label = "somebody"};
    struct hf__op *batch[NAMES];

    for (int i = 0; i < n; i++) {
        a->errors[i] = (hf_error)HF_ERROR_INIT;
        a->ops[i] = (struct hf__op){
            .kind = HF__OP_ACQUIRE,
            .key = {keys[from + i], 10, 9},
            .lease_us = 30 * INT64_C(1000000),
            .owner = &owner,
            .err = &a->errors[i],
        };
        memcpy(a->ops[i].token.bytes, &a, sizeof a);
        a->ops[i].token.bytes[sizeof a] = (unsigned char)i;
        batch[i] = &a->ops[i];
    }
    EXPECT_IS(hf__conn_execute(&d->conn, batch, n,
                               hf__after_ms(hf__now(), 10000), &d->error),
              HF_OK);
}

static void expect_one_holder(bool has_info)
{
    AUTO_SERVER *first = hf__redis_start(NULL);
    AUTO_SERVER *second = hf__redis_start(NULL);
    struct passage p = {
        .ports = {hf__redis_port(first), hf__redis_port(second)},
        .has_info = has_info};
    struct hf__test_thread *threads[2];
    struct asker one;
    struct asker other;
    struct door d = {0};
    struct door e = {0};
    int port;

    p.listener = listen_silently(&port);
    threads[0] = hf__test_start(serve_one, &p);
    EXPECT_IS(enter(&d, url_of("redis://127.0.0.1:%d", port)), HF_OK);
    threads[1] = hf__test_start(serve_one, &p);
    EXPECT_IS(enter(&e, url_of("redis://127.0.0.1:%d", port)), HF_OK);
    ask_for(&d, &one, 1, 1);
    EXPECT_IS(one.ops[0].result, HF_OK);
    ask_for(&e, &other, 0, NAMES);
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(other.ops[i].result, i == 1 ? HF_BUSY : HF_OK);
    }
    shut(&d);
    shut(&e);
    hf__test_join(threads[0]);
    hf__test_join(threads[1]);
    close(p.listener);
}

CASE_WITHIN(60, a_proxy_that_goes_by_the_first_key_grants_a_name_once,
            expect_one_holder(false));

/* Such a one lets through what its first server says of itself. */
CASE_WITHIN(60, a_proxy_that_speaks_as_one_of_its_servers_grants_a_name_once,
            expect_one_holder(true));

TEST_WITHIN(60, names_go_together_where_it_is_surely_one_server)
{
    AUTO_SERVER *r = hf__redis_start(NULL);
    struct asker one;
    DOOR(d);

    EXPECT_IS(enter(&d, url_of("redis://%s", at(r))), HF_OK);
    hf__redis_command(r, "CONFIG RESETSTAT");
    ask_for(&d, &one, 0, NAMES);
    EXPECT_HAS(hf__redis_value(r, "cmdstat_evalsha", "INFO commandstats"),
               "calls=1,");
}
