/* SPDX-License-Identifier: MIT */
/*
 * Passwords: from the URL, a file or the environment; a file that others can
 * read is refused; no message has one.
 */
#include "tests/store_mysql/site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", hf__test_folder(), name);
    return path;
}

static void write_file(const char *name, const char *text, size_t length,
                       mode_t mode)
{
    FILE *f = NULL;

    (void)unlink(path_of(name)); /* it may be for reading only */
    f = fopen(path_of(name), "we");
    EXPECT(f != NULL);
    EXPECT_IS(fwrite(text, 1, length, f), length);
    EXPECT_IS(fclose(f), 0);
    EXPECT_IS(chmod(path_of(name), mode), 0);
}

static void write_password(const char *text, mode_t mode)
{
    write_file("password", text, strlen(text), mode);
}

static const char *url_with_file(void)
{
    static char url[1600];

    snprintf(url, sizeof url, "%s?password_file=%s", url_as("holdfast@"),
             path_of("password"));
    return url;
}

TEST(a_password_file_is_read_without_its_newline)
{
    DOOR(d);

    write_password(HF__MARIADB_PASSWORD, 0600);
    EXPECT_IS(enter(&d, url_with_file()), HF_OK);
    write_password(HF__MARIADB_PASSWORD "\n", 0400);
    EXPECT_IS(enter(&d, url_with_file()), HF_OK);
    write_password(HF__MARIADB_PASSWORD "\r\n", 0640);
    EXPECT_IS(enter(&d, url_with_file()), HF_OK);
}

TEST(a_password_file_that_others_can_read_is_refused)
{
    write_password(HF__MARIADB_PASSWORD, 0604);
    expect_refused(url_with_file(), HF_EUNSAFE, "chmod 600");
}

TEST(a_password_file_that_is_none_is_refused)
{
    expect_refused(url_with_file(), HF_EAUTH, "No such file");
    write_password("", 0600);
    expect_refused(url_with_file(), HF_EINVAL, "must have one line");
    write_password("\n", 0600);
    expect_refused(url_with_file(), HF_EINVAL, "must have one line");
    write_password("two\nlines\n", 0600);
    expect_refused(url_with_file(), HF_EINVAL, "must have one line");
    write_file("password", "a\0b", 3, 0600);
    expect_refused(url_with_file(), HF_EINVAL, "must have one line");
    EXPECT_IS(remove(path_of("password")), 0);
    EXPECT_IS(mkdir(path_of("password"), 0700), 0);
    expect_refused(url_with_file(), HF_EINVAL, "not a regular file");
}

TEST(the_environment_has_a_password_or_names_its_file)
{
    DOOR(d);

    EXPECT_IS(setenv("HOLDFAST_PASSWORD", HF__MARIADB_PASSWORD, 1), 0);
    EXPECT_IS(enter(&d, url_as("holdfast@")), HF_OK);
    EXPECT_IS(unsetenv("HOLDFAST_PASSWORD"), 0);
    expect_refused(url_as("holdfast@"), HF_EAUTH, "check user and password");
    write_password(HF__MARIADB_PASSWORD "\n", 0600);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD_FILE", path_of("password"), 1), 0);
    EXPECT_IS(enter(&d, url_as("holdfast@")), HF_OK);
}

TEST(what_is_said_of_one_store_goes_before_what_is_said_of_all)
{
    DOOR(d);

    write_password(HF__MARIADB_PASSWORD, 0600);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD", "wrong", 1), 0);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD_FILE", "/not/there", 1), 0);
    EXPECT_IS(enter(&d, url_with_file()), HF_OK);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD", HF__MARIADB_PASSWORD, 1), 0);
    EXPECT_IS(enter(&d, url_as("holdfast@")), HF_OK);
}

TEST(two_passwords_in_one_url_are_refused)
{
    char options[600];

    write_password(HF__MARIADB_PASSWORD, 0600);
    snprintf(options, sizeof options, "password_file=%s", path_of("password"));
    expect_refused(url_with(options), HF_EINVAL, "leave out the password");
}

TEST(no_message_has_the_password)
{
    DOOR(d);

    write_password("a-secret-word", 0600);
    EXPECT_IS(enter(&d, url_with_file()), HF_EAUTH);
    EXPECT(strstr(d.error.text, "a-secret-word") == NULL);
    EXPECT_IS(enter(&d, url_as("holdfast:a-secret-word@")), HF_EAUTH);
    EXPECT(strstr(d.error.text, "a-secret-word") == NULL);
    write_password("a-secret-word\nb", 0600);
    EXPECT_IS(enter(&d, url_with_file()), HF_EINVAL);
    EXPECT(strstr(d.error.text, "a-secret-word") == NULL);
}
