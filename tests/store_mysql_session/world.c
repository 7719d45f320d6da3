/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h. Thread: what is said of the store is said before the
 * test starts threads.
 */
#include "tests/store_mysql_session/world.h"

#include "tests/contract/urls.h"
#include "tests/servers/servers.h"

#include <stdlib.h>
#include <string.h>

enum { STATEMENT = 1024 };

static char options[200];
static const char *scheme_of_store = "session";
static char other_database[HF__MARIADB_NAME];
static char other_user[100];
static bool has_no_database;
static int other_port;

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

void free_proxy(struct hf__proxy **p)
{
    hf__proxy_free(*p);
}

void end_stranger(MYSQL **db)
{
    mysql_close(*db);
}

/* ---- the store */

const struct hf__mariadb *server(void)
{
    return hf__mariadb_shared();
}

const char *database(void)
{
    static _Thread_local char name[HF__MARIADB_NAME];
    char url[HF__MARIADB_URL];

    hf__mariadb_test_url(url, sizeof url);
    snprintf(name, sizeof name, "%s", strrchr(url, '/') + 1);
    return name;
}

int session_ms(void)
{
    return (int)patience(3000);
}

void choose_scheme(const char *scheme)
{
    scheme_of_store = scheme;
}

void say_options(const char *more)
{
    snprintf(options, sizeof options, "%s", more);
}

void reach_by_port(int port)
{
    other_port = port;
}

void name_database(const char *name)
{
    has_no_database = name == NULL;
    snprintf(other_database, sizeof other_database, "%s", name ? name : "");
}

void come_as(const char *user_and_password)
{
    snprintf(other_user, sizeof other_user, "%s",
             user_and_password ? user_and_password : "");
}

const char *new_user(const char *name, const char *privileges)
{
    static char login[100];

    hf__mariadb_sql(server(),
                    "CREATE USER '%s_%s'@'127.0.0.1' IDENTIFIED BY 'pw'", name,
                    database());
    if (*privileges != '\0') {
        hf__mariadb_sql(server(), "GRANT %s ON %s.* TO '%s_%s'@'127.0.0.1'",
                        privileges, database(), name, database());
    }
    snprintf(login, sizeof login, "%s_%s:pw", name, database());
    return login;
}

static const char *chosen_database(void)
{
    if (has_no_database) {
        return "";
    }
    return other_database[0] ? other_database : database();
}

int hf__store_url(const char *store, char *url, size_t size)
{
    const char *user = HF__MARIADB_USER ":" HF__MARIADB_PASSWORD;
    int n = snprintf(url, size, "mysql://%s@127.0.0.1:%d/%s?scheme=%s",
                     other_user[0] ? other_user : user,
                     other_port ? other_port : hf__mariadb_port(server()),
                     chosen_database(), scheme_of_store);

    (void)store;
    if (strstr(options, "session_timeout=") == NULL) {
        n += snprintf(url + n, size - (size_t)n, "&session_timeout=%ds",
                      session_ms() / 1000);
    }
    snprintf(url + n, size - (size_t)n, "%s%s", options[0] ? "&" : "", options);
    return 0;
}

struct hf__proxy *start_proxy(void)
{
    return hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
}

hf_client *open_by(int port, const char *more)
{
    hf_client *client;

    reach_by_port(port);
    client = open_with(more);
    reach_by_port(0);
    return client;
}

/* ---- the server */

/* Said here anew, and not by the store. */
static const char *lock_named(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    static _Thread_local char text[STATEMENT];
    const char *in = chosen_database();
    bool is_plain = in[strspn(in, plain)] == '\0' &&
                    name[strspn(name, plain)] == '\0' &&
                    strlen(in) + strlen("holdfast:") + strlen(name) <= 60;

    snprintf(text, sizeof text,
             is_plain ? "'hf:%s:holdfast:%s'"
                      : "CONCAT('hf.',SHA1(CONCAT('%s','\\0','holdfast:%s')))",
             in, name);
    return text;
}

int64_t holder_of(const char *name)
{
    return strtoll(hf__mariadb_value(server(), "SELECT IS_USED_LOCK(%s)",
                                     lock_named(name)),
                   NULL, 10);
}

#define OURS "FROM information_schema.PROCESSLIST WHERE DB='%s'"
#define QUEUE                                                                  \
    "FROM information_schema.PROCESSLIST WHERE (DB='%s' OR DB IS NULL) AND "   \
    "STATE='User lock'"

void await_queue(int n)
{
    UNTIL(strtol(
              hf__mariadb_value(server(), "SELECT COUNT(*) " QUEUE, database()),
              NULL, 10) == n);
}

int64_t first_in_queue(void)
{
    return strtoll(
        hf__mariadb_value(server(), "SELECT MIN(ID) " QUEUE, database()), NULL,
        10);
}

int connections(void)
{
    return (int)strtol(
        hf__mariadb_value(server(), "SELECT COUNT(*) " OURS, database()), NULL,
        10);
}

void end_connection(int64_t id)
{
    hf__mariadb_sql(server(), "KILL CONNECTION %lld", (long long)id);
}

void end_query(int64_t id)
{
    hf__mariadb_sql(server(), "KILL QUERY %lld", (long long)id);
}

const char *row_says(const char *name, const char *expression)
{
    return hf__mariadb_value(server(),
                             "SELECT %s FROM %s.holdfast_session WHERE "
                             "name_key='holdfast:%s'",
                             expression, database(), name);
}

void set_row(const char *name, const char *assignments)
{
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_session SET %s WHERE "
                    "name_key='holdfast:%s'",
                    database(), assignments, name);
}

MYSQL *stranger(void)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db);
    if (!mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                            HF__MARIADB_PASSWORD, database(),
                            (unsigned)hf__mariadb_port(server()), NULL, 0)) {
        hf__servers_fail("a stranger's connection: %s", mysql_error(db));
    }
    return db;
}

/* ---- one who waits */

static void wait_for_it(void *arg)
{
    struct waiter *w = arg;
    hf_acquire_opts opts = wanting(w->wait_ms, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    w->result = hf_acquire(w->client, w->name, &opts, &w->lock, &err);
    if (w->result != HF_OK) {
        printf("waiting for %s: %s: %s\n", w->name, hf_strstatus(w->result),
               err.text);
    }
    atomic_store(&w->is_done, true);
}

void begin_to_wait(struct waiter *w, hf_client *client, const char *name,
                   int64_t wait_ms)
{
    *w = (struct waiter){.client = client, .name = name, .wait_ms = wait_ms};
    w->thread = hf__test_start(wait_for_it, w);
}

int end_waiting(struct waiter *w)
{
    hf__test_join(w->thread);
    return w->result;
}

void finish_waiting(struct waiter *w)
{
    EXPECT_IS(end_waiting(w), HF_OK);
    EXPECT_IS(hf_release(w->lock, NULL), HF_OK);
    hf_free(w->lock);
}
