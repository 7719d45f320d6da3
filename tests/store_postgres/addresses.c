/* SPDX-License-Identifier: MIT */
/*
 * A host whose name has two addresses, the first of which is a standby's, or
 * silent, or of a primary that was replaced: a resolver that knows such a name,
 * and what is to be at its addresses.
 */
#include "tests/store_postgres/site.h"

#include "tests/servers/postgres_pair.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AUTO_PAIR __attribute__((cleanup(free_pair))) struct hf__postgres_pair

static void free_pair(struct hf__postgres_pair **p)
{
    hf__postgres_pair_free(*p);
}

/* The port of 127.0.0.1 that is reached by any port of 127.0.0.2. */
static int port_behind;

int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **ret_list)
{
    static int (*real)(const char *, const char *, const struct addrinfo *,
                       struct addrinfo **);
    int error;

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    }
    if (node == NULL || strcmp(node, "two.test") != 0) {
        return real(node, service, hints, ret_list);
    }
    error = real("127.0.0.2", service, hints, ret_list);
    return error != 0
               ? error
               : real("127.0.0.1", service, hints, &(*ret_list)->ai_next);
}

/* Seen by libpq, too. */
__attribute__((visibility("default"))) int
connect(int fd, const struct sockaddr *to, socklen_t length)
{
    static int (*real)(int, const struct sockaddr *, socklen_t);
    struct sockaddr_in at = {0};

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "connect");
    }
    if (length == sizeof at) {
        memcpy(&at, to, sizeof at);
    }
    if (port_behind != 0 && at.sin_addr.s_addr == inet_addr("127.0.0.2")) {
        at.sin_addr.s_addr = inet_addr("127.0.0.1");
        at.sin_port = htons((uint16_t)port_behind);
        return real(fd, (const struct sockaddr *)&at, sizeof at);
    }
    return real(fd, to, length);
}

/* The name's: what is at a port of this host, and then at another. */
static const char *url_of_ports(int first, int second, const char *database)
{
    static _Thread_local char url[256];

    port_behind = first;
    snprintf(url, sizeof url, "postgres://%s:%s@two.test:%d/%s",
             HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, second, database);
    return url;
}

/* That node, and then the other. */
static const char *url_from(const struct hf__postgres_pair *p, int first,
                            const char *database)
{
    return url_of_ports(hf__postgres_port(hf__postgres_pair_node(p, first)),
                        hf__postgres_port(hf__postgres_pair_node(p, 1 - first)),
                        database);
}

TEST_WITHIN(60, a_standby_at_one_address_leaves_the_next)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    char name[HF__POSTGRES_NAME];
    DOOR(d);

    hf__postgres_database(hf__postgres_pair_node(p, 0), name);
    hf__postgres_pair_await_caught_up(p, 1);
    EXPECT_IS(enter(&d, url_from(p, 1, name)), HF_OK);
    use(&d, "job");
    hf__postgres_stop(hf__postgres_pair_node(p, 0));
    expect_refused(url_from(p, 1, name), HF_EUNAVAIL, "Connection refused");
}

/* The one at the next address was replaced, and has come back. */
TEST_WITHIN(60, what_a_standby_at_one_address_knows_counts)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    struct hf__postgres *second = hf__postgres_pair_node(p, 1);

    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
    hf__postgres_sql(second, NULL,
                     "COPY (SELECT 1) TO PROGRAM 'cat >standby.signal'");
    hf__postgres_stop(second);
    hf__postgres_restart(second, NULL);
    hf__postgres_pair_restart(p, 0);
    expect_refused(url_from(p, 1, "postgres"), HF_EUNSAFE,
                   "timeline 2 has begun");
}

/* As one whose machine is well and whose processes stand still. */
TEST(a_silent_address_leaves_the_next_time)
{
    DOOR(d);
    int port = 0;
    int fd = listen_silently(&port);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(
        enter(&d, url_of_ports(port, hf__postgres_port(server()), database())),
        HF_OK);
    EXPECT_SOON(hf__test_now_ms() - start, 4000); /* half of what it has: 5 */
    use(&d, "job");
    close(fd);
}

/* The first takes writes still; the process has been to the second. */
TEST_WITHIN(60, a_primary_that_was_replaced_leaves_the_next)
{
    AUTO_PAIR *p = hf__postgres_pair_start(NULL);
    char name[HF__POSTGRES_NAME];
    DOOR(d);

    hf__postgres_database(hf__postgres_pair_node(p, 0), name);
    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
    EXPECT_IS(enter(&d, url_from(p, 1, name)), HF_OK);
    hf__postgres_pair_restart(p, 0);
    EXPECT_IS(enter(&d, url_from(p, 0, name)), HF_OK);
    use(&d, "job");
    hf__postgres_stop(hf__postgres_pair_node(p, 1));
    expect_refused(url_from(p, 0, name), HF_EUNAVAIL, "Connection refused");
}
