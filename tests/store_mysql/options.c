/* SPDX-License-Identifier: MIT */
/*
 * An option of the library that can't be set, for want of memory: nobody is
 * asked then, for it may be the one that keeps the password. This program's
 * mysql_options() stands before the library's.
 */
#include "tests/store_mysql/site.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static enum { WORKS, FAILS, IS_FORGOTTEN } way; /* what happens to … */
static enum mysql_option hit;                   /* … this one */

int STDCALL mysql_options(MYSQL *handle, enum mysql_option option,
                          const void *arg)
{
    static int (*library)(MYSQL *, enum mysql_option, const void *);

    if (library == NULL) {
        *(void **)&library = dlsym(RTLD_NEXT, "mysql_options");
    }
    if (way == WORKS || option != hit) {
        return library(handle, option, arg);
    }
    return way == FAILS ? 1 : 0;
}

static const char *url_with_all(void)
{
    static char words[2048];
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/any.pem", hf__test_folder());
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT(fd >= 0);
    EXPECT_IS(close(fd), 0);
    snprintf(words, sizeof words, "tls=verify&ca=%s&cert=%s&key=%s", path, path,
             path);
    return url_with(words);
}

/* The last ones are texts, of which the library makes copies. */
static const enum mysql_option options[] = {
    MYSQL_OPT_NONBLOCK,     MYSQL_OPT_PROTOCOL,
    MYSQL_OPT_LOCAL_INFILE, MARIADB_OPT_RESTRICTED_AUTH,
    MYSQL_OPT_SSL_ENFORCE,  MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
    MYSQL_OPT_SSL_CA,       MYSQL_OPT_SSL_CERT,
    MYSQL_OPT_SSL_KEY,      MYSQL_PLUGIN_DIR,
    MYSQL_DEFAULT_AUTH,
};
enum { FIRST_TEXT = 6, N_OPTIONS = sizeof options / sizeof *options };

static void expect_all_missed(int from)
{
    const char *url = url_with_all();

    for (int i = from; i < N_OPTIONS; i++) {
        hit = options[i];
        expect_refused(url, HF_ENOMEM, "out of memory for a connection");
    }
}

TEST(an_option_that_cannot_be_set_ends_the_connection)
{
    expect_refused(url_with_all(), HF_EUNSAFE, "TLS");
    way = FAILS;
    expect_all_missed(0);
}

TEST(an_option_that_is_not_kept_ends_the_connection)
{
    way = IS_FORGOTTEN;
    expect_all_missed(FIRST_TEXT);
}
