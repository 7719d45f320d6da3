/* SPDX-License-Identifier: MIT */
/*
 * The store of this program, and its files.
 */
#include "tests/store_file/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const store_scheme = "file";
const char *const store_side = "/.holdfast";
const bool store_has_one_writer = false;

const char *file_of(const char *name)
{
    static char texts[4][700];
    static unsigned turn;
    char *text = texts[turn++ % 4];

    (void)snprintf(text, sizeof texts[0], "%s/%s", path_of(""), name);
    return text;
}

void read_slots(const char *path, struct hf__file_slots *ret_slots)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    EXPECT(fd >= 0);
    EXPECT_IS(read(fd, ret_slots, sizeof *ret_slots), sizeof *ret_slots);
    (void)close(fd);
}

void write_bytes(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    EXPECT(fd >= 0);
    EXPECT_IS(write(fd, bytes, length), length);
    (void)close(fd);
}

void cut_side_file(void)
{
    const char *path = file_of(".holdfast");
    struct stat st;

    EXPECT_IS(stat(path, &st), 0);
    EXPECT_IS(truncate(path, st.st_size / 2), 0);
}

int break_it(struct peer *p, const char *name, uint64_t fence)
{
    struct hf__owner owner = {.label = "operator"};
    char key[HF__KEY_MAX + 1];
    struct hf__op op = {.kind = HF__OP_BREAK,
                        .owner = &owner,
                        .fence = fence,
                        .ret_record = &p->record,
                        .err = &p->error};
    struct hf__op *ops[] = {&op};

    (void)snprintf(key, sizeof key, "test:%s", name);
    op.key = (struct hf__key){key, (uint16_t)strlen(key), 5};
    EXPECT_IS(hf__conn_execute(&p->conn, ops, 1, hf__after_ms(hf__now(), 5000),
                               &p->error),
              HF_OK);
    p->fence = op.fence;
    return op.result;
}
