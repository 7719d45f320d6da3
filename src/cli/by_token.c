/* SPDX-License-Identifier: MIT */
/*
 * The verbs for a lock that is held by its token alone, not by a process of
 * ours. `acquire NAME` gives the lock back when stdout or --token-file cannot
 * take the token, because nobody could release it then; otherwise the lock
 * outlives this process by its lease. `renew NAME` and `release NAME` succeed,
 * or say that the lock is no longer yours and who holds it now. release removes
 * the token file before it releases the lock, because the next holder may write
 * the same file at once; it restores the file if the store does not confirm.
 * `break NAME` demands one of --fence, --stale and --force, so that nobody
 * breaks by accident; without one it names the holder and the exact line to
 * paste. Thread: main.
 */
#include "src/cli/claim.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/file.h"
#include "src/cli/hold.h"
#include "src/cli/holder.h"
#include "src/cli/output.h"
#include "src/cli/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The hf_lock is detached, so the lock is adopted again by its token. If it was
 * lost meanwhile, there is nothing to give back. */
static void give_back(const struct cli_grant *g)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    const struct cli_options *o = g->options;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int r;

    opts.auto_renew = 0;
    opts.lease_ms = o->lease_ms;
    cli_lock_options_settle(o, g->claim.lock, CLI_OPTIONS_UNUSED);
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

    /* Read the remaining time before detaching: a detached lock has none. */
    end_ns = cli_boot_ns() + hf_remaining_ms(g->claim.lock) * CLI_NS_PER_MS;
    add_answer(&text, g);
    r = hf_detach(g->claim.lock, &err);
    if (r) {
        cli_lock_options_settle(g->options, g->claim.lock, CLI_OPTIONS_UNUSED);
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
    int r = cli_lock_options_check(o);

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

struct breaking {
    const struct cli_options *options;
    struct cli_store store;
    hf_client *client;
    hf_caps_info caps;
    hf_info *info; /* the lock before the break */
};

static int answer(const struct breaking *b, bool is_broken, const char *text)
{
    struct cli_text out CLI_AUTO(cli_text_fini) = {0};
    int code = is_broken ? CLI_EXIT_DONE : CLI_EXIT_NO;

    if (!b->options->is_json) {
        cli_text_add(&out, "%s\n", text);
        if (is_broken) {
            return cli_output(&out, code);
        }
        return cli_fail(code, "%s", text);
    }
    cli_text_add(&out, "{\"broken\":%s,", is_broken ? "true" : "false");
    cli_holder_json(&out, b->info);
    cli_text_add(&out, ",");
    cli_caps_json(&out, &b->caps);
    cli_text_add(&out, "}\n");
    return cli_output(&out, code);
}

static int answer_free(const struct breaking *b)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_clean(&text, b->options->name);
    if (cli_holder_kept_ms(b->info)) {
        cli_text_add(&text, " has no holder; it is ");
        cli_holder_kept(&text, b->info);
    } else {
        cli_text_add(&text, " is free, there is nothing to break");
    }
    return answer(b, false, text.data);
}

static int ask_which(const struct breaking *b)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};

    if (hf_info_presence(b->info) != HF_HELD_BY) {
        return cli_fail(CLI_EXIT_USAGE,
                        "break: %s is free now; say whom to break: --fence N, "
                        "--stale or --force",
                        b->options->name);
    }
    cli_text_clean(&line, b->options->name);
    cli_text_add(&line, " is held by ");
    cli_holder_line(&line, b->info);
    cli_text_add(&line, "; ");
    cli_caps_line(&line, &b->caps);
    cli_text_add(&line, "; to end exactly this hold: ");
    cli_holder_break(&line, &b->store, b->info);
    return cli_fail(CLI_EXIT_USAGE, "break: %s", line.data);
}

/* Break the grant with that fence; 0 breaks whatever is held. */
static int break_fence(const struct breaking *b, uint64_t fence)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    hf_error err = HF_ERROR_INIT;
    int r = hf_break(b->client, b->options->name, fence, &err);

    if (r == HF_CONFLICT) {
        cli_text_clean(&line, b->options->name);
        cli_text_add(&line,
                     fence ? " is no longer held with fence %" PRIu64
                             "; nothing was broken"
                           : " is free, there is nothing to break",
                     fence);
        return answer(b, false, line.data);
    }
    if (r) {
        return cli_fail(cli_exit_of(r), "break %s: %s", b->options->name,
                        err.text);
    }
    cli_text_clean(&line, b->options->name);
    cli_text_add(&line, ": broken; it was ");
    if (cli_holder_kept_ms(b->info)) {
        cli_holder_kept(&line, b->info);
    } else {
        cli_text_add(&line, "held by ");
        cli_holder_line(&line, b->info);
    }
    return answer(b, true, line.data);
}

static int break_exact(const struct breaking *b)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    uint64_t fence = (uint64_t)b->options->fence;

    if (hf_info_presence(b->info) == HF_HELD_BY &&
        !cli_holder_with(b->info, fence)) {
        cli_text_clean(&line, b->options->name);
        cli_text_add(&line,
                     " is not held with fence %" PRIu64
                     "; nothing was broken; now it is held by ",
                     fence);
        cli_holder_line(&line, b->info);
        return answer(b, false, line.data);
    }
    return break_fence(b, fence);
}

static bool is_stale(const hf_info *one)
{
    return hf_info_holder_lives(one) == 0 || hf_info_remaining_ms(one) == 0;
}

/* Break every holder that is gone; the last break's outcome is the answer. */
static int break_stale(const struct breaking *b)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    const hf_info *last = NULL;
    const hf_info *one = NULL;
    int i = 0;

    while ((one = hf_info_holder_at(b->info, i++)) != NULL) {
        if (!is_stale(one)) {
            continue;
        }
        if (last) {
            (void)!hf_break(b->client, b->options->name, hf_info_fence(last),
                            NULL);
        }
        last = one;
    }
    if (!last) {
        cli_text_clean(&line, b->options->name);
        cli_text_add(&line, " is left alone: its holder is not known to be "
                            "gone; it is held by ");
        cli_holder_line(&line, b->info);
        return answer(b, false, line.data);
    }
    if (!hf_info_fence(last)) {
        return cli_fail(CLI_EXIT_UNSAFE,
                        "break --stale needs a store with fences, or it could "
                        "hit the next holder; use --force");
    }
    return break_fence(b, hf_info_fence(last));
}

static int decide(const struct breaking *b)
{
    const struct cli_options *o = b->options;

    if (o->fence < 0 && !o->is_stale && !o->is_force) {
        return ask_which(b);
    }
    if (hf_info_presence(b->info) == HF_FREE &&
        (o->is_stale || !cli_holder_kept_ms(b->info))) {
        return answer_free(b);
    }
    if (o->is_stale) {
        return break_stale(b);
    }
    return o->is_force ? break_fence(b, 0) : break_exact(b);
}

int cli_break(const struct cli_options *o)
{
    struct breaking b = {.options = o, .caps = HF_CAPS_INFO_INIT};
    hf_error err = HF_ERROR_INIT;
    int r;

    if ((o->fence >= 0) + o->is_stale + o->is_force > 1) {
        return cli_fail(CLI_EXIT_USAGE, "break: --fence, --stale and --force "
                                        "exclude each other; give one");
    }
    r = cli_store_enter(o, &b.store, &b.client);
    if (!r) {
        r = hf_caps(b.client, &b.caps);
        r = r ? r : hf_inspect(b.client, o->name, &b.info, &err);
        r = r ? cli_fail(cli_exit_of(r), "break %s: %s", o->name, err.text)
              : decide(&b);
    }
    hf_info_free(b.info);
    hf_close(b.client);
    cli_store_fini(&b.store);
    return r;
}

/* release adopts with this lease: it is how long the lock stays taken if the
 * store goes away before the release. */
#define RELEASE_LEASE_MS 10000

struct owned {
    const struct cli_options *options;
    struct cli_store store;
    hf_client *client;
    hf_lock *lock;
    hf_error err;
    char token[CLI_TOKEN_SIZE];
};

static int fail(const struct owned *own, int status)
{
    return cli_fail(cli_exit_of(status), "%s %s: %s",
                    cli_verb_table[own->options->verb].word, own->options->name,
                    own->err.text[0] ? own->err.text : hf_strstatus(status));
}

/* Print {"renewed":true, then the lock as it is now, which needs one more read
 * of the store. */
static int answer_json(struct owned *own, const hf_info *info, bool is_done)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    int r = hf_caps(own->client, &caps);

    if (r) {
        return fail(own, r);
    }
    cli_text_add(&text, "{\"%s\":%s,",
                 own->options->verb == CLI_RENEW ? "renewed" : "released",
                 is_done ? "true" : "false");
    cli_holder_json(&text, info);
    cli_text_add(&text, ",");
    cli_caps_json(&text, &caps);
    cli_text_add(&text, "}\n");
    return cli_output(&text, is_done ? CLI_EXIT_DONE : CLI_EXIT_NO);
}

static int answer_lost(struct owned *own)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    hf_info *info CLI_AUTO(cli_info_auto) = NULL;
    int r = hf_inspect(own->client, own->options->name, &info, &own->err);

    if (!r && own->options->is_json) {
        return answer_json(own, info, false);
    }
    cli_text_clean(&line, own->options->name);
    cli_text_add(&line, " is not yours any more");
    if (!r && hf_info_presence(info) == HF_HELD_BY) {
        cli_text_add(&line, "; it is held by ");
        cli_holder_line(&line, info);
    } else if (!r && hf_info_presence(info) == HF_FREE) {
        cli_text_add(&line, "; it is free");
    }
    return cli_fail(CLI_EXIT_NO, "%s: %s",
                    cli_verb_table[own->options->verb].word, line.data);
}

static int answer_done(struct owned *own)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    hf_info *info CLI_AUTO(cli_info_auto) = NULL;
    char lease[CLI_DURATION_SIZE];

    if (own->options->is_json) {
        int r = hf_inspect(own->client, own->options->name, &info, &own->err);

        return r ? fail(own, r) : answer_json(own, info, true);
    }
    cli_text_clean(&line, own->options->name);
    if (own->options->verb == CLI_RENEW) {
        cli_text_add(&line, " is yours for %s\n",
                     cli_duration(own->options->lease_ms, lease));
    } else {
        cli_text_add(&line, " is released\n");
    }
    return cli_output(&line, CLI_EXIT_DONE);
}

static int renew(struct owned *own)
{
    int r = hf_detach(own->lock, &own->err);

    return r == HF_LOST ? answer_lost(own)
           : r          ? fail(own, r)
                        : answer_done(own);
}

static int release(struct owned *own)
{
    bool is_removed = cli_token_remove(own->options);
    int r = hf_release(own->lock, &own->err);

    if (r < 0 && is_removed) {
        if (cli_token_write(own->options, own->token, false) &&
            errno != EEXIST) {
            cli_say("release: --token-file: cannot write %s again: %s",
                    own->options->token_file, strerror(errno));
        }
    }
    return r == HF_LOST ? answer_lost(own)
           : r          ? fail(own, r)
                        : answer_done(own);
}

static int adopt(struct owned *own)
{
    const struct cli_options *o = own->options;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    int r;

    opts.auto_renew = 0;
    opts.lease_ms = o->verb == CLI_RENEW ? o->lease_ms : RELEASE_LEASE_MS;
    r = hf_adopt(own->client, o->name, own->token, &opts, &own->lock,
                 &own->err);
    if (r) {
        return r == HF_LOST ? answer_lost(own) : fail(own, r);
    }
    return o->verb == CLI_RENEW ? renew(own) : release(own);
}

static int bring(const struct cli_options *o)
{
    struct owned own = {.options = o, .err = HF_ERROR_INIT};
    int r = cli_names_check(o);

    r = r ? r : cli_token_read(o, own.token);
    if (r) {
        return r;
    }
    r = cli_store_enter(o, &own.store, &own.client);
    r = r ? r : adopt(&own);
    hf_free(own.lock);
    hf_close(own.client);
    cli_store_fini(&own.store);
    return r;
}

int cli_renew(const struct cli_options *o)
{
    return bring(o);
}

int cli_release(const struct cli_options *o)
{
    return bring(o);
}
