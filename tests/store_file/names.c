/* SPDX-License-Identifier: MIT */
/*
 * What locks' files are called: readable where that is safe, and no two keys
 * in one file.
 */
#include "src/backend/file/lockfile.h"
#include "src/base/rand.h"
#include "tests/store_file/files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *named(const char *bytes, size_t length)
{
    static char name[HF__FILE_NAME_SIZE];

    hf__file_name(&(struct hf__key){bytes, (uint16_t)length, 0}, name);
    return name;
}

static void expect_name(const char *key, const char *name)
{
    EXPECT_TEXT(named(key, strlen(key)), name);
}

TEST(plain_names_are_readable)
{
    expect_name("holdfast:backup", "holdfast:backup");
    expect_name("holdfast:db-2.daily_x@h=1,2", "holdfast:db-2.daily_x@h=1,2");
}

TEST(other_bytes_are_spelled_out)
{
    expect_name("p:a/b", "p:a%2fb");
    expect_name("p:Job", "p:+job");
    expect_name("p:+%", "p:%2b%25");
    expect_name("p:..", "p:..");
    expect_name("..", "%2e.");
    expect_name(".holdfast", "%2eholdfast");
    expect_name("p:\xc3\xa9\n \"'", "p:%c3%a9%0a%20%22%27");
}

/* Keys that differ in one byte, in case, or beyond what fits into a name. */
TEST(no_two_keys_have_one_name)
{
    static const char alphabet[] = "aA+%/.:b2\xc3";
    static char names[4000][HF__FILE_NAME_SIZE];
    static char keys[4000][HF__KEY_MAX];
    static size_t lengths[4000];
    int j;

    for (int i = 0; i < 4000; i++) {
        lengths[i] = (size_t)hf__random_between(1, i % 2 ? 4 : HF__KEY_MAX);
        for (size_t k = 0; k < lengths[i]; k++) {
            bool is_odd = i % 2 || k + 3 > lengths[i];

            keys[i][k] = 'x';
            if (is_odd) {
                keys[i][k] = alphabet[hf__random_between(0, 9)];
            }
        }
        (void)snprintf(names[i], sizeof names[i], "%s",
                       named(keys[i], lengths[i]));
        EXPECT(names[i][0] != '.' && !strchr(names[i], '/'));
        EXPECT(strlen(names[i]) > 0 && strlen(names[i]) <= 200);
        for (j = 0; j < i; j++) {
            bool is_same = lengths[i] == lengths[j] &&
                           memcmp(keys[i], keys[j], lengths[i]) == 0;

            /* Not even where the file system folds case. */
            EXPECT_IS(strcasecmp(names[i], names[j]) == 0, is_same);
        }
    }
}

TEST(a_lock_has_one_file)
{
    PEER(me);
    struct stat st;

    EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    EXPECT_IS(stat(file_of(JOB), &st), 0);
    EXPECT_IS(st.st_size, HF__FILE_SIZE);
    EXPECT_IS(st.st_mode & 07777, 0600);
    EXPECT_IS(release(&me, "job"), HF_OK);
    EXPECT_IS(stat(file_of(JOB), &st), 0);
}

TEST(looking_makes_no_files)
{
    PEER(me);
    struct stat st;
    struct timespec before;
    bool fired;

    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT_IS(renew(&me, "job", 1000), HF_LOST);
    EXPECT_IS(release(&me, "job"), HF_LOST);
    EXPECT_IS(stat(file_of(JOB), &st), -1);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(stat(file_of(JOB), &st), 0);
    before = st.st_ctim;
    hf__test_pause_ms(20);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT_IS(wait_for(&me, "job", 50, &fired), HF_OK);
    begin_anew(&me);
    EXPECT_IS(acquire(&me, "job", 60000), HF_BUSY);
    EXPECT_IS(stat(file_of(JOB), &st), 0);
    EXPECT_IS(st.st_ctim.tv_sec, before.tv_sec);
    EXPECT_IS(st.st_ctim.tv_nsec, before.tv_nsec);
}

struct seen {
    char last[HF_NAME_MAX + 1];
    int n;
};

static int note_order(void *arg, const char *name, size_t length,
                      const struct hf__record *record)
{
    struct seen *seen = arg;

    (void)record;
    EXPECT_MORE(strncmp(name, seen->last, length), 0);
    memcpy(seen->last, name, length);
    seen->last[length] = '\0';
    seen->n++;
    return 0;
}

/* Files are in another order than the names of their locks. */
TEST(a_long_list_is_in_the_order_of_names)
{
    enum { NAMES = 2500 };
    const struct hf__key prefix = {"test:", 5, 5};
    struct seen seen = {"", 0};
    PEER(me);

    for (int i = 0; i < NAMES; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%c%d", i % 2 == 0 ? '0' : 'A',
                       10000 + i);
        EXPECT_IS(acquire(&me, name, 600000), HF_OK);
        begin_anew(&me);
    }
    EXPECT_IS(hf__conn_list(&me.conn, &prefix, note_order, &seen,
                            hf__after_ms(hf__now(), 20000), &me.error),
              HF_OK);
    EXPECT_IS(seen.n, NAMES);
}

/* What was cut short is not all there is. */
TEST(without_time_a_list_fails)
{
    const struct hf__key prefix = {"test:", 5, 5};
    struct hf__gc gc = {.idle_us = 0};
    struct seen seen = {"", 0};
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_IS(me.conn.backend->list(me.conn.state, &prefix, note_order, &seen,
                                    hf__now(), &me.error),
              HF_EUNAVAIL);
    EXPECT_IS(
        me.conn.backend->gc(me.conn.state, &prefix, &gc, hf__now(), &me.error),
        HF_EUNAVAIL);
}
