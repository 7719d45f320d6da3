/* SPDX-License-Identifier: MIT */
/*
 * The library as a whole: URLs, texts of errors, the lists of statuses and
 * stores, the allocator; and that each store built in was put to this test.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* `list` is separated by commas. */
static bool is_in(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 &&
            (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The build runs this program once for each scheme of a list, and gives the
 * list as second argument. */
TEST(every_registered_store_is_put_to_the_test)
{
    const char *tested = hf__test_args[0] ? hf__test_args[1] : NULL;
    char store[40];

    EXPECT(tested);
    for (int i = 0; hf_backends(i); i++) {
        if (!is_in(tested, hf_backends(i))) {
            printf("%s is not in %s\n", hf_backends(i), tested);
        }
        EXPECT(is_in(tested, hf_backends(i)));
    }
    /* Of redis+sentinel: that is redis:. */
    snprintf(store, sizeof store, "%.*s", (int)strcspn(scheme(), "+"),
             scheme());
    EXPECT(is_in(tested, store));
}

TEST(the_list_of_stores_ends)
{
    int n = 0;

    while (hf_backends(n)) {
        n++;
    }
    EXPECT_MORE(n, 0);
    EXPECT(!hf_backends(n + 1));
    EXPECT(!hf_backends(-1));
}

TEST(every_status_has_a_name)
{
#define HF_X(name, value, text) EXPECT_TEXT(hf_strstatus(value), #name);
    HF_STATUS_MAP(HF_X)
#undef HF_X
    EXPECT(hf_strstatus(12345));
    EXPECT(hf_strstatus(-12345));
}

TEST(every_reason_has_a_name)
{
    for (int i = HF_REASON_NONE; i <= HF_REASON_STORE_GONE; i++) {
        const char *text = hf_strreason((hf_reason)i);

        EXPECT(text && text[0]);
        for (int k = HF_REASON_NONE; k < i; k++) {
            EXPECT_NOT(strcmp(text, hf_strreason((hf_reason)k)), 0);
        }
    }
    EXPECT_TEXT(hf_strreason(HF_REASON_EXPIRED), "expired");
}

CASE(the_version_is_that_of_the_header, EXPECT_TEXT(hf_version(), HF_VERSION));

TEST(an_unknown_store_is_named_and_a_way_to_see_the_known_ones)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(open_status("nosuch://host/x", &err), HF_EINVAL);
    EXPECT_IS(err.status, HF_EINVAL);
    EXPECT_HAS(err.text, "nosuch");
    EXPECT_HAS(err.text, "holdfast backends");
}

TEST(a_store_can_be_loaded_before_it_is_opened)
{
    hf_error err = HF_ERROR_INIT;

    for (int i = 0; hf_backends(i); i++) {
        EXPECT_IS(hf_backend_load(hf_backends(i), &err), HF_OK);
    }
    EXPECT_IS(hf_backend_load("nosuch", &err), HF_EINVAL);
    EXPECT_HAS(err.text, "nosuch");
    EXPECT_IS(hf_backend_load("", &err), HF_EINVAL);
    EXPECT_IS(hf_backend_load(NULL, &err), HF_EINVAL);
    EXPECT_IS(hf_backend_load(NULL, NULL), HF_EINVAL);
}

/* For what it says, not because there is no such store. */
static void expect_url_refused(const char *url, const char *why)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(open_status(url, &err), HF_EINVAL);
    EXPECT_HAS(err.text, why);
}

TEST(a_url_must_be_one)
{
    char long_url[5000] = "nosuch:";

    memset(long_url + 7, 'p', sizeof long_url - 8);
    expect_url_refused("", "empty");
    expect_url_refused(NULL, "the URL");
    expect_url_refused("no scheme", "no scheme");
    expect_url_refused(":", "no scheme");
    expect_url_refused("nosuch://host:0/", "port");
    expect_url_refused("nosuch://host:65536/", "port");
    expect_url_refused("nosuch://host:abc/", "port");
    expect_url_refused(long_url, "4096 bytes");
}

static void expect_option_refused(const char *option, const char *a,
                                  const char *b)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(open_status(store_url(option), &err), HF_EINVAL);
    EXPECT_HAS(err.text, a);
    EXPECT_HAS(err.text, b);
}

/* Not by its name, which may be a part of a password. */
CASE(an_unknown_option_is_refused_with_the_valid_ones,
     expect_option_refused("io_timeot=1s", "is unknown", "io_timeout"));
CASE(a_repeated_option_is_named,
     expect_option_refused("prefix=a&prefix=b", "prefix", "twice"));

TEST(a_prefix_has_none_of_the_signs_of_a_key)
{
    expect_option_refused("prefix=a:b", "prefix", "':'");
    expect_option_refused("prefix=a;3", "prefix", "';'");
}

TEST(of_a_bad_value_is_told_whose_it_is_and_what_is_right)
{
    expect_option_refused("io_timeout=soon", "io_timeout", "10ms to 10m");
    expect_option_refused("io_timeout=-1s", "io_timeout", "10ms to 10m");
    expect_option_refused("connect_timeout=", "connect_timeout", "from");
}

CASE(an_unknown_override_is_refused,
     expect_option_refused("allow=everything", "allow", "everything"));

TEST(no_error_tells_a_password)
{
    static const char *const urls[] = {
        "nosuch://u:hunter2@host/x", "nosuch://u:hunter2@host:99999/x?y",
        "redis://u:12/hunter2",      "zookeeper://u:12//hunter2",
        "redis://h/0?token=hunter2", "u:hunter2@host",
    };
    hf_error err = HF_ERROR_INIT;
    const char *ddl = NULL;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        EXPECT_NOT(open_status(urls[i], &err), HF_OK);
        EXPECT(!strstr(err.text, "hunter2"));
        EXPECT_NOT(hf_ddl(urls[i], &ddl, &err), HF_OK);
        EXPECT(!strstr(err.text, "hunter2"));
    }
}

TEST(an_override_is_logged)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;
    AUTO_CLIENT *alice = NULL;

    opts.allow = "volatile";
    alice = open_logged_with(&opts);
    EXPECT(logged("allow", "volatile", NULL));
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST(a_store_that_reaches_less_than_asked_is_refused)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;
    bool suffices = store_info().reach >= HF_REACH_HOSTS;

    opts.reach = HF_REACH_HOSTS;
    EXPECT_IS(hf_open(store_url(NULL), &opts, &client, &err),
              suffices ? HF_OK : HF_EUNSAFE);
    EXPECT_IS(client != NULL, suffices);
    EXPECT_IS(err.text[0] != '\0', !suffices);
    hf_close(client);
}

static atomic_int n_allocated;

static void *counted_resize(void *p, size_t size)
{
    if (!p) {
        atomic_fetch_add(&n_allocated, 1);
    }
    return realloc(p, size);
}

static void counted_free(void *p)
{
    if (p) {
        atomic_fetch_sub(&n_allocated, 1);
    }
    free(p);
}

/* How many blocks are left when everything was closed. */
static int blocks_after_use(void)
{
    hf_client *alice = open_store();
    hf_lock *job = acquire(alice, "job");

    EXPECT_MORE(atomic_load(&n_allocated), 1);
    hf_info_free(look_at(alice, "job"));
    hf_free(job);
    hf_close(alice);
    return atomic_load(&n_allocated);
}

TEST(another_allocator_serves_all_and_gets_all_back)
{
    int left;

    EXPECT_IS(hf_set_allocator(counted_resize, counted_free), HF_OK);
    /* What belongs to the process is made once. */
    left = blocks_after_use();
    EXPECT_LESS(left, 4);
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(blocks_after_use(), left);
    }
}

TEST(an_allocator_comes_before_all_else)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(hf_set_allocator(realloc, free), HF_CONFLICT);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST(an_allocator_has_two_functions)
{
    EXPECT_IS(hf_set_allocator(NULL, free), HF_EINVAL);
    EXPECT_IS(hf_set_allocator(realloc, NULL), HF_EINVAL);
    EXPECT_IS(hf_set_allocator(realloc, free), HF_OK);
}
