/* SPDX-License-Identifier: MIT */
/*
 * Going through the folder: listing what is held, and deleting the files of
 * names that nobody uses any more. Which one is idle is decided here, with
 * the file locked, by the same judgement as a grant's. Called by the
 * session's thread.
 */
#include "src/backend/file/view.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many files are looked at in one call of gc(). */
#define CHUNK 2048
/* What was left aside by a killed process for so long is nobody's. */
#define ASIDE_US (60 * INT64_C(1000000))

static void close_cell(struct hf__cell *cell)
{
    hf__cell_close(cell);
}

/* ---- names in the folder */

struct names {
    char **name;
    size_t count;
    size_t size;
};

static void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        hf__free(names->name[i]);
    }
    hf__free(names->name);
}

static bool names_add(struct names *names, const char *text)
{
    if (names->count == names->size) {
        size_t size = 2 * names->size + 64;
        char **grown = hf__resize(names->name, size * sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        names->name = grown;
        names->size = size;
    }
    names->name[names->count] = hf__strdup(text);
    return names->name[names->count] != NULL && ++names->count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static DIR *open_folder(const struct hf__file *s)
{
    int fd = openat(s->place.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 || hf__fd_register(fd) ? NULL : fdopendir(fd);

    if (dir == NULL) {
        hf__fd_close(fd);
    }
    return dir;
}

static void close_folder(DIR *dir)
{
    hf__fd_unregister(dirfd(dir));
    (void)closedir(dir);
}

/* Delete what was left aside. Locks have other names. */
static void tidy(const struct hf__file *s, const char *name)
{
    struct stat st;

    if (strncmp(name, HF__ASIDE, strlen(HF__ASIDE)) == 0 &&
        fstatat(s->place.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_mtim.tv_sec * INT64_C(1000000) < hf__wall_us() - ASIDE_US) {
        (void)unlinkat(s->place.fd, name, 0);
    }
}

static struct dirent *next(DIR *dir)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this dir */
    return readdir(dir);
}

/* The files whose names come after `after`, sorted. */
static int read_names(struct hf__file *s, const char *after, bool tidies,
                      struct names *names, hf_error *err)
{
    DIR *dir = open_folder(s);
    struct dirent *entry;
    bool has_memory = true;

    if (dir == NULL) {
        return hf__file_fail_errno(&s->place, "read", ".", err);
    }
    while (has_memory && !hf__file_is_over(s) && (entry = next(dir)) != NULL) {
        if (entry->d_name[0] == '.') {
            if (tidies) {
                tidy(s, entry->d_name);
            }
        } else if (strcmp(entry->d_name, after) > 0) {
            has_memory = names_add(names, entry->d_name);
        }
    }
    close_folder(dir);
    if (!has_memory) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (names->count > 0) {
        qsort(names->name, names->count, sizeof *names->name, compare_names);
    }
    return HF_OK;
}

/* Open and read; false: that is no lock of ours under this prefix. */
static bool read_cell(struct hf__file *s, const char *name,
                      const struct hf__key *prefix, struct hf__cell *cell)
{
    const struct hf__file_record *r = &cell->record;
    char expected[HF__FILE_NAME_SIZE];
    struct hf__key key;

    if (hf__cell_open_name(s, name, cell, NULL) != HF_OK || cell->fd < 0 ||
        hf__cell_read(cell, NULL, NULL) != HF_OK) {
        return false;
    }
    key = (struct hf__key){r->key, (uint16_t)r->key_length, 0};
    hf__file_name(&key, expected);
    return strcmp(expected, name) == 0 && key.length >= prefix->length &&
           memcmp(key.bytes, prefix->bytes, prefix->length) == 0;
}

/* ---- list() */

struct listed {
    char key[HF__KEY_MAX];
    size_t length;
    struct hf__record record;
};

static void listed_free(struct listed **found)
{
    hf__free(*found);
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a;
    const struct listed *y = b;

    return hf__key_compare(&(struct hf__key){x->key, (uint16_t)x->length, 0},
                           &(struct hf__key){y->key, (uint16_t)y->length, 0});
}

static bool list_one(struct hf__file *s, const char *name,
                     const struct hf__key *prefix, struct listed *to)
{
    HF_AUTO(close_cell) struct hf__cell cell;
    struct hf__file_view view;

    if (!read_cell(s, name, prefix, &cell)) {
        return false;
    }
    hf__file_look(&cell, NULL, &view);
    hf__file_tell(&cell, &view, &to->record);
    to->length = (size_t)cell.record.key_length;
    memcpy(to->key, cell.record.key, to->length);
    return to->record.is_held;
}

/* The held ones among the names, or NULL: out of memory. */
static struct listed *collect(struct hf__file *s, const struct names *names,
                              const struct hf__key *prefix, size_t *ret_count)
{
    struct listed *found = NULL;
    size_t size = 0;
    size_t count = 0;

    for (size_t i = 0; i < names->count || found == NULL; i++) {
        if (count == size) {
            struct listed *grown;

            size = 2 * size + 16;
            grown = hf__resize(found, size * sizeof *found);
            if (grown == NULL) {
                hf__free(found);
                return NULL;
            }
            found = grown;
        }
        if (i < names->count && !hf__file_is_over(s) &&
            list_one(s, names->name[i], prefix, &found[count])) {
            count++;
        }
    }
    *ret_count = count;
    return found;
}

int hf__file_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                  void *arg, hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    HF_AUTO(names_fini) struct names names = {NULL, 0, 0};
    HF_AUTO(listed_free) struct listed *found = NULL;
    size_t count = 0;
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    if (r == HF_OK) {
        r = read_names(s, "", false, &names, err);
    }
    if (r != HF_OK) {
        return r;
    }
    found = collect(s, &names, prefix, &count);
    if (found == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for the list");
    }
    if (hf__file_is_over(s)) {
        return hf__fail(err, HF_EUNAVAIL, "there was no time for the list");
    }
    qsort(found, count, sizeof *found, compare_listed);
    for (size_t i = 0; i < count; i++) {
        if (fn(arg, found[i].key + prefix->name_at,
               found[i].length - prefix->name_at, &found[i].record) != 0) {
            break;
        }
    }
    return HF_OK;
}

/* ---- gc() */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The fence must be one that the clock has passed: it goes on from there. And
 * nobody may hold the name without knowing that he lost it. */
static bool is_idle(const struct hf__cell *cell, int64_t idle_us)
{
    const struct hf__file_record *r = &cell->record;
    const struct hf__key key = {r->key, (uint16_t)r->key_length, 0};
    const struct hf__token nobody = {{0}};
    struct hf__file_view view;
    int64_t lapsed_us;

    hf__file_look(cell, NULL, &view);
    lapsed_us = view.standing == HF__FILE_EXPIRED ? view.now_us - r->expires_us
                                                  : INT64_MAX;
    return hf__file_is_free(&view) && hf__file_line_first(cell, NULL) == NULL &&
           lapsed_us >= idle_us && r->fence < (uint64_t)view.wall_us &&
           later(r->acquired_at_us, r->freed_at_us) <= view.wall_us - idle_us &&
           hf__file_side_held_until(cell->s->side, &key, &nobody,
                                    view.now_us) == 0;
}

static void delete_one(struct hf__file *s, const char *name,
                       const struct hf__key *prefix, struct hf__gc *g)
{
    HF_AUTO(close_cell) struct hf__cell cell;

    if (!read_cell(s, name, prefix, &cell) || !is_idle(&cell, g->idle_us)) {
        return;
    }
    /* Who has it locked uses it. */
    if (hf__cell_lock(&cell, (hf__time){0}) &&
        hf__cell_read(&cell, NULL, NULL) == HF_OK &&
        is_idle(&cell, g->idle_us) && hf__cell_is_in_place(&cell) &&
        unlinkat(s->place.fd, name, 0) == 0) {
        g->count++;
        g->expired += !hf__token_is_zero(&cell.record.token);
    }
}

int hf__file_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    HF_AUTO(names_fini) struct names names = {NULL, 0, 0};
    char after[sizeof g->at + 1] = "";
    size_t i;
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    memcpy(after, g->at, g->length);
    if (r == HF_OK) {
        r = read_names(s, after, g->length == 0, &names, err);
    }
    if (r != HF_OK) {
        return r;
    }
    for (i = 0; i < names.count && i < CHUNK && !hf__file_is_over(s); i++) {
        delete_one(s, names.name[i], prefix, g);
    }
    if (hf__file_is_over(s)) {
        return hf__fail(err, HF_EUNAVAIL, "there was no time to go on");
    }
    g->length = i < names.count ? strlen(names.name[i - 1]) : 0;
    if (g->length > 0) {
        memcpy(g->at, names.name[i - 1], g->length);
    }
    return HF_OK;
}
