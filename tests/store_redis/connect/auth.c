/* SPDX-License-Identifier: MIT */
/*
 * Who is let in: passwords, users of ACLs, what a user must be allowed, and
 * that no message has the password.
 */
#include "tests/store_redis/connect/site.h"

#include <stdlib.h>
#include <string.h>

TEST(a_password_is_needed_and_compared)
{
    struct hf__redis_opts opts = {.password = "s3cret"};
    AUTO_SERVER *r = hf__redis_start(&opts);
    DOOR(d);

    expect_open(url_of("redis://:s3cret@%s", at(r)));
    expect_open(url_of("redis://default:s3cret@%s", at(r)));
    expect_refused(url_of("redis://%s", at(r)), HF_EAUTH, "password");
    EXPECT_IS(enter(&d, url_of("redis://:hunter2@%s", at(r))), HF_EAUTH);
    EXPECT_HAS(d.error.text, at(r));
    EXPECT(strstr(d.error.text, "hunter2") == NULL);
    EXPECT_IS(setenv("HOLDFAST_PASSWORD", "s3cret", 1), 0);
    expect_open(url_of("redis://%s", at(r)));
}

TEST(a_password_that_the_server_does_not_have_is_refused)
{
    expect_refused(url_of("redis://:any@%s", at(hf__redis_shared())), HF_EAUTH,
                   "give none");
}

TEST(a_user_of_an_acl)
{
    struct hf__redis_opts opts = {
        .password = "admin",
        .users = "user bob on >b0b ~holdfast:* &holdfast;* +@all -@admin "
                 "-@dangerous +info +role\n"
                 "user eve on >3ve ~* &* +@all -info\n"
                 "user bare on >b4re ~holdfast:* &* -@all +info +evalsha\n"};
    AUTO_SERVER *r = hf__redis_start(&opts);

    /* CONFIG is refused, and SCRIPT to the third one: INFO tells enough. */
    expect_open(url_of("redis://bob:b0b@%s", at(r)));
    expect_open(url_of("redis://bare:b4re@%s", at(r)));
    expect_refused(url_of("redis://bob:wrong@%s", at(r)), HF_EAUTH,
                   "user and password");
    expect_refused(url_of("redis://eve:3ve@%s", at(r)), HF_EAUTH, "info");
    expect_refused(url_of("redis://nobody@%s", at(r)), HF_EAUTH, "password");
}

TEST(a_database_is_taken_from_the_path)
{
    const char *server = at(hf__redis_shared());

    expect_open(url_of("redis://%s/", server));
    expect_open(url_of("redis://%s/7", server));
    expect_refused(url_of("redis://%s/999999", server), HF_EINVAL, "databases");
    expect_refused(url_of("redis://%s/locks", server), HF_EINVAL,
                   "no number of a database");
    expect_refused(url_of("redis://%s/-1", server), HF_EINVAL,
                   "no number of a database");
    expect_refused(url_of("redis://%s/99999999", server), HF_EINVAL,
                   "no number of a database");
}
