/* SPDX-License-Identifier: MIT */
/*
 * Users and databases with odd defaults: a session sets what it needs, so that
 * none of them changes what a lock does, or says clearly why it can't.
 */
#include "include/holdfast-cell.h"
#include "tests/servers/pgbouncer.h"
#include "tests/store_postgres/world.h"

#include <inttypes.h>
#include <string.h>

/* Names and labels that a mode or an encoding could mistake. */
static const char *const names[] = {
    "plain",
    "it's",
    "a\\b",
    "100%",
    "\"q\"",
    "tab\t",
    "gr\303\266\303\237er",
    "Job",
    "job",
    "job ",
    "\xf0\x9f\x94\x92",
    "$1",
    "--",
    "NULL",
    "{,}",
};
enum { NAMES = sizeof names / sizeof names[0] };

static hf_lock *acquire_as(hf_client *client, const char *name)
{
    hf_acquire_opts opts = wanting(5000, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    /* In a label a percent sign begins a field. */
    opts.owner = strchr(name, '%') ? "100%%" : name;
    opts.note = "\\'\"\xc3\xa9";
    if (hf_acquire(client, name, &opts, &lock, &err) != HF_OK) {
        printf("%s: %s\n", name, err.text);
    }
    EXPECT(lock);
    return lock;
}

/* As the database has it that holds no more than ASCII. */
static const char *masked(const char *text, bool is_ascii)
{
    static _Thread_local char said[128];
    size_t n = 0;

    for (; text[n] != '\0'; n++) {
        said[n] =
            (char)(is_ascii && (unsigned char)text[n] >= 0x80 ? '?' : text[n]);
    }
    said[n] = '\0';
    return said;
}

static void see(hf_client *client, const char *name, bool is_ascii)
{
    AUTO_INFO *info = look_at(client, name);

    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_TEXT(hf_info_label(info), masked(name, is_ascii));
    EXPECT_TEXT(hf_info_note(info), masked("\\'\"\xc3\xa9", is_ascii));
    EXPECT_MORE(hf_info_remaining_ms(info), 30000 - patience(5000));
    EXPECT_LESS(hf_info_remaining_ms(info), 30001);
}

/* The whole life of some locks, seen by a second client. */
static void live_in(bool is_ascii)
{
    CLIENTS(alice, bob);
    hf_lock *locks[NAMES];
    AUTO_LOCK *brief = NULL;

    for (int i = 0; i < NAMES; i++) {
        locks[i] = acquire_as(alice, names[i]);
    }
    for (int i = 0; i < NAMES; i++) {
        see(bob, names[i], is_ascii);
        EXPECT_IS(try_once(bob, names[i]), HF_BUSY);
        EXPECT_IS(hf_renew(locks[i], NULL), HF_OK);
    }
    for (int i = 0; i < NAMES; i++) {
        uint64_t fence = hf_fence(locks[i]);
        AUTO_LOCK *next = NULL;

        EXPECT_IS(hf_release(locks[i], NULL), HF_OK);
        next = acquire_as(bob, names[i]);
        EXPECT_SAFE_MORE(hf_fence(next), fence);
        hf_free(locks[i]);
    }
    brief = acquire_fixed(alice, "brief", 300);
    EXPECT_IS(attempt(bob, "brief", patience(3000)), HF_OK);
}

/* What the database says to each session of its own; "" ends the list. */
static void live_with(const char *const *settings)
{
    for (; *settings != NULL; settings++) {
        hf__postgres_sql(server(), database(), "ALTER DATABASE \"%s\" SET %s",
                         database(), *settings);
    }
    live_in(false);
}
#define WITH(...) live_with((const char *const[]){__VA_ARGS__, NULL})

CASE(what_a_database_says_of_commits_changes_nothing,
     WITH("synchronous_commit=off", "commit_delay=1000"));
CASE(what_a_database_says_of_transactions_changes_nothing,
     WITH("default_transaction_isolation='serializable'",
          "default_transaction_deferrable=on",
          "default_transaction_read_only=on"));
CASE(what_a_database_says_of_times_changes_nothing,
     WITH("lock_timeout='1ms'", "statement_timeout='200ms'",
          "idle_in_transaction_session_timeout='1ms'",
          "timezone='Asia/Kathmandu'", "datestyle='SQL, DMY'",
          "intervalstyle='sql_standard'"));
CASE(what_a_database_says_of_plans_changes_nothing,
     WITH("enable_indexscan=off", "enable_nestloop=off", "enable_sort=off",
          "jit_above_cost=0", "plan_cache_mode='force_custom_plan'",
          "geqo_threshold=2"));
CASE(what_a_database_says_of_text_changes_nothing,
     WITH("standard_conforming_strings=off", "bytea_output='escape'",
          "client_encoding='LATIN1'", "extra_float_digits=-15",
          "array_nulls=off", "quote_all_identifiers=on",
          "transform_null_equals=on", "client_min_messages='debug5'"));

/* They are the session's, whatever the database says. */
TEST(a_session_says_what_it_is)
{
    hf__postgres_sql(server(), database(),
                     "ALTER DATABASE \"%s\" SET synchronous_commit=off",
                     database());
    hf__postgres_sql(server(), database(),
                     "ALTER DATABASE \"%s\" SET idle_session_timeout=300",
                     database());
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);
    hf_stats_info stats = HF_STATS_INFO_INIT;
    uint64_t connects;

    EXPECT_IS(hf_stats(alice, &stats), HF_OK);
    connects = stats.connects;
    hf__test_pause_ms(700); /* twice as long as others may be idle */
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(hf_stats(alice, &stats), HF_OK);
    EXPECT_IS(stats.connects, connects);
}

/* ---- a schema before the server's own */

static void shadow(const char *signature, const char *gives)
{
    hf__postgres_sql(server(), database(),
                     "CREATE FUNCTION evil.%s RETURNS %s LANGUAGE plpgsql AS "
                     "$$BEGIN RAISE 'shadowed'; END$$",
                     signature, gives);
}

TEST(what_stands_before_the_servers_own_is_not_called)
{
    char url[512];

    hf__postgres_sql(server(), database(),
                     "CREATE SCHEMA evil; GRANT ALL ON SCHEMA evil TO PUBLIC;"
                     "CREATE TABLE evil.holdfast_lock(); "
                     "CREATE TABLE evil.pg_settings(); "
                     "CREATE TABLE evil.pg_stat_activity()");
    shadow("set_config(text,text,boolean)", "text");
    shadow("current_setting(text)", "text");
    shadow("current_setting(text,boolean)", "text");
    shadow("clock_timestamp()", "timestamptz");
    shadow("current_schema()", "name");
    shadow("version()", "text");
    shadow("pg_backend_pid()", "int");
    shadow("textregexeq(text,text)", "boolean");
    shadow("isfalse(text,text)", "boolean");
    hf__postgres_sql(server(), database(),
                     "CREATE OPERATOR evil.=(FUNCTION=evil.isfalse,LEFTARG="
                     "text,RIGHTARG=text)");
    hf__postgres_sql(server(), database(),
                     "ALTER DATABASE \"%s\" SET search_path=evil,pg_catalog,"
                     "public",
                     database());
    snprintf(url, sizeof url, "%s?schema=public", store_url(NULL));
    reach_by_url(url);
    live_in(false);
    EXPECT_TEXT(answer("SELECT count(*)>0 FROM public.holdfast_lock"), "t");
}

/* ---- what stands in the tables' schema */

#define SCHEMA      "\"we\"\"ird Sch\303\251ma\""
#define SCHEMA_SAID "we%22ird%20Sch%C3%A9ma" /* in a URL */

/* An operator by which `left` needs no cast for an integer beside it, so that
 * it fits better than the server's own. It gives the same, and is counted. */
static void plant(PGconn *db, const char *sign, const char *left)
{
    tell(db,
         "CREATE FUNCTION " SCHEMA ".count_it(l %s,r int4) RETURNS %s LANGUAGE "
         "plpgsql AS $$BEGIN PERFORM nextval('public.calls'); "
         "RETURN l OPERATOR(pg_catalog.%s) r::%s; END$$",
         left, left, sign, left);
    tell(db,
         "CREATE OPERATOR " SCHEMA ".%s(FUNCTION=" SCHEMA ".count_it,"
         "LEFTARG=%s,RIGHTARG=int4)",
         sign, left);
}

/* Of somebody who may make things there. The server gives times as numeric,
 * before 14 as float8. Who looks for operators there has one called. */
static void plant_all(void)
{
    char mallory[HF__POSTGRES_NAME];

    snprintf(mallory, sizeof mallory, "%.50s_mallory", database());
    hf__postgres_sql(server(), database(),
                     "CREATE ROLE \"%s\" LOGIN; CREATE SCHEMA " SCHEMA ";"
                     "GRANT ALL ON SCHEMA " SCHEMA " TO PUBLIC;"
                     "CREATE SEQUENCE calls;"
                     "GRANT USAGE ON SEQUENCE calls TO PUBLIC",
                     mallory);
    AUTO_STRANGER *db = stranger_as(mallory);
    plant(db, "*", "numeric");
    plant(db, "*", "float8");
    plant(db, "||", "text");
    hf__postgres_sql(server(), database(),
                     "SET search_path=" SCHEMA ";"
                     "SELECT extract(epoch FROM now())*1000000,'a'::text||1");
    EXPECT_TEXT(answer("SELECT last_value FROM calls"), "2");
}

static int see_name(void *arg, const hf_info *info)
{
    (void)arg;
    EXPECT_TEXT(hf_info_name(info), "kept");
    return 0;
}

static int see_item(void *arg, const hf_check_item *item)
{
    (void)arg;
    EXPECT(item->verdict != HF_UNFIT);
    return 0;
}

/* What else a client may ask. */
static void ask_all(void)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *kept = acquire_fixed(alice, "kept", 30000);
    hf_gc_info gone = HF_GC_INFO_INIT;
    uint64_t version = 0;
    hf_cell *cell = NULL;

    EXPECT_IS(hf_cell_put(alice, "stock", "ten", 3, &version, NULL), HF_OK);
    EXPECT_IS(hf_cell_put(alice, "stock", "two", 3, &version, NULL), HF_OK);
    EXPECT_IS(hf_cell_get(alice, "stock", &cell, NULL), HF_OK);
    EXPECT_TEXT(hf_cell_value(cell), "two");
    hf_cell_free(cell);
    EXPECT_IS(hf_list(alice, "", see_name, NULL, NULL), HF_OK);
    EXPECT_IS(hf_check(alice, see_item, NULL, NULL), HF_OK);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
}

/* mode: of the pooler that stands between; NULL: none does. */
static void run_nothing_planted(const char *mode)
{
    struct hf__pgbouncer *pooler =
        mode ? hf__pgbouncer_start(server(), mode, NULL) : NULL;
    char url[HF__POSTGRES_URL];
    char full[2 * HF__POSTGRES_URL];

    if (pooler) {
        hf__pgbouncer_url(pooler, database(), url, sizeof url);
    } else {
        hf__postgres_url(server(), database(), url, sizeof url);
    }
    plant_all();
    snprintf(full, sizeof full, "%s?schema=%s", url, SCHEMA_SAID);
    reach_by_url(full);
    ask_all();
    live_in(false);
    EXPECT_TEXT(answer("SELECT last_value FROM calls"), "2");
    EXPECT_TEXT(answer("SELECT count(*)>0 FROM " SCHEMA ".holdfast_lock"), "t");
    hf__pgbouncer_free(pooler);
}

TEST_WITHIN(60, what_is_planted_beside_the_tables_is_not_called)
{
    run_nothing_planted(NULL);
}

TEST_WITHIN(60, what_is_planted_is_not_called_behind_a_pooler_either)
{
    run_nothing_planted("transaction");
}

TEST_WITHIN(60, what_is_planted_is_not_called_behind_a_stricter_one_either)
{
    run_nothing_planted("statement");
}

/* ---- encodings */

static void live_in_encoding(const char *encoding, bool is_ascii)
{
    char name[HF__POSTGRES_NAME];
    char url[HF__POSTGRES_URL];

    snprintf(name, sizeof name, "%s_e", database());
    /* The server looks at the name of the one that it copies: only of this one
     * the copy may have another encoding. */
    (void)hf__postgres_try(server(), NULL, "CREATE DATABASE template0");
    hf__postgres_sql(server(), NULL,
                     "CREATE DATABASE \"%s\" OWNER " HF__POSTGRES_USER
                     " ENCODING '%s' LOCALE 'C' TEMPLATE template0",
                     name, encoding);
    hf__postgres_sql(server(), name, "GRANT CREATE ON SCHEMA public TO PUBLIC");
    hf__postgres_url(server(), name, url, sizeof url);
    reach_by_url(url);
    live_in(is_ascii);
}

CASE(a_database_of_one_language_keeps_what_is_ascii,
     live_in_encoding("LATIN1", true));
CASE(a_database_without_an_encoding_keeps_all,
     live_in_encoding("SQL_ASCII", false));
