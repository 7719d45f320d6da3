/* SPDX-License-Identifier: MIT */
/*
 * How a message travels between wrapper and guardian: as one packet of a
 * SEQPACKET socket, so that it arrives whole or not at all. Nothing here
 * blocks, because a stopped wrapper must not hold up its guardian. For a
 * deadline D, TERM is due at D - margin - grace and KILL at D - margin; with
 * --on-lost kill there is no TERM, with --on-lost ignore neither TERM nor KILL.
 * The command's variables are here, too (`help run` explains them): the store's
 * password is removed without --pass-password. Thread: main of either process;
 * the functions of time: any.
 */
#include "src/cli/channel.h"
#include "src/cli/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

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

/* A renewal is sent at a third of the lease and retried each twelfth: a grace
 * of a sixth leaves two more tries before TERM. */
#define GRACE_PART 6
#define MARGIN_MS  250

static int64_t before(int64_t deadline_ns, int64_t ms)
{
    return deadline_ns == INT64_MAX ? INT64_MAX
                                    : deadline_ns - ms * CLI_NS_PER_MS;
}

void cli_limits_init(struct cli_limits *limits, const struct cli_options *o,
                     int64_t lease_ms)
{
    int64_t grace_ms = lease_ms / GRACE_PART;
    int64_t margin_ms = lease_ms / 20;

    grace_ms = grace_ms > o->grace_ms ? o->grace_ms : grace_ms;
    limits->grace_ms = cli_option_given(o, "grace") ? o->grace_ms : grace_ms;
    limits->margin_ms = margin_ms < MARGIN_MS ? MARGIN_MS : margin_ms;
    limits->on_lost = !strcmp(o->on_lost, "ignore") ? CLI_ON_LOST_IGNORE
                      : !strcmp(o->on_lost, "kill") ? CLI_ON_LOST_KILL
                                                    : CLI_ON_LOST_TERM;
}

int64_t cli_limits_term_ns(const struct cli_limits *limits, int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_TERM
               ? before(deadline_ns, limits->margin_ms + limits->grace_ms)
               : INT64_MAX;
}

int64_t cli_limits_kill_ns(const struct cli_limits *limits, int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_IGNORE
               ? INT64_MAX
               : before(deadline_ns, limits->margin_ms);
}

int64_t cli_limits_last_ns(const struct cli_limits *limits, int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_IGNORE
               ? deadline_ns
               : cli_limits_kill_ns(limits, deadline_ns);
}

int64_t cli_limits_first_ns(const struct cli_limits *limits,
                            int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_TERM
               ? cli_limits_term_ns(limits, deadline_ns)
               : cli_limits_last_ns(limits, deadline_ns);
}

/* The payload fits: a URL has at most 4096 bytes, a name 255. */
#define PACKET_MAX 16384

union control {
    char bytes[CMSG_SPACE(sizeof(int) * CLI_CHANNEL_FDS)];
    struct cmsghdr align;
};

int cli_channel_pair(int ret_ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends);
}

static int send_packet(int fd, const struct msghdr *packet)
{
    ssize_t n;

    do {
        n = sendmsg(fd, packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

int cli_channel_send(int fd, int kind, int number, int64_t value)
{
    struct cli_channel_head head = {kind, number, value};
    struct iovec part = {&head, sizeof head};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

    return send_packet(fd, &packet);
}

int cli_channel_send_start(int fd, int64_t deadline_ns, int64_t lease_ms,
                           const struct cli_text *payload, const int *fds,
                           int fd_count)
{
    struct cli_channel_head head = {CLI_CHANNEL_START, (int32_t)lease_ms,
                                    deadline_ns};
    struct iovec parts[2] = {{&head, sizeof head},
                             {payload->data, payload->length}};
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 2};
    union control control = {{0}};

    if (fd_count > 0) {
        size_t size = sizeof(int) * (size_t)fd_count;
        struct cmsghdr *c = &control.align;

        packet.msg_control = control.bytes;
        packet.msg_controllen = (socklen_t)CMSG_SPACE(size);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = (socklen_t)CMSG_LEN(size);
        memcpy(CMSG_DATA(c), fds, size);
    }
    return send_packet(fd, &packet);
}

/* Descriptors that come with the message stay open and are not used: it is
 * enough that this process has them. */
int cli_channel_receive(int fd, struct cli_channel_message *ret_message)
{
    union control control = {{0}};
    char *room CLI_AUTO(cli_free_auto) = cli_alloc(PACKET_MAX);
    struct iovec parts[2] = {{&ret_message->head, sizeof ret_message->head},
                             {room, PACKET_MAX - 1}};
    struct msghdr packet = {.msg_iov = parts,
                            .msg_iovlen = 2,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    ssize_t n;

    do {
        n = recvmsg(fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        /* A side that exits with a message unread resets the connection: that
         * error comes once, before the last messages it sent. */
    } while (n < 0 && errno == ECONNRESET);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    *ret_message = (struct cli_channel_message){.head = ret_message->head};
    if (n < (ssize_t)sizeof ret_message->head) {
        ret_message->head = (struct cli_channel_head){0};
    }
    if (n > (ssize_t)sizeof ret_message->head) {
        ret_message->length = (size_t)n - sizeof ret_message->head;
        ret_message->payload = cli_strndup(room, ret_message->length);
    }
    return 1;
}
