/* SPDX-License-Identifier: MIT */
/*
 * What is said of a cell by something that is no server, or has other scripts:
 * nothing of it is believed that no script of ours says, and no more is read
 * than there is.
 */
#include "src/backend/redis/ask.h"
#include "tests/lib/test.h"

#include <string.h>

#define WRITER "$32\r\n0101000000000000000000000000000a\r\n"
#define OK     "*4\r\n$2\r\nok\r\n"

static unsigned char value[HF__CELL_MAX];
static struct hf__cell_op op;
static struct hf__answer answer;

static void read_bytes(enum hf__cell_do what, const char *bytes, size_t length)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    EXPECT_IS(redisReaderFeed(reader, bytes, length), REDIS_OK);
    EXPECT_IS(redisReaderGetReply(reader, &reply), REDIS_OK);
    EXPECT(reply != NULL);
    op = (struct hf__cell_op){
        .what = what, .key = {"holdfast=stock", 14, 9}, .value = value};
    answer = (struct hf__answer){0};
    hf__answer_cell(reply, &op, &answer);
    freeReplyObject(reply);
    redisReaderFree(reader);
}

static int reading(enum hf__cell_do what, const char *reply)
{
    read_bytes(what, reply, strlen(reply));
    return op.result;
}

TEST(what_our_script_says_is_believed)
{
    EXPECT_IS(reading(HF__CELL_GET, OK ":7\r\n" WRITER "$2\r\nab\r\n"), HF_OK);
    EXPECT_IS(op.state.version, 7);
    EXPECT_IS(op.state.length, 2);
    EXPECT_IS(op.state.writer.bytes[15], 10);
    EXPECT_IS(memcmp(value, "ab", 2), 0);
    EXPECT_IS(reading(HF__CELL_GET, OK ":7\r\n" WRITER "$-1\r\n"), HF_OK);
    EXPECT(!op.state.has_value);
    EXPECT_IS(reading(HF__CELL_GET, OK ":0\r\n$0\r\n\r\n$-1\r\n"), HF_OK);
    EXPECT_IS(op.state.version, 0);
    EXPECT_IS(reading(HF__CELL_PUT, OK ":7\r\n" WRITER ":65536\r\n"), HF_OK);
    EXPECT_IS(op.state.length, 65536);
    EXPECT_IS(reading(HF__CELL_DELETE, "*4\r\n$8\r\nconflict\r\n:0\r\n"
                                       "$0\r\n\r\n$-1\r\n"),
              HF_CONFLICT);
}

TEST(what_no_script_of_ours_says_is_not_believed)
{
    static const struct {
        enum hf__cell_do what;
        const char *reply;
    } lies[] = {
        {HF__CELL_GET, ":7\r\n"},
        {HF__CELL_GET, "$-1\r\n"},
        {HF__CELL_GET, "*0\r\n"},
        {HF__CELL_GET, "*1\r\n$2\r\nok\r\n"},
        {HF__CELL_GET, "*2\r\n$2\r\nok\r\n:7\r\n"},
        {HF__CELL_GET, "*4\r\n$3\r\nyes\r\n:7\r\n" WRITER "$-1\r\n"},
        {HF__CELL_GET, "*4\r\n$8\r\nconflict\r\n:7\r\n" WRITER "$-1\r\n"},
        {HF__CELL_GET, OK ":7\r\n" WRITER ":2\r\n"},
        {HF__CELL_GET, OK ":7\r\n" WRITER "*0\r\n"},
        {HF__CELL_GET, OK ":7\r\n$2\r\n01\r\n$-1\r\n"},
        {HF__CELL_GET, OK ":7\r\n$-1\r\n$-1\r\n"},
        {HF__CELL_GET, OK ":-7\r\n" WRITER "$-1\r\n"},
        {HF__CELL_GET, OK ":9007199254740992\r\n" WRITER "$-1\r\n"},
        {HF__CELL_GET, OK "$1\r\nx\r\n$0\r\n\r\n$1\r\nx\r\n"},
        {HF__CELL_PUT, OK ":7\r\n" WRITER ":-1\r\n"},
        {HF__CELL_PUT, OK ":7\r\n" WRITER ":65537\r\n"},
        {HF__CELL_PUT, OK ":0\r\n$0\r\n\r\n$-1\r\n"},
        {HF__CELL_PUT, "*4\r\n$4\r\nbusy\r\n:7\r\n" WRITER ":2\r\n"},
    };

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        if (reading(lies[i].what, lies[i].reply) != HF_EPROTO) {
            printf("%zu\n", i);
            EXPECT_IS(op.result, HF_EPROTO);
        }
    }
}

TEST(a_value_that_is_longer_than_its_place_is_not_copied)
{
    static const char head[] = OK ":7\r\n" WRITER "$65537\r\n";
    static char bytes[sizeof head + HF__CELL_MAX + 3];

    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, head, sizeof head - 1);
    bytes[sizeof bytes - 2] = '\r';
    bytes[sizeof bytes - 1] = '\n';
    read_bytes(HF__CELL_GET, bytes, sizeof bytes);
    EXPECT_IS(op.result, HF_EPROTO);
}
