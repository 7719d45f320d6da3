/* SPDX-License-Identifier: MIT */
/*
 * What the wrapper does with each event: a signal, the claim's progress, a
 * message of the guardian, a passing time. It never stops itself while it holds
 * the lock; TSTP stops the command and the renewals go on. The guardian ends
 * the command in time. If the guardian was killed, its children became the
 * wrapper's, because both are subreapers; children that the wrapper had before
 * it forked the guardian belong to its caller and are left alone.
 * At a terminal the shell's child is only the job, and the wrapper is its
 * child: a shell stops only its own child, and if that one renewed, Ctrl-Z
 * would cost the lock. The job passes on every signal except a stop that the
 * wrapper asked for. The wrapper dies with the job; the job ends with the
 * wrapper's code. Thread: main; in struct job's functions, main of the job.
 */
#include "src/cli/wrapper.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/output.h"
#include "src/cli/text.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_MS 10
/* The most children reaped between two rounds. */
#define ORPHANS_MAX 1024

void cli_orphans_reap(struct cli_guardian *guardian, struct cli_hook *hook,
                      int left)
{
    pid_t pid;

    do {
        pid = waitpid(-1, NULL, WNOHANG);
        guardian->is_reaped |= pid > 0 && pid == guardian->pid;
        hook->is_reaped |= pid > 0 && pid == hook->pid;
    } while (pid > 0 && --left > 0);
}

void cli_orphans_kill(struct cli_guardian *guardian, struct cli_hook *hook,
                      pid_t group)
{
    struct cli_ending ending = {
        .tree.since = guardian->started,
        .group = group,
    };

    for (;;) {
        ending.tree.except = hook->is_reaped ? 0 : hook->pid;
        if (cli_ending_kill(&ending) <= 0) {
            break;
        }
        (void)poll(NULL, 0, SWEEP_MS);
        cli_orphans_reap(guardian, hook, ORPHANS_MAX);
    }
}

/* The value that comes with the wrapper's SIGTSTP to the job. */
enum { STOP_JOB = 1, STOP_ALL = 2 };

struct job {
    pid_t wrapper;
    const struct cli_signals *signals;
};

static void reap(const struct job *f)
{
    pid_t pid;
    int status;

    do {
        pid = waitpid(-1, &status, WNOHANG);
        if (pid == f->wrapper) {
            _exit(WIFEXITED(status) ? WEXITSTATUS(status)
                                    : CLI_EXIT_SIGNAL + WTERMSIG(status));
        }
    } while (pid > 0 || (pid < 0 && errno == EINTR));
}

/* Stop ourselves, or our whole job, as the terminal would. The kernel ignores
 * the signal in a group that no shell could continue. Returns whether we were
 * stopped. */
static bool stop(pid_t who)
{
    sigset_t only;
    sigset_t pending;

    (void)sigemptyset(&only);
    (void)sigaddset(&only, SIGTSTP);
    (void)kill(who, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)sigprocmask(SIG_BLOCK, &only, NULL);
    (void)sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

/* One signal stops us together with the script or pipeline that we are part of:
 * a second one could come after the shell let us go on. */
static void stop_job(const struct job *f, int what)
{
    if (what == STOP_ALL) {
        (void)kill(f->wrapper, SIGSTOP);
        (void)stop(getpid());
        (void)kill(f->wrapper, SIGCONT);
    } else if (!stop(0)) {
        cli_event(CLI_SAYS, "stopped", NULL,
                  "there is no shell to continue it: Ctrl-Z lets it go on, "
                  "Ctrl-C ends it");
    }
}

static void handle(const struct job *f, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCHLD) {
        reap(f);
    } else if (number == SIGTSTP && (pid_t)info->ssi_pid == f->wrapper) {
        stop_job(f, info->ssi_code == SI_QUEUE ? info->ssi_int : 0);
    } else {
        (void)kill(f->wrapper, number);
    }
}

_Noreturn static void be_job(const struct job *f)
{
    struct pollfd change = {f->signals->fd, POLLIN, 0};
    struct signalfd_siginfo info;

    (void)prctl(PR_SET_NAME, "holdfast-job");
    for (;;) {
        (void)poll(&change, 1, -1);
        while (cli_signals_take(f->signals, &info)) {
            handle(f, &info);
        }
    }
}

int cli_job_start(const struct cli_signals *signals,
                  const struct cli_terminal *terminal, pid_t *ret_job)
{
    struct job f = {.signals = signals};
    pid_t job = getpid();

    *ret_job = 0;
    if (terminal->fd < 0) {
        return 0;
    }
    f.wrapper = fork();
    if (f.wrapper < 0) {
        return -1;
    }
    if (f.wrapper) {
        (void)setpgid(f.wrapper, f.wrapper);
        be_job(&f);
    }
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != job) {
        _exit(CLI_EXIT_INTERNAL);
    }
    *ret_job = job;
    return 0;
}

/* The command was stopped at the terminal, or because it wanted the terminal:
 * stop the job, or say how to go on if no shell could continue it. */
static void job_stop(pid_t job, const struct cli_terminal *terminal)
{
    if (job && terminal->home) {
        (void)sigqueue(job, SIGTSTP, (union sigval){.sival_int = STOP_JOB});
    }
}

/* Stop the job and the wrapper, which only waits for the lock. */
static void job_stop_all(pid_t job)
{
    (void)sigqueue(job, SIGTSTP, (union sigval){.sival_int = STOP_ALL});
}

/* The deadline is sent again at least this often while it moves. */
#define TICK_MAX_MS 1000
/* With a terminal a turn comes at least this often, to notice when the
 * foreground becomes ours. */
#define TICK_TERMINAL_MS 200
/* The most dead children, and the most signals, that one turn takes, so that a
 * flood of them does not keep us from renewing. */
#define REAP_MAX   256
#define SIGNAL_MAX 64

/* Continue the guardian in case it was stopped, since it would act on
 * nothing. */
static void wake_guardian(const struct cli_wrapper *w)
{
    if (!w->guardian.is_reaped) {
        (void)kill(w->guardian.pid, SIGCONT);
    }
}

static void tell_guardian(const struct cli_wrapper *w, enum cli_order kind,
                          int number)
{
    wake_guardian(w);
    (void)cli_channel_send(w->guardian.channel, (int)kind, number, 0);
}

static void handle_while_waiting(struct cli_wrapper *w, int number)
{
    if (!cli_waiting_hear(&w->claim, number, &w->wait_signal)) {
        return;
    }
    if (w->job) {
        job_stop_all(w->job);
    } else {
        (void)kill(getpid(), SIGSTOP);
    }
}

/* Continue the command, in the foreground if the shell gave it to us. */
static void continue_child(struct cli_wrapper *w)
{
    if (cli_terminal_is_ours(&w->terminal) && !w->is_child_done) {
        cli_terminal_give(&w->terminal, w->child);
    }
    wake_guardian(w);
    if (cli_channel_send(w->guardian.channel, CLI_CHANNEL_SIGNAL, SIGCONT, 0) ==
        0) {
        w->conts++;
        w->stop_signal = 0;
    }
}

static void handle_while_running(struct cli_wrapper *w, int number)
{
    if (number == SIGCONT || (number == SIGTSTP && w->stop_signal)) {
        continue_child(w);
        return;
    }
    if (number == SIGINT && ++w->interrupts > 1) {
        tell_guardian(w, CLI_CHANNEL_KILL, CLI_KILL_INTERRUPT);
        return;
    }
    if (number == SIGTERM && w->options->kill_after_ms >= 0 &&
        w->kill_ns == INT64_MAX) {
        w->kill_ns = cli_boot_ns() + w->options->kill_after_ms * CLI_NS_PER_MS;
    }
    tell_guardian(w, CLI_CHANNEL_SIGNAL, number);
}

static void handle_signals(struct cli_wrapper *w)
{
    int left = SIGNAL_MAX;
    int number;

    while (left-- > 0 && (number = cli_signals_next(&w->signals))) {
        if (number == SIGCHLD) {
            cli_orphans_reap(&w->guardian, &w->hook, REAP_MAX);
        } else if (w->is_serving) {
            handle_while_running(w, number);
        } else {
            handle_while_waiting(w, number);
        }
    }
}

/* Tell whether a stop is pointless: the command has the terminal that it was
 * stopped for, or can get it; or no shell could continue it. */
static bool is_pointless(const struct cli_wrapper *w, int number)
{
    bool is_for_terminal = number == SIGTTIN || number == SIGTTOU;

    return w->terminal.fd >= 0 &&
           (!w->terminal.home ||
            (is_for_terminal && (cli_terminal_is_ours(&w->terminal) ||
                                 cli_terminal_is_of(&w->terminal, w->child))));
}

/* Let the shell see the command as stopped, unless it was stopped by hand, from
 * elsewhere. */
static void handle_stop(struct cli_wrapper *w, int number)
{
    w->stop_signal = number;
    if (is_pointless(w, number)) {
        continue_child(w);
        return;
    }
    if (cli_terminal_take(&w->terminal, w->child) ||
        (number == SIGTSTP && cli_terminal_is_ours(&w->terminal))) {
        cli_event(CLI_SAYS, "stopped", NULL,
                  "the command is stopped, the lock stays held");
    } else if (number != SIGTTIN && number != SIGTTOU) {
        return;
    }
    job_stop(w->job, &w->terminal);
}

/* A process in our pipeline may have been stopped because the command had the
 * terminal: continue it. */
static void take_terminal_back(const struct cli_wrapper *w)
{
    if (cli_terminal_take(&w->terminal, w->child)) {
        (void)kill(-w->terminal.home, SIGCONT);
    }
}

static void handle_message(struct cli_wrapper *w,
                           const struct cli_channel_message *message)
{
    switch ((enum cli_news)message->head.kind) {
    case CLI_CHANNEL_STARTED:
        w->child = message->head.number;
        break;
    case CLI_CHANNEL_FAILED:
        w->exec_errno = message->head.number;
        break;
    case CLI_CHANNEL_STOPPED:
        if (message->head.value == w->conts) { /* else it runs again */
            handle_stop(w, message->head.number);
        }
        break;
    case CLI_CHANNEL_CONTINUED:
        w->stop_signal = 0;
        break;
    case CLI_CHANNEL_LAPSED:
        w->is_lapsed = true;
        break;
    case CLI_CHANNEL_OVERRUN:
        w->is_overrun = true;
        break;
    case CLI_CHANNEL_EXITED:
        w->is_child_done = true;
        w->child_status = message->head.number;
        take_terminal_back(w);
        break;
    case CLI_CHANNEL_GONE:
        w->is_gone = true;
        break;
    case CLI_CHANNEL_DIED:
        w->is_guard_dead = true;
        break;
    }
}

static void handle_channel(struct cli_wrapper *w)
{
    struct cli_channel_message message;

    while (!w->is_gone && !w->is_guard_dead &&
           cli_channel_receive(w->guardian.channel, &message)) {
        handle_message(w, &message);
        cli_free(message.payload);
    }
}

/* Sleep until an event comes, then take signals and messages. */
static void step(struct cli_wrapper *w, int timeout_ms)
{
    struct pollfd fds[] = {{w->signals.fd, POLLIN, 0},
                           {w->claim.event_fd, POLLIN, 0},
                           {w->guardian.channel, POLLIN, 0}};
    (void)poll(fds, sizeof fds / sizeof *fds, timeout_ms);
    handle_signals(w);
    handle_channel(w);
}

enum cli_claim_phase cli_wrapper_wait(struct cli_wrapper *w)
{
    enum cli_claim_phase phase;
    int timeout_ms = -1;

    for (;;) {
        phase = cli_claim_look(&w->claim);
        if (phase >= CLI_CLAIM_HELD || w->is_guard_dead ||
            (phase == CLI_CLAIM_OPENING && w->wait_signal)) {
            break;
        }
        if (phase == CLI_CLAIM_WAITING) {
            cli_waiting_start(&w->waiting, &w->claim);
            timeout_ms = cli_waiting_show(
                &w->waiting,
                cli_terminal_may_draw(w->terminal.fd, w->terminal.home));
        }
        step(w, timeout_ms);
    }
    cli_waiting_stop(&w->waiting);
    return phase;
}

/* The time until which the lock is surely held, on CLOCK_BOOTTIME. The clock is
 * read first, so that a pause between the two calls only shortens it. */
static int64_t safe_deadline(const struct cli_wrapper *w)
{
    int64_t now_ns = cli_boot_ns();

    return now_ns + hf_remaining_ms(w->claim.lock) * CLI_NS_PER_MS;
}

/* Tell whether the command, without a renewal, is about to get TERM, or
 * got it. */
static bool is_near(const struct cli_wrapper *w, int64_t deadline_ns)
{
    return cli_boot_ns() > cli_limits_first_ns(&w->plan.limits, deadline_ns);
}

static void handle_loss(struct cli_wrapper *w)
{
    hf_reason reason = hf_lost_reason(w->claim.lock);
    char *fields CLI_AUTO(cli_free_auto) = NULL;

    if (w->is_lost) {
        return;
    }
    w->is_lost = true;
    /* This comes first, because an event may have to wait for its reader. */
    tell_guardian(w, CLI_CHANNEL_KILL, CLI_KILL_LOST);
    cli_hook_order(w->hook.fd, hf_strreason(reason));
    fields = cli_format(",\"reason\":\"%s\"", hf_strreason(reason));
    cli_event(CLI_QUIET, "lost", fields, "the lock is lost (%s)",
              hf_strreason(reason));
}

static void watch_deadline(struct cli_wrapper *w)
{
    int64_t deadline_ns = safe_deadline(w);

    if (!hf_held(w->claim.lock)) {
        handle_loss(w);
        return;
    }
    if (deadline_ns > w->deadline_ns + 2 * CLI_NS_PER_MS) {
        wake_guardian(w);
        if (!cli_channel_send(w->guardian.channel, CLI_CHANNEL_DEADLINE, 0,
                              deadline_ns)) {
            w->deadline_ns = deadline_ns;
        }
    }
    if (is_near(w, deadline_ns)) {
        wake_guardian(w);
    }
}

/*
 * A shell's fg gives a running job the terminal without a signal: pass it on to
 * the command, and continue a command that was stopped for want of it. A
 * command that was stopped by hand stays stopped.
 */
static void watch_terminal(struct cli_wrapper *w)
{
    if (!w->child || w->is_child_done || !cli_terminal_is_ours(&w->terminal)) {
        return;
    }
    if (!w->stop_signal) {
        cli_terminal_give(&w->terminal, w->child);
    } else if (w->stop_signal == SIGTTIN || w->stop_signal == SIGTTOU) {
        continue_child(w);
    }
}

static int tick_ms(const struct cli_wrapper *w)
{
    int64_t ms = cli_claim_lease_ms(&w->claim) / 12;

    if (w->kill_ns != INT64_MAX) {
        int64_t left_ms = (w->kill_ns - cli_boot_ns()) / CLI_NS_PER_MS + 1;

        ms = left_ms < ms ? left_ms : ms;
    }
    if (w->terminal.fd >= 0 && ms > TICK_TERMINAL_MS) {
        ms = TICK_TERMINAL_MS;
    }
    return ms < 5 ? 5 : ms > TICK_MAX_MS ? TICK_MAX_MS : (int)ms;
}

static bool start(struct cli_wrapper *w)
{
    struct cli_text payload CLI_AUTO(cli_text_fini) = {0};
    int fds[CLI_CHANNEL_FDS];
    int count = hf_lock_fds(w->claim.lock, fds, CLI_CHANNEL_FDS);
    int64_t lease_ms = cli_claim_lease_ms(&w->claim);

    cli_limits_init(&w->plan.limits, w->options, lease_ms);
    cli_hook_arm(w->hook.fd, hf_fence(w->claim.lock));
    /* The deadline is near if the store was slow, or we were stopped while it
     * answered. */
    if (is_near(w, safe_deadline(w))) {
        (void)!hf_renew(w->claim.lock, NULL);
    }
    w->deadline_ns = safe_deadline(w);
    if (!hf_held(w->claim.lock)) {
        handle_loss(w);
        return false;
    }
    cli_environment_fill(&payload, &w->claim, w->deadline_ns);
    count = count < 0 ? 0 : count < CLI_CHANNEL_FDS ? count : CLI_CHANNEL_FDS;
    w->is_serving = true;
    wake_guardian(w);
    w->is_guard_dead |=
        cli_channel_send_start(w->guardian.channel, w->deadline_ns, lease_ms,
                               &payload, fds, count) < 0;
    return true;
}

void cli_wrapper_serve(struct cli_wrapper *w)
{
    if (!start(w)) {
        return;
    }
    while (!w->is_gone && !w->is_guard_dead) {
        enum cli_claim_phase phase;

        step(w, tick_ms(w));
        phase = cli_claim_look(&w->claim);
        if (w->is_gone || w->is_guard_dead) {
            break;
        }
        if (phase == CLI_CLAIM_ENDED) {
            handle_loss(w);
        } else {
            watch_deadline(w);
        }
        watch_terminal(w);
        if (cli_boot_ns() >= w->kill_ns) {
            w->kill_ns = INT64_MAX;
            tell_guardian(w, CLI_CHANNEL_KILL, CLI_KILL_AFTER);
        }
    }
    if (!w->is_gone) {
        if (!w->guardian.is_reaped) {
            (void)kill(w->guardian.pid, SIGKILL);
        }
        cli_orphans_kill(&w->guardian, &w->hook, w->child);
        cli_event(CLI_SAYS, "internal", NULL,
                  "the guardian process died; what it guarded was killed");
    }
    take_terminal_back(w);
}
