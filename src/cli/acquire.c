/* SPDX-License-Identifier: MIT */
/*
 * `acquire NAME`: decides that a lock which nobody would know the token of
 * is no lock: when stdout or --token-file cannot take it, the lock is given
 * back. Otherwise the lock outlives this process by its lease. Thread: main.
 */
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/grant.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/token.h"
#include "src/cli/wish.h"

#include <errno.h>
#include <string.h>

/* The handle is done with it, so by token. If it is lost by now, so be it. */
static void give_back(const struct cli_grant *g)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    const struct cli_options *o = g->options;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int r;

    opts.auto_renew = 0;
    opts.lease_ms = o->lease_ms;
    cli_wish_settle(o, g->claim.lock, CLI_WISH_UNUSED);
    r = hf_adopt(g->claim.client, o->name, hf_token(g->claim.lock), &opts,
                 &lock, &err);
    r = r ? r : hf_release(lock, &err);
    if (r < 0) {
        cli_say("%s could not be given back and stays taken until its lease "
                "ends: %s",
                o->name, err.text);
    }
    hf_free(lock);
}

static int deliver_file(const struct cli_grant *g, const struct cli_text *text,
                        int64_t left_ms)
{
    const struct cli_options *o = g->options;

    if (cli_token_write(o, hf_token(g->claim.lock), true)) {
        return cli_fail(CLI_EXIT_INTERNAL,
                        "acquire: --token-file: cannot write %s: %s",
                        o->token_file, strerror(errno));
    }
    if (!cli_output_held(text, left_ms)) {
        return 0;
    }
    (void)cli_token_remove(o);
    return CLI_EXIT_INTERNAL;
}

static void add_answer(struct cli_text *text, const struct cli_grant *g)
{
    const struct cli_options *o = g->options;
    const char *token = o->token_file ? NULL : hf_token(g->claim.lock);

    if (o->is_json) {
        cli_text_add(text, "{");
        cli_grant_json(text, g, token);
        cli_text_add(text, "}\n");
    } else if (token) {
        cli_text_add(text, "%s\n", token);
    }
}

static int deliver(const struct cli_grant *g)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_error err = HF_ERROR_INIT;
    int64_t end_ns;
    int64_t left_ms;
    int r;

    /* Before it is detached, for then it has no time that remains. */
    end_ns = cli_boot_ns() + hf_remaining_ms(g->claim.lock) * CLI_NS_PER_MS;
    add_answer(&text, g);
    r = hf_detach(g->claim.lock, &err);
    if (r) {
        cli_wish_settle(g->options, g->claim.lock, CLI_WISH_UNUSED);
        return cli_fail(cli_exit_of(r), "acquire %s: %s", g->options->name,
                        err.text);
    }
    left_ms = (end_ns - cli_boot_ns()) / CLI_NS_PER_MS;
    r = g->options->token_file ? deliver_file(g, &text, left_ms)
                               : cli_output_held(&text, left_ms);
    if (r) {
        give_back(g);
    }
    return r;
}

int cli_acquire(const struct cli_options *o)
{
    struct cli_grant g = {0};
    int r = cli_wish_check(o);

    r = r ? r : cli_token_check(o);
    if (r) {
        return r;
    }
    r = cli_grant_get(o, &g);
    if (!r) {
        cli_grant_tell(&g);
        r = deliver(&g);
    }
    cli_grant_finish(&g);
    return r;
}
