/* SPDX-License-Identifier: MIT */
/*
 * Hosts, each a client of the library, from its opening to its close.
 */
#include "tests/sim/made.h"
#include "tests/sim/oracles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_client *client(void)
{
    return hf__scene.clients[hf__virtual_host()];
}

static void sleep_slot(int64_t ns)
{
    hf__virtual_sleep(NULL, hf__true_now() + ns);
}

static void open_client(void)
{
    const struct hf__lot *p = &hf__scene.plan;
    int host = hf__virtual_host();
    char url[320] = "world:x?";
    int n;

    if (p->quorum != 0) {
        hf__made_url(url, sizeof url);
    }
    n = (int)strlen(url);
    n += snprintf(url + n, sizeof url - (size_t)n,
                  "prefix=sim&io_timeout=%" PRId64 "ms&connect_timeout=%" PRId64
                  "ms",
                  p->io_timeout_ms, p->io_timeout_ms);
    if (p->session_ms != 0) {
        (void)snprintf(url + n, sizeof url - (size_t)n,
                       "&session_timeout=%" PRId64 "ms", p->session_ms);
    }
    for (;;) {
        int r = hf_open(url, NULL, &hf__scene.clients[host], NULL);
        hf__note("open: %s", hf_strstatus(r));
        if (r == HF_OK) {
            return;
        }
        sleep_slot(p->lease_ms * HF__MS_NS / 4);
    }
}

/* What it could not give back it gives back, or it is moot. */
static void expect_settled(void)
{
    const struct hf__lot *p = &hf__scene.plan;
    int64_t end = hf__true_now() +
                  (2 * p->lease_ms + 2 * p->io_timeout_ms + 2000) * HF__MS_NS;
    hf_stats_info stats = HF_STATS_INFO_INIT;

    do {
        if (hf_stats(client(), &stats) != HF_OK || hf__true_now() > end) {
            hf__flaw("host %d still owes %" PRIu64, hf__virtual_host(),
                     stats.owing);
        }
        sleep_slot(p->lease_ms * HF__MS_NS / 10);
    } while (stats.owing != 0);
    hf__ledger_settled(hf__virtual_host());
}

static void *live(void *arg)
{
    int host = (int)(intptr_t)arg;
    pthread_t crew[HF__CREW];
    struct hf__claim_seen seen;

    hf__virtual_be(host, host);
    open_client();
    for (int i = 0; i < hf__scene.plan.crew; i++) {
        if (pthread_create(&crew[i], NULL, hf__ready_list_work, NULL) != 0) {
            abort();
        }
    }
    for (int i = 0; i < hf__scene.plan.crew; i++) {
        (void)pthread_join(crew[i], NULL);
    }
    expect_settled();
    hf__oracle_call(&seen);
    hf_close(client());
    hf__oracle_took(&seen, 2 * hf__scene.plan.io_timeout_ms, "closing");
    hf__note("is over");
    hf__scene.n_alive--;
    hf__virtual_be(0, 0);
    return arg;
}

void hf__host_begin(void)
{
    pthread_t thread;
    intptr_t host = ++hf__scene.n_hosts;

    hf__scene.n_alive++;
    if (pthread_create(&thread, NULL, live, (void *)host) != 0) { /* NOLINT */
        abort();
    }
}
