/* SPDX-License-Identifier: MIT */
/*
 * Where a password comes from: which place goes first, and what counts as
 * none. Nothing is asked of a store.
 */
#include "src/base/secret.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_with(const char *text, mode_t mode)
{
    static char path[300];
    int fd;

    snprintf(path, sizeof path, "%s/password", hf__test_folder());
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_MORE(fd, -1);
    EXPECT_IS(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    EXPECT_IS(fchmod(fd, mode), 0);
    EXPECT_IS(close(fd), 0);
    return path;
}

/* The password of a URL without one; "-" if there is none. */
static const char *found(void)
{
    static struct hf__secret secret;
    struct hf__url *url = NULL;

    EXPECT_IS(hf__url_parse("mysql://u@h/d", &url, NULL), HF_OK);
    EXPECT_IS(hf__secret_read(url, &secret, NULL), HF_OK);
    hf__url_free(url);
    return secret.is_given ? secret.text : "-";
}

static void begin(const char *word, const char *file)
{
    EXPECT_IS(setenv("HOLDFAST_PASSWORD", word, 1), 0);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD_FILE", file, 1), 0);
}

TEST(an_empty_variable_is_none)
{
    begin("", "");
    EXPECT_TEXT(found(), "-");
    begin("", file_with("filed\n", 0600));
    EXPECT_TEXT(found(), "filed");
    begin("said", "");
    EXPECT_TEXT(found(), "said");
}

TEST(a_group_may_read_the_file_and_others_may_not)
{
    struct hf__secret secret;
    struct hf__url *url = NULL;

    begin("", file_with("filed\n", 0640));
    EXPECT_TEXT(found(), "filed");
    file_with("filed\n", 0604);
    EXPECT_IS(hf__url_parse("mysql://u@h/d", &url, NULL), HF_OK);
    EXPECT_IS(hf__secret_read(url, &secret, NULL), HF_EUNSAFE);
    EXPECT(!secret.is_given);
    hf__url_free(url);
}
