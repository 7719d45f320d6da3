/* SPDX-License-Identifier: MIT */
/*
 * Decides the variables; `help run` explains them. The password of the store
 * is ours alone, and goes on to no command that did not ask for it. Nothing
 * else of the caller's environment changes. Thread: main.
 */
#include "src/cli/environment.h"
#include "src/cli/clock.h"

#include <inttypes.h>

static void end(struct cli_text *text)
{
    cli_text_bytes(text, "", 1);
}

void cli_environment_guard(struct cli_text *text, const struct cli_options *o)
{
    if (!o->is_pass_password) {
        cli_text_add(text, CLI_ENVIRONMENT_PASSWORD);
        end(text);
    }
}

void cli_environment_fill(struct cli_text *text, const struct cli_claim *claim,
                          int64_t deadline_ns)
{
    const hf_lock *lock = claim->lock;

    cli_environment_guard(text, claim->options);
    cli_text_add(text, "HOLDFAST_NAME=%s", hf_name(lock));
    end(text);
    cli_text_add(text, "HOLDFAST_FENCE=%" PRIu64, hf_fence(lock));
    end(text);
    cli_text_add(text, "HOLDFAST_FENCES=");
    for (int i = 0; i < hf_count(lock); i++) {
        cli_text_add(text, "%s%" PRIu64, i ? " " : "", hf_fence_at(lock, i));
    }
    end(text);
    cli_text_add(text, "HOLDFAST_TOKEN=%s", hf_token(lock));
    end(text);
    if (hf_slot(lock) >= 0) {
        cli_text_add(text, "HOLDFAST_SLOT=%d", hf_slot(lock));
        end(text);
    }
    cli_text_add(text, "HOLDFAST_STORE=%s", claim->caps.store);
    end(text);
    cli_text_add(text, "HOLDFAST_DEADLINE_MS=%" PRId64,
                 deadline_ns / CLI_NS_PER_MS);
    end(text);
}
