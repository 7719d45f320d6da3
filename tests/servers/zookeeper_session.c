/* SPDX-License-Identifier: MIT */
/*
 * What a server tells of itself, by its four-letter words, and the end of a
 * session at will. Whoever knows a session's password may close it, and this
 * server makes that from the session's number. Any process may call this.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper_client.h"
#include "tests/servers/zookeeper_private.h"
#include "tests/servers/zookeeper_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORD_MS = 2000, MODE_MS = 200 };
enum { SESSION_MS = 20000, EXPIRES_MS = 20000 };

/* ---- four-letter words */

static _Thread_local char last_answer[HF__WIRE_ROOM];

static void say(const struct hf__zookeeper *s, const char *word,
                int64_t patience_ms)
{
    int fd = hf__wire_reach(s->port, patience_ms);
    size_t used = 0;
    ssize_t n = -1;

    if (fd >= 0) {
        n = send(fd, word, strlen(word), MSG_NOSIGNAL);
    }
    while (n > 0 && used < sizeof last_answer - 1) {
        n = recv(fd, last_answer + used, sizeof last_answer - 1 - used, 0);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    last_answer[used] = '\0';
}

const char *hf__zookeeper_word(const struct hf__zookeeper *s, const char *word)
{
    say(s, word, WORD_MS);
    return last_answer;
}

/* The value of a field in the last answer. */
static const char *find(const char *field)
{
    char *rest = last_answer;
    char *line;
    size_t length = strlen(field);

    while ((line = strsep(&rest, "\n"))) {
        if (strncmp(line, field, length) == 0 && strchr("\t=:", line[length])) {
            line += length;
            return line[0] ? line + strspn(line, "\t=: ") : line;
        }
    }
    last_answer[0] = '\0';
    return last_answer;
}

const char *hf__zookeeper_value(const struct hf__zookeeper *s,
                                const char *field, const char *word)
{
    say(s, word, WORD_MS);
    return find(field);
}

/* A server that is about to start may take the word and never answer. */
const char *hf__zookeeper_mode(const struct hf__zookeeper *s)
{
    say(s, "srvr", MODE_MS);
    return find("Mode");
}

int hf__zookeeper_sessions(const struct hf__zookeeper *s)
{
    const char *text = hf__zookeeper_value(s, "zk_global_sessions", "mntr");

    if (!text[0]) {
        hf__servers_fail("zookeeper at port %d does not tell its sessions",
                         s->port);
    }
    return (int)strtol(text, NULL, 10);
}

/* ---- the end of a session */

/* As java.util.Random makes its bytes from that seed. */
static void make_password(int64_t session, uint8_t password[HF__WIRE_PASSWORD])
{
    const uint64_t mask = (1ULL << 48) - 1;
    const uint64_t factor = 0x5DEECE66DULL;
    uint64_t seed = ((uint64_t)session ^ 0xB3415C00ULL ^ factor) & mask;

    for (int i = 0; i < HF__WIRE_PASSWORD; i += 4) {
        uint32_t r;

        seed = (seed * factor + 0xB) & mask;
        r = (uint32_t)(seed >> 16);
        for (int k = 0; k < 4; k++) {
            password[i + k] = (uint8_t)(r >> 8 * k);
        }
    }
}

/* Its client may take it back before we have closed it, and so it is asked
 * again until there is none. */
bool hf__zookeeper_expire(const struct hf__zookeeper *s, int64_t session)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(EXPIRES_MS);
    uint8_t password[HF__WIRE_PASSWORD];
    bool there_was = false;

    make_password(session, password);
    for (;;) {
        struct hf__zookeeper_client *c =
            hf__wire_open(s->port, SESSION_MS, session, password);
        bool is_over = c && c->session_ms <= 0;

        if (is_over) {
            hf__zookeeper_drop(c);
            return there_was;
        }
        there_was = there_was || c;
        hf__zookeeper_hang_up(c);
        if (hf__test_now_ms() > until) {
            hf__servers_fail("zookeeper at port %d does not end a session",
                             s->port);
        }
    }
}
