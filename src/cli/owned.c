/* SPDX-License-Identifier: MIT */
/*
 * `renew NAME` and `release NAME`: decides what is said to somebody who
 * brings a token: done, or not yours any more, and then who has it now. The
 * token file is removed before the lock is let go of, because the next
 * holder may write the same file at once; it comes back if the store does
 * not confirm. Thread: main.
 */
#include "src/cli/duration.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/names.h"
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/token.h"

#include <errno.h>
#include <string.h>

/* What a lock that is let go of lives on if the store then is gone. */
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

/* {"renewed":true, and the lock as it is now}; needs one more look. */
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

static void restore_file(const struct owned *own)
{
    if (cli_token_write(own->options, own->token, false) && errno != EEXIST) {
        cli_say("release: --token-file: cannot write %s again: %s",
                own->options->token_file, strerror(errno));
    }
}

static int release(struct owned *own)
{
    bool is_removed = cli_token_remove(own->options);
    int r = hf_release(own->lock, &own->err);

    if (r < 0 && is_removed) {
        restore_file(own);
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
