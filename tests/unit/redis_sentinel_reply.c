/* SPDX-License-Identifier: MIT */
/*
 * What a Sentinel says, as it comes over the wire: also half-way through a
 * failover, and what no Sentinel says.
 */
#include "src/backend/redis/peer.h"
#include "tests/lib/test.h"

#include <string.h>

static struct hf__peer peer_of(const char *service)
{
    struct hf__peer p;

    hf__peer_init(&p);
    p.target.service = service;
    return p;
}

/* The status of taking that reply. */
static int take(struct hf__peer *p, int which, const char *wire)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    int r;

    EXPECT(reader != NULL);
    EXPECT_IS(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    EXPECT_IS(redisReaderGetReply(reader, &reply), REDIS_OK);
    EXPECT(reply != NULL);
    p->err = (hf_error)HF_ERROR_INIT;
    r = hf__sentinel_take(p, which, reply);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return r;
}

static void take_master(struct hf__peer *p)
{
    EXPECT_IS(take(p, HF__ASK_MASTER,
                   "*12\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n$4\r\nport\r\n"
                   "$4\r\n6379\r\n$5\r\nflags\r\n$20\r\n"
                   "s_down,o_down,master\r\n$12\r\nconfig-epoch\r\n"
                   "$1\r\n7\r\n$6\r\nquorum\r\n$1\r\n2\r\n"
                   "$19\r\nnum-other-sentinels\r\n$1\r\n4\r\n"),
              HF_OK);
}

TEST(a_primary_that_is_down_is_told_from_one_just_promoted)
{
    struct hf__peer p = peer_of("job");

    take_master(&p);
    EXPECT_IS(p.said.epoch, 7);
    EXPECT_IS(p.said.quorum, 2);
    EXPECT_IS(p.said.others, 4);
    EXPECT_IS(
        take(&p, HF__ASK_ADDRESS, "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6379\r\n"),
        HF_OK);
    EXPECT(p.said.is_down);
    take_master(&p);
    EXPECT_IS(
        take(&p, HF__ASK_ADDRESS, "*2\r\n$8\r\n10.0.0.2\r\n$4\r\n6379\r\n"),
        HF_OK);
    EXPECT(!p.said.is_down);
    EXPECT_TEXT(p.said.host, "10.0.0.2");
    EXPECT_IS(p.said.port, 6379);
    take_master(&p);
    EXPECT_IS(
        take(&p, HF__ASK_ADDRESS, "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6380\r\n"),
        HF_OK);
    EXPECT(!p.said.is_down);
}

TEST(what_no_sentinel_says_is_no_address)
{
    static const char *const wires[] = {"+OK\r\n",
                                        ":7\r\n",
                                        "*1\r\n$1\r\na\r\n",
                                        "*2\r\n:1\r\n:2\r\n",
                                        "*2\r\n$1\r\na\r\n$5\r\n65536\r\n",
                                        "*2\r\n$1\r\na\r\n$1\r\n0\r\n",
                                        "*2\r\n$0\r\n\r\n$4\r\n6379\r\n",
                                        "*2\r\n*0\r\n$4\r\n6379\r\n"};
    struct hf__peer p = peer_of("job");

    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        EXPECT_IS(take(&p, HF__ASK_ADDRESS, wires[i]), HF_EPROTO);
        EXPECT_IS(p.said.port, 0);
    }
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        EXPECT_IS(take(&p, HF__ASK_MASTER, wires[i]), HF_OK);
        EXPECT_IS(p.said.epoch + p.said.quorum + p.said.others, 0);
        EXPECT_IS(take(&p, HF__ASK_NAMES, wires[i]), HF_EINVAL);
    }
    /* "None" is what it says of a service that it does not know. */
    EXPECT_IS(take(&p, HF__ASK_ADDRESS, "*-1\r\n"), HF_OK);
    EXPECT_IS(p.said.port, 0);
}

TEST(what_a_sentinel_refuses_has_a_remedy)
{
    struct hf__peer p = peer_of("job");

    EXPECT_IS(
        take(&p, HF__ASK_MASTER, "-ERR No such master with that name\r\n"),
        HF_BUSY);
    EXPECT_IS(
        take(&p, HF__ASK_NAMES, "*1\r\n*2\r\n$4\r\nname\r\n$4\r\nmain\r\n"),
        HF_EINVAL);
    EXPECT_HAS(p.err.text, "no service \"job\", but \"main\"");
    EXPECT_IS(take(&p, HF__ASK_NAMES, "*0\r\n"), HF_EINVAL);
    EXPECT_HAS(p.err.text, "none at all");
    EXPECT_IS(take(&p, HF__ASK_MASTER, "-ERR unknown command 'SENTINEL'\r\n"),
              HF_EINVAL);
    EXPECT_IS(take(&p, HF__ASK_MASTER, "-NOAUTH Authentication required.\r\n"),
              HF_EAUTH);
    EXPECT_HAS(p.err.text, "sentinel_password_file=");
    EXPECT_IS(take(&p, HF__ASK_MASTER, "-NOPERM no\r\n"), HF_EAUTH);
}
