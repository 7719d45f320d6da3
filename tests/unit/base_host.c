/* SPDX-License-Identifier: MIT */
/*
 * The longest name that a host may have is told in full. The test gives itself
 * a host name of its own, which nobody else sees.
 */
#include "src/base/host.h"
#include "tests/lib/test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ordinary users may where they may have namespaces of their own. */
static void call_host(const char *name)
{
    if ((unshare(CLONE_NEWUTS) && unshare(CLONE_NEWUSER | CLONE_NEWUTS)) ||
        sethostname(name, strlen(name))) {
        SKIP("needs a host name of its own, as root may have");
    }
}

TEST(the_longest_name_is_told)
{
    char longest[HF__HOST_SIZE];
    char name[HF__HOST_SIZE];

    memset(longest, 'h', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    call_host(longest);
    hf__host_name(name);
    EXPECT_TEXT(name, longest);
}

TEST(a_name_that_is_cut_ends_with_a_letter)
{
    char node[5];

    EXPECT_IS(setenv("HOLDFAST_NODE", "abc\303\244", 1), 0);
    hf__host_node(node, sizeof node);
    EXPECT_TEXT(node, "abc");
    EXPECT_IS(setenv("HOLDFAST_NODE", "", 1), 0);
    call_host("host");
    hf__host_node(node, sizeof node);
    EXPECT_TEXT(node, "host");
}
