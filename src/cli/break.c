/* SPDX-License-Identifier: MIT */
/*
 * `break NAME`: decides whom a break may hit. Nobody breaks by accident: one
 * of --fence, --stale and --force is demanded, and without it the answer is
 * the holder and the exact line to paste. Ending the grant, and telling its
 * holder, is the library's. Thread: main.
 */
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"

#include <inttypes.h>

struct breaking {
    const struct cli_options *options;
    struct cli_store store;
    hf_client *client;
    hf_caps_info caps;
    hf_info *info; /* the lock as it was before */
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

/* Break the grant with that fence, 0: whatever is held. */
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

/* Of several holders all that are gone; the last one's break is the answer. */
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
