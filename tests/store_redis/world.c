/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h, and those of tests/store_server/server.h for this
 * store. Which server is settled at first use, in the test's first process, and
 * the same in those it forks.
 */
#include "tests/store_redis/world.h"
#include "tests/contract/urls.h"
#include "tests/servers/servers.h"

#include <stdlib.h>
#include <string.h>

static struct hf__redis *current; /* NULL: the shared one */
static int other_port;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__redis_share);
}

void free_server(struct hf__redis **r)
{
    hf__redis_free(*r);
}

static struct hf__redis *start(const struct hf__redis_opts *opts)
{
    current = hf__redis_start(opts);
    return current;
}

struct hf__redis *own_server(const char *const *extra)
{
    return start(&(struct hf__redis_opts){.extra = extra});
}

struct hf__redis *own_server_with_aof(const char *const *extra)
{
    return start(&(struct hf__redis_opts){
        .extra = extra, .has_aof = true, .on_disk = true});
}

struct hf__redis *own_server_with_users(const char *users)
{
    return start(&(struct hf__redis_opts){.users = users});
}

const struct hf__redis *server(void)
{
    return current ? current : hf__redis_shared();
}

static int database(void)
{
    return current ? 0 : hf__redis_test_database();
}

const char *url_as(const char *user, const char *options)
{
    static _Thread_local char url[HF__REDIS_URL + 512];

    snprintf(url, sizeof url, "redis://%s%s127.0.0.1:%d/%d%s%s", user,
             *user ? "@" : "", server_port(), database(), *options ? "?" : "",
             options);
    return url;
}

int hf__store_url(const char *scheme, char *url, size_t size)
{
    int port = other_port ? other_port : server_port();

    snprintf(url, size, "%s://127.0.0.1:%d/%d", scheme, port, database());
    return 0;
}

void open_session(struct hf__conn *conn, const char *url_text)
{
    HF_AUTO(hf__url_free_auto) struct hf__url *url = NULL;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf__url_parse(url_text, &url, &err), HF_OK);
    EXPECT_IS(hf__conn_open(conn, hf__backend_find("redis"), url, "",
                            hf__after_ms(hf__now(), patience(20000)), &err),
              HF_OK);
}

/* ---- as the tests of every store on a server know it */

struct own_server begin_own_server(bool is_durable)
{
    if (is_durable) {
        own_server_with_aof(NULL);
    } else {
        own_server(NULL);
    }
    return (struct own_server){true};
}

void end_own_server(struct own_server *own)
{
    (void)own;
    hf__redis_free(current);
}

void stop_server(void)
{
    hf__redis_stop(current);
}

void kill_server(void)
{
    hf__redis_kill(current);
}

void restart_server(void)
{
    hf__redis_restart(current, NULL);
}

void pause_server(void)
{
    hf__redis_pause(current);
}

void resume_server(void)
{
    hf__redis_resume(current);
}

int server_port(void)
{
    return hf__redis_port(server());
}

const struct hf__framing *server_framing(void)
{
    return &hf__framing_redis;
}

void reach_by_port(int port)
{
    other_port = port;
}

void forget_all(void)
{
    hf__redis_command(server(), "FLUSHDB");
}

/* ---- records */

const char *record(const char *name)
{
    static _Thread_local char key[HF_NAME_MAX + 16];

    snprintf(key, sizeof key, "holdfast:{%s}", name);
    return key;
}

const char *record_says(const char *name, const char *field)
{
    return hf__redis_command(server(), "HGET %s %s", record(name), field);
}

int count_keys(void)
{
    return (int)strtol(hf__redis_command(server(), "DBSIZE"), NULL, 10);
}

/* ---- fitness */

struct question {
    const char *name;
    char value[256];
    hf_verdict verdict;
};

static int find(void *arg, const hf_check_item *item)
{
    struct question *q = arg;

    if (strcmp(item->name, q->name) != 0) {
        return 0;
    }
    snprintf(q->value, sizeof q->value, "%s", item->value);
    q->verdict = item->verdict;
    return 1;
}

const char *finding(hf_client *client, const char *name,
                    hf_verdict *ret_verdict)
{
    static _Thread_local struct question q;

    q = (struct question){.name = name, .verdict = HF_UNFIT};
    EXPECT_IS(hf_check(client, find, &q, NULL), HF_OK);
    if (ret_verdict) {
        *ret_verdict = q.verdict;
    }
    return q.value;
}

char grade_of(hf_client *client)
{
    hf_caps_info caps = HF_CAPS_INFO_INIT;

    EXPECT_IS(hf_caps(client, &caps), HF_OK);
    return caps.grade;
}
