/* SPDX-License-Identifier: MIT */
/*
 * A process that forks while others of its threads connect: the child finds
 * the client library as it must be to connect itself.
 */
#include "tests/store_mysql/impostor.h"
#include "tests/store_mysql/site.h"

#include <stdatomic.h>
#include <unistd.h>

enum { N_THREADS = 6, N_FORKS = 60, CHILD_S = 15 };

static atomic_bool is_over;
static atomic_int n_refused;

/* Each asks by a plugin that the library has to look for, each time. */
struct asking {
    struct hf__impostor *impostor;
    struct hf__test_thread *thread;
    char url[128];
};

static void begin_asking(struct asking *a)
{
    static const struct hf__impostor_opts opts = {.asks_by = "nobody_knows"};

    a->impostor = hf__impostor_start(&opts);
    snprintf(a->url, sizeof a->url, "mysql://who:pw@127.0.0.1:%d/db",
             hf__impostor_port(a->impostor));
}

static void connect_on_and_on(void *arg)
{
    struct asking *a = arg;

    while (!atomic_load(&is_over)) {
        DOOR(d);

        EXPECT_IS(enter(&d, a->url), HF_EUNSAFE);
        atomic_fetch_add(&n_refused, 1);
    }
}

/* 0 if it could do both. */
static int connect_twice(const char *asking, const char *good)
{
    struct door d = {0};

    (void)alarm(CHILD_S); /* it ends who hangs */
    return enter_within(&d, asking, 1000 * CHILD_S) != HF_EUNSAFE ||
           enter_within(&d, good, 1000 * CHILD_S) != HF_OK;
}

static void connect_in_child(const char *asking, const char *good)
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        _exit(connect_twice(asking, good));
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
}

TEST_WITHIN_IF(90, hf__test_may_fork_beside_threads(),
               a_child_of_a_process_that_connects_can_connect)
{
    static struct asking asking[N_THREADS + 1]; /* the last: the children's */

    for (int i = 0; i <= N_THREADS; i++) {
        begin_asking(&asking[i]);
    }
    for (int i = 0; i < N_THREADS; i++) {
        asking[i].thread = hf__test_start(connect_on_and_on, &asking[i]);
    }
    for (int i = 0; i < N_FORKS; i++) {
        connect_in_child(asking[N_THREADS].url, url_with(""));
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < N_THREADS; i++) {
        hf__test_join(asking[i].thread);
    }
    EXPECT_MORE(atomic_load(&n_refused), 0);
    for (int i = 0; i <= N_THREADS; i++) {
        hf__impostor_free(asking[i].impostor);
    }
}
