/* SPDX-License-Identifier: MIT */
/*
 * `hold NAME`, for shells: decides when the hold ends. Stdin is its leash:
 * what comes is dropped, and its end, or the death of who holds the other
 * end, lets go of the lock. Where there is no leash (stdin is closed, or is
 * /dev/null as in a script's background) a signal ends it. One line on stdout
 * says that the lock is held. Thread: main.
 */
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/grant.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/wish.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A terminal in whose background we are gives nothing to read; look again. */
#define BACKGROUND_MS 500

struct hold {
    struct cli_grant grant;
    int leash; /* -1: there is none */
    bool is_background;
    bool is_done;
};

/* main() puts /dev/null where stdin is closed. */
static int find_leash(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) ||
        (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))) {
        return -1;
    }
    return STDIN_FILENO;
}

static void handle_signals(struct hold *h)
{
    int number;

    while ((number = cli_signals_next(&h->grant.signals))) {
        switch (number) {
        case SIGTERM:
        case SIGINT:
        case SIGHUP:
        case SIGQUIT:
            h->is_done = true;
            break;
        case SIGTSTP:
            /* Who renews is never stopped. */
            cli_event("stopped", NULL,
                      "%s stays held; Ctrl-D or Ctrl-C lets it go",
                      h->grant.options->name);
            break;
        default:
            break;
        }
    }
}

static void handle_leash(struct hold *h)
{
    char bytes[4096];
    ssize_t n = read(h->leash, bytes, sizeof bytes);

    h->is_background = false;
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) {
        return;
    }
    /* SIGTTIN is blocked; what is typed is the foreground's. */
    h->is_background = n < 0 && errno == EIO && isatty(h->leash) &&
                       tcgetpgrp(h->leash) != getpgrp();
    h->is_done |= !h->is_background;
}

/* Until the hold is over; true: because the lock was lost. */
static bool serve(struct hold *h)
{
    struct cli_claim *claim = &h->grant.claim;
    struct pollfd fds[] = {{h->grant.signals.fd, POLLIN, 0},
                           {claim->event_fd, POLLIN, 0},
                           {-1, POLLIN, 0}};

    for (;;) {
        fds[2].fd = h->is_background ? -1 : h->leash;
        fds[2].revents = 0;
        (void)poll(fds, sizeof fds / sizeof *fds,
                   h->is_background ? BACKGROUND_MS : -1);
        if (cli_claim_look(claim) == CLI_CLAIM_ENDED) {
            return true;
        }
        handle_signals(h);
        if (fds[2].revents || h->is_background) {
            handle_leash(h);
        }
        if (h->is_done) {
            return false;
        }
    }
}

static int tell_held(const struct hold *h)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    const struct cli_grant *g = &h->grant;
    const hf_lock *lock = g->claim.lock;

    if (g->options->is_json) {
        cli_text_add(&text, "{");
        cli_grant_json(&text, g, hf_token(lock));
        cli_text_add(&text, "}\n");
    } else {
        cli_text_add(&text, "held ");
        cli_text_clean(&text, g->options->name);
        cli_text_add(&text, " fence=%" PRIu64 " lease_ms=%" PRId64 " pid=%ld",
                     hf_fence(lock), cli_claim_lease_ms(&g->claim),
                     (long)getpid());
        for (int i = 0; i < hf_count(lock) && hf_count(lock) > 1; i++) {
            cli_text_add(&text, "%s%" PRIu64,
                         i ? "," : " fences=", hf_fence_at(lock, i));
        }
        cli_text_add(&text, "\n");
    }
    cli_grant_tell(g);
    return cli_output_held(&text, INT64_MAX);
}

static int end_lost(const struct hold *h)
{
    int code = (int)h->grant.options->lost_exit;
    hf_reason reason = hf_lost_reason(h->grant.claim.lock);
    hf_error err = HF_ERROR_INIT;

    /* The release says which of several it was. */
    if (h->grant.options->locks.count &&
        hf_release(h->grant.claim.lock, &err) == HF_LOST) {
        cli_event("lost", NULL, "%s; exit %d", err.text, code);
        return code;
    }
    cli_event("lost", NULL, "%s was lost while it was held (%s); exit %d",
              h->grant.options->name, hf_strreason(reason), code);
    return code;
}

static int end_released(const struct hold *h)
{
    const char *name = h->grant.options->name;
    hf_error err = HF_ERROR_INIT;
    int r = hf_release(h->grant.claim.lock, &err);

    if (r == HF_LOST) {
        return end_lost(h);
    }
    if (r) {
        cli_event("unconfirmed", NULL,
                  "the store did not confirm the release of %s, which may "
                  "stay taken until its lease ends: %s",
                  name, err.text);
        return CLI_EXIT_UNCONFIRMED;
    }
    cli_event_quiet("released", NULL, "%s is released", name);
    return CLI_EXIT_DONE;
}

static int hold(struct hold *h)
{
    int r = tell_held(h);

    if (r) {
        cli_wish_settle(h->grant.options, h->grant.claim.lock, CLI_WISH_UNUSED);
        return r;
    }
    return serve(h) ? end_lost(h) : end_released(h);
}

int cli_hold(const struct cli_options *o)
{
    struct hold h = {.leash = find_leash()};
    int r = cli_wish_check(o);

    if (r) {
        return r;
    }
    r = cli_grant_get(o, &h.grant);
    r = r ? r : hold(&h);
    cli_grant_finish(&h.grant);
    return r;
}
