/* SPDX-License-Identifier: MIT */
/*
 * Bytes out and in: commands as the protocol has them, replies that come in
 * pieces, and more of them than a socket takes at once.
 */
#include "src/backend/redis/peer.h"
#include "src/base/alloc.h"
#include "tests/store_redis/connect/site.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection whose other end is the test's. */
static void connect_pair(struct hf__resp *c, int *ret_other)
{
    int pair[2];

    EXPECT_IS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                         pair),
              0);
    hf__resp_init(c);
    EXPECT_IS(hf__resp_attach(c, pair[0]), HF_OK);
    *ret_other = pair[1];
}

static void say(int fd, const char *words)
{
    EXPECT_IS(write(fd, words, strlen(words)), strlen(words));
}

TEST(a_command_is_an_array_of_strings)
{
    static const char expected[] = "*5\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$3\r\n"
                                   "-42\r\n$32\r\n"
                                   "00ff0000000000000000000000000000\r\n"
                                   "$0\r\n\r\n";
    struct hf__token token = {{0, 255}};
    struct hf__bytes b = {0};
    struct hf__args a;

    hf__args_begin(&a, "SET");
    hf__args_bytes(&a, "a\0b", 3);
    hf__args_number(&a, -42);
    hf__args_token(&a, &token);
    hf__args_word(&a, "");
    hf__bytes_add(&b, &a);
    EXPECT(!b.is_broken);
    EXPECT_IS(b.commands, 1);
    EXPECT_IS(b.length, sizeof expected - 1);
    EXPECT_IS(memcmp(b.at, expected, b.length), 0);
    hf__bytes_fini(&b);
}

/* A password was in it: nothing is left where it was. */
TEST(what_was_moved_to_a_larger_room_is_wiped)
{
    static char secret[1024];
    static char seen[4096];
    struct hf__bytes b = {0};
    struct hf__args a;
    size_t room;
    off_t place;
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

    EXPECT(memory >= 0);
    /* MALLOC_PERTURB_ would wipe it for us. */
    (void)mallopt(M_PERTURB, 0); /* a sanitizer has none */
    memset(secret, 'S', sizeof secret);
    hf__args_begin(&a, "AUTH");
    hf__args_bytes(&a, secret, sizeof secret);
    hf__bytes_add(&b, &a);
    place = (off_t)(uintptr_t)b.at;
    room = b.room;
    EXPECT(room <= sizeof seen);
    /* What comes behind it is taken: it can't grow where it is. */
    HF_AUTO(hf__free_auto) char *neighbour = hf__alloc(room);
    EXPECT(neighbour != NULL);
    hf__args_begin(&a, "INFO");
    while (b.room == room) {
        hf__bytes_add(&b, &a);
    }
    EXPECT(memmem(b.at, b.length, secret, sizeof secret) != NULL);
    EXPECT(place != (off_t)(uintptr_t)b.at);
    EXPECT_IS(pread(memory, seen, room, place), room);
    EXPECT(memmem(seen, room, secret, 16) == NULL);
    hf__bytes_fini(&b);
    close(memory);
}

TEST(replies_come_in_pieces)
{
    struct hf__resp c;
    redisReply *reply = NULL;
    int other;

    connect_pair(&c, &other);
    for (const char *at_byte = "*2\r\n:7\r\n$3\r\nabc\r\n"; *at_byte != '\0';
         at_byte++) {
        EXPECT_IS(hf__resp_next(&c, &reply), HF_OK);
        EXPECT(reply == NULL);
        EXPECT_IS(write(other, at_byte, 1), 1);
        EXPECT_IS(hf__resp_fill(&c), HF_OK);
    }
    EXPECT_IS(hf__resp_next(&c, &reply), HF_OK);
    EXPECT(reply != NULL);
    EXPECT_IS(reply->elements, 2);
    EXPECT_IS(reply->element[0]->integer, 7);
    EXPECT_TEXT(reply->element[1]->str, "abc");
    freeReplyObject(reply);
    /* What came before it ended can be taken. */
    say(other, "+OK\r\n+OK\r\n");
    close(other);
    (void)hf__resp_fill(&c);
    EXPECT_IS(hf__resp_next(&c, &reply), HF_OK);
    EXPECT(reply != NULL);
    freeReplyObject(reply);
    EXPECT_IS(hf__resp_fill(&c), HF_EUNAVAIL);
    EXPECT(c.is_dead);
    EXPECT_IS(hf__resp_next(&c, &reply), HF_OK);
    EXPECT(reply != NULL);
    freeReplyObject(reply);
    hf__resp_fini(&c);
}

TEST(more_than_the_socket_takes_waits)
{
    struct hf__resp c;
    char sink[65536];
    struct hf__args a;
    char big[4000];
    size_t heard = 0;
    size_t total;
    int other;

    connect_pair(&c, &other);
    memset(big, 'x', sizeof big);
    hf__args_begin(&a, "ECHO");
    hf__args_bytes(&a, big, sizeof big);
    for (int i = 0; i < 300; i++) {
        hf__bytes_add(&c.out, &a);
    }
    EXPECT_IS(hf__resp_queue(&c), HF_OK);
    EXPECT_IS(c.owed, 300);
    total = c.out.length;
    EXPECT_IS(hf__resp_flush(&c), HF_OK);
    EXPECT(c.has_sent);
    EXPECT(c.sent < total);
    while (heard < total) {
        ssize_t n = read(other, sink, sizeof sink);

        heard += n > 0 ? (size_t)n : 0;
        EXPECT_IS(hf__resp_flush(&c), HF_OK);
    }
    EXPECT_IS(heard, total);
    EXPECT_IS(c.out.length, 0);
    hf__resp_fini(&c);
    close(other);
}

TEST(what_no_reply_of_ours_has_is_not_believed)
{
    static const char *const claims[] = {"*9999999\r\n", "?\r\n",
                                         "$-7\r\n*-9\r\n"};
    redisReply *reply = NULL;
    struct hf__resp c;
    int other;

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        int r;

        connect_pair(&c, &other);
        say(other, claims[i]);
        EXPECT_IS(hf__resp_fill(&c), HF_OK);
        r = hf__resp_next(&c, &reply);
        EXPECT(r == HF_EPROTO || r == HF_ENOMEM);
        EXPECT(c.is_dead);
        hf__resp_fini(&c);
        close(other);
    }
}
