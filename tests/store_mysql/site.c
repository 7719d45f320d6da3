/* SPDX-License-Identifier: MIT */
/*
 * What the words of site.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_mysql/site.h"

#include <string.h>

__attribute__((constructor)) static void share_a_server(void)
{
    hf__mariadb_share();
}

const struct hf__mariadb *server(void)
{
    return hf__mariadb_shared();
}

const char *url_with(const char *options)
{
    static _Thread_local char url[1024];
    size_t length;

    hf__mariadb_test_url(url, sizeof url);
    length = strlen(url);
    snprintf(url + length, sizeof url - length, "%s%s",
             *options != '\0' ? "?" : "", options);
    return url;
}

const char *database(void)
{
    static _Thread_local char name[HF__MARIADB_NAME];

    snprintf(name, sizeof name, "%s", strrchr(url_with(""), '/') + 1);
    return name;
}

const char *url_as(const char *user)
{
    static _Thread_local char url[1024];

    snprintf(url, sizeof url, "mysql://%s127.0.0.1:%d/%s", user,
             hf__mariadb_port(server()), database());
    return url;
}

MYSQL *stranger(void)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                              HF__MARIADB_PASSWORD, database(),
                              (unsigned)hf__mariadb_port(server()), NULL, 0));
    return db;
}

const char *cell_says(const char *name, const char *expression)
{
    return hf__mariadb_value(server(),
                             "SELECT %s FROM %s.holdfast_cell WHERE "
                             "name_key='holdfast=%s'",
                             expression, database(), name);
}
