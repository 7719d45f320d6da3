/* SPDX-License-Identifier: MIT */
/*
 * What the words of door.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_server/door.h"

#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void shut(struct door *d)
{
    hf__conn_close(&d->conn);
}

int enter_by(struct door *d, const char *text, const char *allow, int64_t ms)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;

    hf__conn_close(&d->conn);
    d->error = (hf_error)HF_ERROR_INIT;
    EXPECT_IS(hf__url_parse(text, &url, &d->error), HF_OK);
    return hf__conn_open(&d->conn, hf__backend_find(url->scheme), url, allow,
                         hf__after_ms(hf__now(), ms), &d->error);
}

int enter(struct door *d, const char *url)
{
    return enter_by(d, url, "", 10000);
}

int enter_within(struct door *d, const char *url, int64_t ms)
{
    return enter_by(d, url, "", ms);
}

int enter_allowing(struct door *d, const char *url, const char *allow)
{
    return enter_by(d, url, allow, 10000);
}

void expect_refused(const char *url, int status, const char *words)
{
    DOOR(d);
    int r = enter(&d, url);

    if (r != status) {
        printf("%s: %s\n", url, d.error.text);
    }
    EXPECT_IS(r, status);
    EXPECT_IS(d.error.status, status);
    EXPECT_HAS(d.error.text, words);
}

struct search {
    const char *name;
    char value[600];
    hf_verdict verdict;
};

static int compare(void *arg, const hf_check_item *item)
{
    struct search *s = arg;

    if (strcmp(item->name, s->name) == 0) {
        snprintf(s->value, sizeof s->value, "%s", item->value);
        s->verdict = item->verdict;
        EXPECT_IS(item->verdict == HF_FINE, item->remedy == NULL);
    }
    return 0;
}

const char *finding(struct door *d, const char *name, hf_verdict *ret_verdict)
{
    static _Thread_local struct search s;

    s = (struct search){.name = name};
    EXPECT_IS(hf__conn_check(&d->conn, compare, &s,
                             hf__after_ms(hf__now(), 10000), &d->error),
              HF_OK);
    if (ret_verdict != NULL) {
        *ret_verdict = s.verdict;
    }
    return s.value;
}

int listen_silently(int *ret_port)
{
    struct sockaddr_in to = hf__servers_at(0);
    socklen_t length = sizeof to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    EXPECT(fd >= 0);
    EXPECT_IS(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
    EXPECT_IS(listen(fd, 8), 0);
    EXPECT_IS(getsockname(fd, (struct sockaddr *)&to, &length), 0);
    *ret_port = ntohs(to.sin_port);
    return fd;
}
