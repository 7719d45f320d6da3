/* SPDX-License-Identifier: MIT */
/*
 * Decides when the command must end, from three facts: the last safe deadline D
 * that the wrapper told, whether the wrapper lives, and the wrapper's messages.
 * At D - margin - grace all processes get TERM, at D - margin KILL, unless
 * --on-lost says otherwise; when the wrapper dies, KILL at once; after
 * --max-run TERM, and KILL after the grace. Processes that the command leaves
 * behind are ended like the command; the guardian keeps the lock's descriptors
 * until waitpid() says that no process is left. It blocks every signal in a
 * process group of its own, so that nothing typed at a terminal reaches it. It
 * waits neither for exec nor for a reader of its messages, and acts before it
 * reports. Every turn is short, however many processes the command starts or
 * leaves to be reaped: no loop runs past its timer, nor a round of KILL past a
 * fifth of a second, except where the kernel lists no children. Thread: main of
 * the guardian, which has no other.
 */
#include "src/cli/guardian.h"
#include "src/cli/channel.h"
#include "src/cli/child.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/hook.h"
#include "src/cli/text.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The time that other processes (a tee on the command's pipe) have to end by
 * themselves after the command ended. */
#define LINGER_MS 500
/* Pauses between two rounds of KILL: the first while processes die, since one
 * that dies may have forked; the second when none died; the last after SWEEPS
 * such rounds, when all that are left may not be signalled or are stuck in the
 * kernel. */
#define SWEEP_FAST_MS 1
#define SWEEP_MS      20
#define SWEEPS        100
#define SWEEP_SLOW_MS 500
/* The most dead children, and the most messages, that one turn takes. The
 * socket holds fewer messages, so all are read: the last deadline counts. */
#define REAP_MAX 256
/* The pause after an orphan was reaped, so that a command that makes orphans
 * without end does not wake us for each. */
#define REAP_PAUSE_MS 3
#define MESSAGE_MAX   1024
/* Two Ctrl-C within this time kill the command. */
#define DOUBLE_MS 5000

struct guardian {
    struct cli_guard_plan *plan;
    struct cli_signals signals;
    struct cli_ending ending;
    struct cli_interrupt_listener listener;
    struct cli_priority before;
    int channel;
    int timer;
    int report; /* the pipe that reports exec, until it answered; then -1 */
    pid_t child;
    int64_t deadline_ns;
    int64_t over_ns;      /* when --max-run is over; INT64_MAX: no limit */
    int64_t kill_ns;      /* when KILL is due; INT64_MAX: not yet known */
    int64_t linger_ns;    /* when those left are named and get TERM */
    int64_t interrupt_ns; /* time of the last Ctrl-C */
    int64_t sweep_ns;     /* time of the next round of KILL */
    int64_t conts;        /* SIGCONTs passed on for the wrapper */
    int sweeps;           /* rounds in which no process died */
    bool is_behind;       /* more dead children are to be reaped */
    bool is_reaping;      /* the last turn reaped an orphan */
    bool is_asked;        /* all processes got TERM because of the deadline */
    bool is_let_go;       /* lost, but left running: --on-lost ignore */
    bool is_killing;
    bool is_exited;
    bool is_stopped;
    bool is_done;
};

static const char *const kill_reasons[] = {
    [CLI_KILL_LOST] = "the lock is lost",
    [CLI_KILL_AFTER] = "the time of --kill-after is over",
    [CLI_KILL_INTERRUPT] = "interrupted a second time",
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void tell(const struct guardian *g, enum cli_news kind, int number)
{
    (void)cli_channel_send(g->channel, (int)kind, number, 0);
}

/* End: no process of the command is left. */
static void end(struct guardian *g)
{
    g->is_done = true;
    tell(g, CLI_CHANNEL_GONE, 0);
}

static int64_t term_ns(const struct guardian *g)
{
    return g->is_asked ? INT64_MAX
                       : cli_limits_term_ns(&g->plan->limits, g->deadline_ns);
}

static int64_t last_ns(const struct guardian *g)
{
    return g->is_let_go ? INT64_MAX
                        : cli_limits_last_ns(&g->plan->limits, g->deadline_ns);
}

static bool is_ignoring(const struct guardian *g)
{
    return g->plan->limits.on_lost == CLI_ON_LOST_IGNORE;
}

/* The next time of KILL; a round of TERM must be over by then. */
static int64_t next_kill_ns(const struct guardian *g)
{
    return earlier(last_ns(g), g->kill_ns);
}

static void sweep(struct guardian *g)
{
    g->sweeps++;
    (void)cli_ending_kill(&g->ending);
    g->sweep_ns =
        cli_boot_ns() +
        (g->sweeps < SWEEPS ? SWEEP_MS : SWEEP_SLOW_MS) * CLI_NS_PER_MS;
}

static void start_killing(struct guardian *g, const char *reason)
{
    if (g->is_killing || !g->child || g->is_done) {
        return;
    }
    g->is_killing = true;
    sweep(g);
    cli_event(CLI_SAYS, "ending", ",\"signal\":\"KILL\"",
              "%s; killed the command", reason);
}

static void order_hook(const struct guardian *g, const char *reason)
{
    cli_hook_order(g->plan->hook, reason);
}

/* --on-lost ignore: the command goes on, beside the lock's next holder. */
static void let_go(struct guardian *g)
{
    if (g->is_let_go || !g->child || g->is_done) {
        return;
    }
    g->is_let_go = true;
    cli_event(CLI_SAYS, "ignored", NULL,
              "the lock is lost; the command goes on without it, for that is "
              "what --on-lost ignore means");
}

static void handle_lapse(struct guardian *g)
{
    char grace[CLI_DURATION_SIZE];

    g->is_asked = true;
    tell(g, CLI_CHANNEL_LAPSED, 0);
    cli_ending_ask(&g->ending, next_kill_ns(g), false);
    order_hook(g, CLI_HOOK_EXPIRED);
    cli_event(CLI_SAYS, "ending", ",\"signal\":\"TERM\"",
              "the lock was not renewed in time; the command gets TERM, and "
              "KILL after %s",
              cli_duration(g->plan->limits.grace_ms, grace));
}

/* --max-run: the command took too long; the lock is still held. */
static void handle_overrun(struct guardian *g, int64_t now_ns)
{
    char limit[CLI_DURATION_SIZE];
    char grace[CLI_DURATION_SIZE];

    g->over_ns = INT64_MAX;
    g->kill_ns =
        earlier(g->kill_ns, now_ns + g->plan->limits.grace_ms * CLI_NS_PER_MS);
    tell(g, CLI_CHANNEL_OVERRUN, 0);
    cli_ending_ask(&g->ending, next_kill_ns(g), false);
    cli_event(CLI_SAYS, "ending", ",\"signal\":\"TERM\"",
              "the command runs for %s, the time of --max-run; it gets TERM, "
              "and KILL after %s",
              cli_duration(g->plan->options->max_run_ms, limit),
              cli_duration(g->plan->limits.grace_ms, grace));
}

static void handle_time(struct guardian *g)
{
    int64_t now_ns = cli_boot_ns();

    if (!g->child || g->is_done) {
        return;
    }
    if (g->is_killing) {
        if (now_ns >= g->sweep_ns) {
            sweep(g);
        }
    } else if (now_ns >= last_ns(g)) {
        /* This is the last moment before the deadline; with --on-lost ignore it
         * is the deadline itself. */
        tell(g, CLI_CHANNEL_LAPSED, 0);
        if (is_ignoring(g)) {
            let_go(g);
        } else {
            start_killing(g, "the lock is about to be lost");
        }
        order_hook(g, CLI_HOOK_EXPIRED);
    } else if (now_ns >= g->kill_ns) {
        start_killing(g, "what got TERM did not end");
    } else if (now_ns >= term_ns(g)) {
        handle_lapse(g);
    } else if (now_ns >= g->over_ns) {
        handle_overrun(g, now_ns);
    } else if (now_ns >= g->linger_ns) {
        /* The command ended, but processes that it started did not. */
        g->linger_ns = INT64_MAX;
        g->kill_ns = earlier(g->kill_ns,
                             now_ns + g->plan->limits.grace_ms * CLI_NS_PER_MS);
        cli_ending_ask(&g->ending, next_kill_ns(g), true);
    }
}

/* Read whether exec succeeded; if it failed, the child is about to exit. */
static void take_report(struct guardian *g)
{
    int code = g->report < 0 ? -1 : cli_child_report(g->report);

    if (code < 0) {
        return;
    }
    (void)close(g->report);
    g->report = -1;
    if (code) {
        tell(g, CLI_CHANNEL_FAILED, code);
    } else if (g->plan->terminal->fd >= 0) {
        cli_interrupt_listener_start(&g->listener, g->child);
    }
}

/* Once the command was reaped its pid may be an orphan's, so is_exited is
 * checked, too. */
static void handle_status(struct guardian *g, pid_t pid, int status)
{
    if (pid != g->child || g->is_exited) {
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
            cli_interrupt_listener_reaped(&g->listener, pid);
            g->is_reaping = true;
        }
        return;
    }
    if (WIFSTOPPED(status)) {
        g->is_stopped = true;
        (void)cli_channel_send(g->channel, CLI_CHANNEL_STOPPED,
                               WSTOPSIG(status), g->conts);
    } else if (WIFCONTINUED(status)) {
        g->is_stopped = false;
        tell(g, CLI_CHANNEL_CONTINUED, 0);
    } else {
        take_report(g);
        g->ending.is_led = false;
        g->is_exited = true;
        g->linger_ns = cli_boot_ns() + LINGER_MS * CLI_NS_PER_MS;
        g->over_ns = INT64_MAX;
        cli_interrupt_listener_stop(&g->listener);
        tell(g, CLI_CHANNEL_EXITED, status);
    }
}

static void reap(struct guardian *g)
{
    int left = REAP_MAX;
    pid_t pid;

    g->is_behind = false;
    g->is_reaping = false;
    if (!g->child || g->is_done) {
        return;
    }
    do {
        int status;

        pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (pid > 0) {
            handle_status(g, pid, status);
        }
    } while ((pid > 0 && --left > 0) || (pid < 0 && errno == EINTR));
    g->is_behind = pid > 0;
    if (left < REAP_MAX && g->is_killing) {
        g->sweeps = 0;
        g->sweep_ns =
            earlier(g->sweep_ns, cli_boot_ns() + SWEEP_FAST_MS * CLI_NS_PER_MS);
    }
    if (pid < 0 && errno == ECHILD) {
        end(g);
    }
}

static void handle_interrupt(struct guardian *g)
{
    int64_t now_ns = cli_boot_ns();

    for (int n = cli_interrupt_listener_count(&g->listener); n > 0; n--) {
        if (g->interrupt_ns &&
            now_ns - g->interrupt_ns < DOUBLE_MS * CLI_NS_PER_MS) {
            start_killing(g, "Ctrl-C a second time");
        }
        g->interrupt_ns = now_ns;
    }
}

static void start_child(struct guardian *g, struct cli_channel_message *message)
{
    const struct cli_options *o = g->plan->options;
    bool is_ours = cli_terminal_is_ours(g->plan->terminal);
    struct cli_child_plan plan = {
        .command = o->command,
        .is_shell = o->is_shell,
        .environment = message->payload,
        .length = message->length,
        .signals = g->plan->signals,
        .terminal = g->plan->terminal,
        .priority = &g->before,
        .is_foreground = is_ours,
    };
    int code;

    code = cli_child_start(&plan, &g->child, &g->report);
    if (code) {
        tell(g, CLI_CHANNEL_FAILED, code);
        end(g);
        return;
    }
    g->ending.group = g->child;
    g->ending.is_led = true;
    if (o->max_run_ms >= 0) {
        g->over_ns = cli_boot_ns() + o->max_run_ms * CLI_NS_PER_MS;
    }
    tell(g, CLI_CHANNEL_STARTED, g->child);
}

/* The message may be late, because one of the two processes was stopped. */
static void handle_start(struct guardian *g,
                         struct cli_channel_message *message)
{
    g->deadline_ns = message->head.value;
    cli_limits_init(&g->plan->limits, g->plan->options, message->head.number);
    if (cli_boot_ns() >= last_ns(g)) {
        tell(g, CLI_CHANNEL_LAPSED, 0);
        order_hook(g, CLI_HOOK_EXPIRED);
        end(g);
    } else {
        start_child(g, message);
    }
}

static void handle_kill(struct guardian *g, int reason)
{
    if (reason == CLI_KILL_LOST && is_ignoring(g)) {
        let_go(g);
    } else {
        start_killing(g, kill_reasons[reason]);
    }
}

/* A stopped command gets CONT, too, because it acts on no signal before. */
static void pass_on(const struct guardian *g, int number)
{
    if (!g->child || g->is_done) {
        return;
    }
    cli_ending_pass(&g->ending, number);
    if (g->is_stopped && (number == SIGTERM || number == SIGINT ||
                          number == SIGHUP || number == SIGQUIT)) {
        cli_ending_pass(&g->ending, SIGCONT);
    }
}

static void handle_message(struct guardian *g,
                           struct cli_channel_message *message)
{
    switch ((enum cli_order)message->head.kind) {
    case CLI_CHANNEL_START:
        handle_start(g, message);
        break;
    case CLI_CHANNEL_DEADLINE:
        g->deadline_ns = g->is_asked ? g->deadline_ns : message->head.value;
        break;
    case CLI_CHANNEL_SIGNAL:
        pass_on(g, message->head.number);
        g->conts += message->head.number == SIGCONT;
        break;
    case CLI_CHANNEL_KILL:
        handle_kill(g, message->head.number);
        break;
    case CLI_CHANNEL_CLOSED:
        /* The wrapper exited, so nothing renews the lock any more. */
        if (g->child && !g->is_done) {
            start_killing(g, "holdfast itself was killed");
            order_hook(g, CLI_HOOK_DIED);
        }
        g->is_done |= !g->child;
        break;
    }
    cli_free(message->payload);
}

static void read_channel(struct guardian *g, struct pollfd *source)
{
    struct cli_channel_message message;

    for (int left = MESSAGE_MAX; left > 0 && source->fd >= 0 && !g->is_done &&
                                 cli_channel_receive(g->channel, &message);
         left--) {
        if (message.head.kind == CLI_CHANNEL_CLOSED) {
            source->fd = -1;
        }
        handle_message(g, &message);
    }
}

static int pause_ms(const struct guardian *g)
{
    return g->is_behind ? 0 : g->is_reaping ? REAP_PAUSE_MS : -1;
}

/* After the guardian was stopped for a while, it first reads what happened
 * meanwhile, and only then looks at the clock. */
static void guard(struct guardian *g)
{
    struct pollfd fds[] = {{g->channel, POLLIN, 0},
                           {g->timer, POLLIN, 0},
                           {g->signals.fd, POLLIN, 0},
                           {-1, POLLIN, 0},
                           {-1, POLLIN, 0}};

    while (!g->is_done) {
        int64_t at_ns = INT64_MAX;

        if (g->is_killing) {
            at_ns = g->sweep_ns;
        } else if (g->child) {
            at_ns = earlier(earlier(term_ns(g), next_kill_ns(g)), g->linger_ns);
            at_ns = earlier(at_ns, g->over_ns);
        }
        cli_timer_set(g->timer, at_ns);
        fds[3].fd = g->listener.pid ? g->listener.fd : -1;
        fds[4].fd = g->report;
        fds[2].fd = g->is_reaping ? -1 : g->signals.fd;
        (void)poll(fds, sizeof fds / sizeof *fds, pause_ms(g));
        (void)cli_signals_next(&g->signals);
        take_report(g);
        reap(g);
        read_channel(g, &fds[0]);
        handle_time(g);
        handle_interrupt(g);
    }
}

_Noreturn static void be_guardian(struct cli_guard_plan *plan, int channel)
{
    struct guardian g = {
        .plan = plan,
        .signals = *plan->signals,
        .channel = channel,
        .report = -1,
        .deadline_ns = INT64_MAX,
        .over_ns = INT64_MAX,
        .kill_ns = INT64_MAX,
        .linger_ns = INT64_MAX,
        .listener = {.fd = -1},
    };

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_NAME, "holdfast-guard");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L);
    cli_priority_raise(&g.before);
    g.timer = cli_timer_new();
    if (g.timer < 0 || cli_signals_guard(&g.signals)) {
        _exit(1);
    }
    guard(&g);
    _exit(0);
}

int cli_guardian_start(struct cli_guard_plan *plan,
                       struct cli_guardian *ret_guardian)
{
    int ends[2];

    if (cli_channel_pair(ends)) {
        return -1;
    }
    ret_guardian->pid = fork();
    if (!ret_guardian->pid) {
        (void)close(ends[0]);
        be_guardian(plan, ends[1]);
    }
    (void)close(ends[1]);
    ret_guardian->channel = ends[0];
    if (ret_guardian->pid < 0) {
        (void)close(ends[0]);
        return -1;
    }
    (void)setpgid(ret_guardian->pid, ret_guardian->pid);
    ret_guardian->started = cli_process_started(ret_guardian->pid);
    return 0;
}
