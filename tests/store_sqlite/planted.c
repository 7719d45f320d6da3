/* SPDX-License-Identifier: MIT */
/*
 * Rollback journals that others put beside a database before somebody else
 * opens it: they bring back what was, and have a file deleted that is none of
 * theirs. In a folder where everybody may make files, and in one that a group
 * shares. Where the test is root the stranger is another user; else it is the
 * same one, as SQLite plays a journal back whoever made it.
 */
#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, SECTOR = 512, PAGES_MAX = 64 };

static const char magic[8] = {'\xd9', '\xd5', '\x05', '\xf9',
                              '\x20', '\xa1', '\x63', '\xd7'};

/* The database as it was. */
static unsigned char pages[PAGES_MAX * PAGE];
static size_t n_pages;

static void share_with_group(void)
{
    if (chown(hf__test_folder(), (uid_t)-1, GROUP) ||
        chmod(hf__test_folder(), 02770)) {
        SKIP("needs root, to give the folder to a group");
    }
}

/* All of it is in the database afterwards, and nothing in the log. */
static void checkpoint(void)
{
    sql(path_of(""), "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void remember_the_database(void)
{
    int fd;
    ssize_t size;

    checkpoint();
    fd = open(path_of(""), O_RDONLY | O_CLOEXEC);
    EXPECT(fd >= 0);
    size = read(fd, pages, sizeof pages);
    (void)close(fd);
    EXPECT_MORE(size, PAGE);
    EXPECT_LESS(size, (ssize_t)sizeof pages);
    n_pages = (size_t)size / PAGE;
}

/* ---- a rollback journal, as sqlite.org/fileformat2.html has it ---------- */

static void put(FILE *to, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        (void)fputc((int)(number >> shift & 0xff), to);
    }
}

static uint32_t checksum_of(const unsigned char *page)
{
    uint32_t sum = 0;

    for (int i = PAGE - 200; i > 0; i -= 200) {
        sum += page[i];
    }
    return sum;
}

static void write_pages(FILE *to)
{
    (void)fwrite(magic, 1, sizeof magic, to);
    put(to, (uint32_t)n_pages);
    put(to, 0); /* of the checksums */
    put(to, (uint32_t)n_pages);
    put(to, SECTOR);
    put(to, PAGE);
    while (ftell(to) < SECTOR) {
        (void)fputc(0, to);
    }
    for (size_t i = 0; i < n_pages; i++) {
        put(to, (uint32_t)i + 1);
        (void)fwrite(pages + i * PAGE, 1, PAGE, to);
        put(to, checksum_of(pages + i * PAGE));
    }
}

/* The name of the super-journal, which is deleted when all was played back. */
static void write_name(FILE *to, const char *name)
{
    uint32_t sum = 0;

    for (const char *it = name; *it != '\0'; it++) {
        sum += (unsigned char)*it;
    }
    put(to, 0x40000000 / PAGE + 1);
    (void)fputs(name, to);
    put(to, (uint32_t)strlen(name));
    put(to, sum);
    (void)fwrite(magic, 1, sizeof magic, to);
}

static void plant_here(struct stage *stage, int uid)
{
    FILE *journal;

    (void)stage;
    become(uid);
    journal = fopen(path_of("-journal"), "wbex");
    EXPECT(journal != NULL);
    write_pages(journal);
    write_name(journal, secret());
    EXPECT_IS(fchmod(fileno(journal), 0666), 0);
    EXPECT_IS(fclose(journal), 0);
}

static void plant(int uid)
{
    EXPECT_IS(finish(start(plant_here, NULL, uid)), 0);
}

/* ---- tests -------------------------------------------------------------- */

/* A lock that outlives its process, and a journal from before it. */
static void plant_against_a_lock(int uid)
{
    {
        PEER(me);
    }
    remember_the_database();
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 600000), HF_OK);
    }
    checkpoint();
    keep_a_secret();
    plant(uid);
}

static void expect_the_lock_held(void)
{
    PEER(me);

    EXPECT_SAFE(acquire(&me, "job", 1000) == HF_BUSY);
    begin_anew(&me);
    EXPECT_IS(acquire(&me, "other", 1000), HF_OK);
    EXPECT_IS(release(&me, "other"), HF_OK);
}

TEST(a_strangers_journal_deletes_and_changes_nothing)
{
    open_to_all();
    plant_against_a_lock(STRANGER);
    expect_the_lock_held();
    expect_the_secret_kept();
    EXPECT_IS(access(path_of("-journal"), F_OK), 0);
}

static void enter_as_member(struct stage *stage, int index)
{
    (void)index;
    become(MEMBER);
    expect_the_lock_held();
    atomic_fetch_add(&stage->served, 1);
}

TEST(a_members_journal_deletes_and_changes_nothing)
{
    struct stage *stage = stage_new();

    share_with_group();
    (void)umask(0);
    plant_against_a_lock(MEMBER);
    expect_the_lock_held();
    expect_the_secret_kept();
    EXPECT_IS(finish(start(enter_as_member, stage, 0)), 0);
    EXPECT_IS(atomic_load(&stage->served), 1);
    EXPECT_IS(access(path_of("-journal"), F_OK), 0);
}

static void enter_when_told(struct stage *stage, int index)
{
    (void)index;
    until(&stage->go, 1);
    expect_the_lock_held();
    atomic_fetch_add(&stage->served, 1);
}

TEST(a_journal_beside_a_living_holder_keeps_nobody_out)
{
    struct stage *stage = stage_new();
    pid_t other;

    open_to_all();
    {
        PEER(me);
    }
    remember_the_database();
    keep_a_secret();
    other = start(enter_when_told, stage, 0);
    PEER(me);
    EXPECT_IS(acquire(&me, "job", 600000), HF_OK);
    plant(STRANGER);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(other), 0);
    EXPECT_IS(atomic_load(&stage->served), 1);
    EXPECT_IS(renew(&me, "job", 600000), HF_OK);
    expect_the_secret_kept();
}

TEST(a_journal_before_the_database_is_not_played)
{
    open_to_all();
    {
        PEER(me);
    }
    remember_the_database();
    keep_a_secret();
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        EXPECT_IS(unlink(path_of("")), 0);
        EXPECT_IS(unlink(path_of("-holdfast")), 0);
        if (is_empty) {
            (void)close(open(path_of(""), O_CREAT | O_CLOEXEC, 0600));
        } else {
            plant(STRANGER);
        }
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
        EXPECT_IS(access(path_of("-journal"), F_OK), 0);
    }
    expect_the_secret_kept();
}

/* From the first byte on, and whatever SQLite would want one for. */
TEST(no_rollback_journal_is_ever_made)
{
    char events[16384];
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ssize_t n;
    int seen = 0;

    EXPECT(inotify_add_watch(fd, hf__test_folder(), IN_CREATE) >= 0);
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 1000), HF_OK);
    }
    sql(path_of(""), "PRAGMA wal_checkpoint(TRUNCATE)");
    {
        PEER(me);
    }
    n = read(fd, events, sizeof events);
    (void)close(fd);
    for (ssize_t at = 0; at < n; seen++) {
        struct inotify_event event;

        memcpy(&event, events + at, sizeof event);
        EXPECT(strstr(events + at + sizeof event, "journal") == NULL);
        at += (ssize_t)(sizeof event + event.len);
    }
    EXPECT_MORE(seen, 3);
}

/* A journal of the database's own must neither be played back unseen, nor
 * passed over. */
TEST(a_database_out_of_wal_mode_is_put_back_unless_it_has_a_journal)
{
    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 600000), HF_OK);
    }
    sql(path_of(""), "PRAGMA journal_mode=DELETE");
    remember_the_database();
    keep_a_secret();
    plant((int)geteuid());
    {
        struct peer me = {0};

        EXPECT_IS(enter(&me), HF_EUNSAFE);
        EXPECT_HAS(me.error.text, "taken out of WAL mode");
        EXPECT_HAS(me.error.text, "-journal");
    }
    expect_the_secret_kept();
    EXPECT_IS(unlink(path_of("-journal")), 0);
    expect_the_lock_held();
    remember_the_database();
    EXPECT_IS(pages[18], 2);
    EXPECT_IS(pages[19], 2);
    sql(path_of(""), "PRAGMA journal_mode=DELETE");
    if (geteuid() == 0) {
        open_to_all();
        plant(STRANGER);
        expect_the_lock_held();
        expect_the_secret_kept();
    }
}

/* A shell's transaction, out of WAL mode. */
static void write_with_a_journal(struct stage *stage, int index)
{
    sqlite3 *db = NULL;

    (void)index;
    EXPECT_IS(sqlite3_open(path_of(""), &db), SQLITE_OK);
    EXPECT_IS(sqlite3_exec(db,
                           "PRAGMA journal_mode=DELETE;BEGIN IMMEDIATE;"
                           "UPDATE holdfast_lock SET keep_us=keep_us+1",
                           NULL, NULL, NULL),
              SQLITE_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    EXPECT_IS(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

TEST(a_journal_of_a_transaction_that_goes_on_is_waited_for)
{
    struct stage *stage = stage_new();
    struct peer early = {.patience_ms = 200};
    pid_t writer;

    {
        PEER(me);
        EXPECT_IS(acquire(&me, "job", 600000), HF_OK);
    }
    writer = start_ready(write_with_a_journal, stage, 0);
    EXPECT_IS(access(path_of("-journal"), F_OK), 0);
    EXPECT_IS(enter(&early), HF_EUNAVAIL);
    EXPECT_HAS(early.error.text, "locked by another program's transaction");
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(writer), 0);
    expect_the_lock_held();
}

/* What the check says of a journal: its verdict, −1: nothing. */
static int find_journal(void *arg, const hf_check_item *item)
{
    if (strcmp(item->name, "journal") == 0) {
        *(int *)arg = (int)item->verdict;
        if (item->verdict != HF_FINE) {
            EXPECT_HAS(item->value, "-journal");
            EXPECT_HAS(item->remedy, "sqlite3");
        }
    }
    return 0;
}

TEST(a_check_tells_of_a_journal)
{
    PEER(me);
    int verdict = -1;

    EXPECT_IS(hf__conn_check(&me.conn, find_journal, &verdict,
                             hf__after_ms(hf__now(), 5000), &me.error),
              HF_OK);
    EXPECT_IS(verdict, HF_FINE);
    EXPECT_IS(symlink("/nowhere", path_of("-journal")), 0);
    EXPECT_IS(hf__conn_check(&me.conn, find_journal, &verdict,
                             hf__after_ms(hf__now(), 5000), &me.error),
              HF_OK);
    EXPECT_IS(verdict, HF_WARN);
}
