/* SPDX-License-Identifier: MIT */
/*
 * What the words of site.h do. Thread: any.
 */
#include "tests/store_redis/connect/site.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void share_a_server(void)
{
    hf__redis_share();
}

void end_server(struct hf__redis **r)
{
    hf__redis_free(*r);
}

const char *url_of(const char *format, ...)
{
    static _Thread_local char url[2048];
    va_list list;

    va_start(list, format);
    vsnprintf(url, sizeof url, format, list);
    va_end(list);
    return url;
}

const char *at(const struct hf__redis *r)
{
    static _Thread_local char text[4][32];
    static _Thread_local unsigned turn;
    char *to = text[turn++ % 4];

    snprintf(to, 32, "127.0.0.1:%d", hf__redis_port(r));
    return to;
}

void has_been_a_replica(struct hf__redis *r)
{
    hf__redis_command(r, "REPLICAOF 127.0.0.1 %d", hf__servers_take_port());
    hf__redis_command(r, "REPLICAOF NO ONE");
}

char expect_open(const char *url)
{
    DOOR(d);
    int r = enter(&d, url);

    if (r != HF_OK) {
        printf("%s: %s\n", url, d.error.text);
    }
    EXPECT_IS(r, HF_OK);
    return hf__conn_server_info(&d.conn).grade;
}

void follow(struct hf__redis *replica, const struct hf__redis *master)
{
    hf__redis_command(master, "CONFIG SET repl-diskless-sync-delay 0");
    hf__redis_command(replica, "REPLICAOF 127.0.0.1 %d",
                      hf__redis_port(master));
    UNTIL_WITHIN(30000, strcmp(hf__redis_value(replica, "master_link_status",
                                               "INFO replication"),
                               "up") == 0);
}
