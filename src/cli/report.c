/* SPDX-License-Identifier: MIT */
/*
 * Reports how a run ended, to a shell, a program and Prometheus. 126 and 127
 * are used as a shell does. The last event and the status file are one JSON
 * object with outcome, status, child_exit and child_signal. The metrics file
 * has the text format that node_exporter's textfile collector reads: all are
 * gauges, because they belong to one run. The time of the last success is
 * carried over from the replaced file: an alert needs its age, and a run that
 * found the lock busy must not hide it. Thread: main.
 */
#include "src/cli/report.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/file.h"
#include "src/cli/output.h"
#include "src/cli/text.h"
#include "src/cli/wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void cli_outcome_child(const struct cli_options *o, int exec_errno, int status,
                       struct cli_result *result)
{
    if (exec_errno == ENOMEM) {
        result->outcome = "no-memory";
        result->status = CLI_EXIT_MEMORY;
        cli_event(CLI_SAYS, result->outcome, NULL,
                  "cannot run %s: out of memory",
                  o->is_shell ? "/bin/sh" : o->command[0]);
    } else if (exec_errno) {
        bool is_missing = exec_errno == ENOENT || exec_errno == ENOTDIR;

        result->outcome = is_missing ? "not-found" : "not-executable";
        result->status = is_missing ? CLI_EXIT_NOTFOUND : CLI_EXIT_NOEXEC;
        cli_event(CLI_SAYS, result->outcome, NULL, "cannot run %s: %s",
                  o->is_shell ? "/bin/sh" : o->command[0],
                  strerror(exec_errno));
    } else if (WIFSIGNALED(status)) {
        result->outcome = "signaled";
        result->child_signal = WTERMSIG(status);
        result->status = CLI_EXIT_SIGNAL + result->child_signal;
    } else {
        result->outcome = "exited";
        result->child_exit = WEXITSTATUS(status);
        result->status = result->child_exit;
    }
}

#define STATUS_MODE 0666

int cli_result_check(const struct cli_options *o)
{
    int r = o->status_file
                ? cli_atomic_file_check("--status-file", o->status_file)
                : 0;

    return r || !o->metrics_file
               ? r
               : cli_atomic_file_check("--metrics-file", o->metrics_file);
}

static void add_fields(struct cli_text *text, const struct cli_result *result)
{
    cli_text_add(text, "\"outcome\":\"%s\",\"status\":%d", result->outcome,
                 result->status);
    if (result->child_exit >= 0) {
        cli_text_add(text, ",\"child_exit\":%d", result->child_exit);
    } else {
        cli_text_add(text, ",\"child_exit\":null");
    }
    if (result->child_signal) {
        cli_text_add(text, ",\"child_signal\":%d", result->child_signal);
    } else {
        cli_text_add(text, ",\"child_signal\":null");
    }
}

void cli_result_tell(const struct cli_options *o,
                     const struct cli_result *result)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text file CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&fields, ",");
    add_fields(&fields, result);
    cli_event(CLI_QUIET, "exit", fields.data, "outcome %s, exit code %d",
              result->outcome, result->status);
    if (o->status_file) {
        cli_text_add(&file, "{");
        add_fields(&file, result);
        cli_text_add(&file, "}\n");
        cli_atomic_file_write("--status-file", o->status_file, &file,
                              STATUS_MODE);
    }
}

#define METRICS_MODE 0644
#define SUCCESS      "holdfast_run_last_success_timestamp_seconds"
#define SUCCESS_HELP "When a run last ended with 0."
#define OLD_SIZE     65536

struct page {
    struct cli_text text;
    char *labels; /* name="…",store="…" */
};

/* Only newline, quote and backslash have a meaning within the quotes of a
 * label. */
static void add_label(struct cli_text *text, const char *label,
                      const char *value)
{
    cli_text_add(text, "%s=\"", label);
    for (const char *c = value; *c; c++) {
        if (*c == '\n') {
            cli_text_add(text, "\\n");
        } else {
            cli_text_add(text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
    }
    cli_text_add(text, "\"");
}

/* Only the first sample of a metric has help, a further one NULL. `more` is ""
 * or further labels that begin with a comma. */
static void add_sample(struct page *page, const char *metric, const char *help,
                       const char *more)
{
    if (help) {
        cli_text_add(&page->text, "# HELP %s %s\n# TYPE %s gauge\n", metric,
                     help, metric);
    }
    cli_text_add(&page->text, "%s{%s%s} ", metric, page->labels, more);
}

static void add_count(struct page *page, const char *metric, const char *help,
                      const char *more, uint64_t value)
{
    add_sample(page, metric, help, more);
    cli_text_add(&page->text, "%" PRIu64 "\n", value);
}

static void add_us(struct page *page, const char *metric, const char *help,
                   int64_t us)
{
    us = us < 0 ? 0 : us;
    add_sample(page, metric, help, "");
    cli_text_add(&page->text, "%" PRId64 ".%06" PRId64 "\n", us / 1000000,
                 us % 1000000);
}

static void add_ends(struct page *page, const struct cli_wrapper *w)
{
    int64_t now_us = cli_wall_us();
    int64_t ran_us = (cli_boot_ns() - w->started_ns) / 1000;

    add_us(page, "holdfast_run_start_timestamp_seconds",
           "When the last run began.", now_us - ran_us);
    add_us(page, "holdfast_run_end_timestamp_seconds",
           "When the last run ended.", now_us);
}

static void add_result(struct page *page, const struct cli_result *result)
{
    char *more CLI_AUTO(cli_free_auto) =
        cli_format(",outcome=\"%s\"", result->outcome);

    add_count(page, "holdfast_run_exit_code", "The exit code of holdfast.", "",
              (uint64_t)result->status);
    add_count(page, "holdfast_run_outcome", "How it ended; the value is 1.",
              more, 1);
}

/* Two times: from the first attempt to the grant, or to the end of the wait;
 * and from the grant to the end of the command. */
static void add_spans(struct page *page, const struct cli_wrapper *w)
{
    const struct cli_claim *claim = &w->claim;
    int64_t now_ns = cli_boot_ns();
    int64_t granted_ns = claim->granted_ns;
    int64_t end_ns = granted_ns ? granted_ns : now_ns;
    int64_t wait_ns = claim->started_ns ? end_ns - claim->started_ns : 0;
    int64_t hold_ns = granted_ns ? w->ended_ns - granted_ns : 0;

    add_count(page, "holdfast_run_attempts", "Attempts to acquire the lock.",
              "", (uint64_t)claim->attempts);
    add_count(page, "holdfast_run_acquired", "Whether the lock was acquired.",
              "", granted_ns != 0);
    add_us(page, "holdfast_run_wait_seconds", "How long it waited.",
           wait_ns / 1000);
    add_us(page, "holdfast_run_hold_seconds", "How long it held the lock.",
           hold_ns / 1000);
}

/* The library's statistics; zeros while the store is still being opened. */
static void add_stats(struct page *page, const struct cli_claim *claim)
{
    hf_stats_info stats = HF_STATS_INFO_INIT;
    bool is_open = atomic_load(&claim->phase) > CLI_CLAIM_OPENING;

    if (is_open && claim->client) {
        (void)!hf_stats(claim->client, &stats);
    }
    add_count(page, "holdfast_run_renewals",
              "Renewals that were confirmed, and that were not.",
              ",result=\"ok\"", stats.renewed);
    add_count(page, "holdfast_run_renewals", NULL, ",result=\"failed\"",
              stats.renew_failed);
    add_count(page, "holdfast_run_store_operations",
              "Operations that were sent to the store.", "", stats.operations);
    add_count(page, "holdfast_run_store_connects",
              "Connections to the store that were opened.", "", stats.connects);
}

static void add_lost(struct page *page, hf_reason lost)
{
    static const hf_reason reasons[] = {HF_REASON_EXPIRED, HF_REASON_TAKEN,
                                        HF_REASON_BROKEN, HF_REASON_SESSION,
                                        HF_REASON_STORE_GONE};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char *more CLI_AUTO(cli_free_auto) =
            cli_format(",reason=\"%s\"", hf_strreason(reasons[i]));

        add_count(page, "holdfast_run_lost",
                  i ? NULL : "Whether the lock was lost while the command ran.",
                  more, reasons[i] == lost);
    }
}

/* Copy the time of the last success from the old file, for the same name and
 * store. */
static void carry_over(struct page *page, const char *path)
{
    char *old CLI_AUTO(cli_free_auto) = cli_alloc(OLD_SIZE);
    char *line CLI_AUTO(cli_free_auto) =
        cli_format("\n" SUCCESS "{%s} ", page->labels);
    int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    ssize_t n = fd < 0 ? 0 : read(fd, old, OLD_SIZE - 1);
    const char *at = n > 0 ? strstr(old, line) : NULL;
    size_t length = at ? strspn(at + strlen(line), "0123456789.") : 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    if (length) {
        add_sample(page, SUCCESS, SUCCESS_HELP, "");
        cli_text_add(&page->text, "%.*s\n", (int)length, at + strlen(line));
    }
}

static void add_success(struct page *page, const struct cli_result *result,
                        const char *path)
{
    if (result->status || result->child_exit) {
        carry_over(page, path);
        return;
    }
    add_us(page, SUCCESS, SUCCESS_HELP, cli_wall_us());
}

void cli_metrics_tell(const struct cli_wrapper *w,
                      const struct cli_result *result)
{
    const struct cli_options *o = w->options;
    struct cli_text labels CLI_AUTO(cli_text_fini) = {0};
    struct page page = {0};

    if (!o->metrics_file) {
        return;
    }
    add_label(&labels, "name", o->name);
    cli_text_add(&labels, ",");
    add_label(&labels, "store", w->store.shown ? w->store.shown : "");
    page.labels = labels.data;
    add_ends(&page, w);
    add_result(&page, result);
    add_spans(&page, w);
    add_stats(&page, &w->claim);
    add_lost(&page, w->lost_reason);
    add_success(&page, result, o->metrics_file);
    cli_atomic_file_write("--metrics-file", o->metrics_file, &page.text,
                          METRICS_MODE);
    cli_text_fini(&page.text);
}
