/* SPDX-License-Identifier: MIT */
/*
 * Decides how a message travels: one packet of a SEQPACKET socket, so that
 * it arrives whole or not at all. Nothing here blocks: a wrapper that is
 * stopped must not hold up its guardian. Thread: main of either process.
 */
#include "src/cli/link.h"
#include "src/cli/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A URL has at most 4096 bytes, a name 255. */
#define PACKET_MAX 16384

union control {
    char bytes[CMSG_SPACE(sizeof(int) * CLI_LINK_FDS)];
    struct cmsghdr align;
};

int cli_link_pair(int ret_ends[2])
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

int cli_link_send(int fd, enum cli_link_kind kind, int number, int64_t value)
{
    struct cli_link_head head = {(int32_t)kind, number, value};
    struct iovec part = {&head, sizeof head};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

    return send_packet(fd, &packet);
}

int cli_link_send_start(int fd, int64_t deadline_ns, int64_t lease_ms,
                        const struct cli_text *payload, const int *fds,
                        int fd_count)
{
    struct cli_link_head head = {CLI_LINK_START, (int32_t)lease_ms,
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

static void take_fds(struct msghdr *packet, struct cli_link_message *message)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(packet);

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        size_t size = c->cmsg_len - CMSG_LEN(0);

        message->fd_count = (int)(size / sizeof(int));
        memcpy(message->fds, CMSG_DATA(c), size);
    }
}

int cli_link_receive(int fd, struct cli_link_message *ret_message)
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
        /* A side that ended with a message unread resets the connection:
         * that error comes once, before the last words it sent. */
    } while (n < 0 && errno == ECONNRESET);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    *ret_message = (struct cli_link_message){.head = ret_message->head};
    if (n < (ssize_t)sizeof ret_message->head) {
        ret_message->head = (struct cli_link_head){.kind = CLI_LINK_CLOSED};
    }
    if (n > (ssize_t)sizeof ret_message->head) {
        ret_message->length = (size_t)n - sizeof ret_message->head;
        ret_message->payload = cli_strndup(room, ret_message->length);
    }
    take_fds(&packet, ret_message);
    return 1;
}
