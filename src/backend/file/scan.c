/* SPDX-License-Identifier: MIT */
/*
 * Scanning the folder, and deleting the file of a name that is no longer used.
 * Called by the session's thread.
 */
#include "src/backend/file/file.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One step of a cleaning handles this many files. */
#define CHUNK 2048
/* An unfinished file of this age was left by a killed process. */
#define ASIDE_US (60 * INT64_C(1000000))

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
    int fd =
        openat(s->file_dir.dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 || hf__fd_register(fd) ? NULL : fdopendir(fd);

    if (dir == NULL) {
        hf__fd_close(fd);
    }
    return dir;
}

/* Delete an unfinished file that was left. Locks have other names. */
static void tidy(const struct hf__file *s, const char *name)
{
    struct stat st;

    if (strncmp(name, HF__ASIDE, strlen(HF__ASIDE)) == 0 &&
        fstatat(s->file_dir.dir.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_mtim.tv_sec * INT64_C(1000000) < hf__wall_us() - ASIDE_US) {
        (void)unlinkat(s->file_dir.dir.fd, name, 0);
    }
}

static int fail_late(hf_error *err)
{
    return hf__fail(err, HF_EUNAVAIL, "there was no time to go on");
}

/* Read the names that begin with `lead` and come after scan->at, sorted. */
static int read_names(struct hf__file *s, const struct hf__scan *scan,
                      const char *lead, struct names *names, hf_error *err)
{
    char after[sizeof scan->at + 1] = "";
    DIR *dir = open_folder(s);
    struct dirent *entry;
    bool has_memory = true;

    if (dir == NULL) {
        return hf__dir_fail(&s->file_dir.dir, "read", ".", err);
    }
    memcpy(after, scan->at, scan->length);
    while (has_memory && !hf__local_is_over(&s->local) &&
           /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads it */
           (entry = readdir(dir)) != NULL) {
        /* A name that begins with a dot is not a lock's. */
        if (lead == NULL ? entry->d_name[0] != '.'
                         : strncmp(entry->d_name, lead, strlen(lead)) == 0) {
            has_memory = strcmp(entry->d_name, after) <= 0 ||
                         names_add(names, entry->d_name);
        } else if (scan->is_to_clean && scan->length == 0) {
            tidy(s, entry->d_name);
        }
    }
    hf__fd_unregister(dirfd(dir));
    (void)closedir(dir);
    if (!has_memory) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (hf__local_is_over(&s->local)) {
        return fail_late(err);
    }
    if (names->count > 0) {
        qsort(names->name, names->count, sizeof *names->name, compare_names);
    }
    return HF_OK;
}

bool hf__file_is_named(const struct hf__key *key, const char *name,
                       const struct hf__key *prefix)
{
    char expected[HF__FILE_NAME_SIZE];

    hf__file_name(key, expected);
    return strcmp(expected, name) == 0 && key->length >= prefix->length &&
           memcmp(key->bytes, prefix->bytes, prefix->length) == 0;
}

/* Open and read; false: it is not a lock of ours under this prefix. */
static bool read_lockfile(struct hf__file *s, const char *name,
                          const struct hf__key *prefix,
                          struct hf__lockfile *lockfile)
{
    const struct hf__file_record *r = &lockfile->record;

    return hf__lockfile_open_name(s, name, lockfile, NULL) == HF_OK &&
           lockfile->fd >= 0 &&
           hf__lockfile_read(lockfile, NULL, NULL) == HF_OK &&
           hf__file_is_named(
               &(struct hf__key){r->key, (uint16_t)r->key_length, 0}, name,
               prefix);
}

/* ---- primitives */

static int scan_one(struct hf__file *s, const char *name,
                    const struct hf__scan *scan)
{
    const struct hf__file_record *r = &s->lockfile.record;
    struct hf__key key;
    int result = HF_OK;

    if (read_lockfile(s, name, scan->prefix, &s->lockfile)) {
        key = (struct hf__key){r->key, (uint16_t)r->key_length,
                               scan->prefix->name_at};
        result = hf__file_judge(&s->lockfile, NULL, true, &s->name);
        result = result == HF_OK ? scan->fn(scan->arg, &key, &s->name) : result;
    }
    hf__file_put_down(s);
    return result;
}

/* In the order of file names, not of keys. */
int hf__file_walk(struct hf__file *s, struct hf__scan *scan, const char *lead,
                  hf__file_fn fn, hf_error *err)
{
    HF_AUTO(names_fini) struct names names = {NULL, 0, 0};
    size_t most = scan->is_to_clean ? CHUNK : SIZE_MAX;
    size_t i;
    int r = read_names(s, scan, lead, &names, err);

    for (i = 0; i < names.count && i < most && r == HF_OK; i++) {
        r = hf__local_is_over(&s->local) ? fail_late(err)
                                         : fn(s, names.name[i], scan);
    }
    if (r != HF_OK) {
        return r;
    }
    scan->length = i < names.count ? strlen(names.name[i - 1]) : 0;
    if (scan->length > 0) {
        memcpy(scan->at, names.name[i - 1], scan->length);
    }
    return HF_OK;
}

int hf__file_scan(void *state, struct hf__scan *scan, hf_error *err)
{
    return hf__file_walk(state, scan, NULL, scan_one, err);
}

/* Is the name unused, and does no holder believe that it still has it? */
static bool is_idle(const struct hf__lockfile *lockfile,
                    const struct hf__name *name, int64_t idle_us)
{
    static const struct hf__token nobody;
    const struct hf__file_record *r = &lockfile->record;
    const struct hf__key key = {r->key, (uint16_t)r->key_length, 0};

    return hf__name_is_idle(name, idle_us) &&
           hf__file_held_until(lockfile->s->local.side, &key, &nobody,
                               name->now_us) == 0;
}

/* A file that is locked is in use. */
int hf__file_forget(void *state, const struct hf__key *key,
                    struct hf__name *name, int64_t idle_us)
{
    struct hf__file *s = state;
    struct hf__lockfile *lockfile = &s->lockfile;

    (void)key;
    if (!hf__lockfile_lock(lockfile, (hf__time){0}) ||
        hf__lockfile_read(lockfile, NULL, NULL) != HF_OK) {
        return HF_BUSY;
    }
    hf__name_fini(name);
    return hf__file_judge(lockfile, NULL, true, name) == HF_OK &&
                   is_idle(lockfile, name, idle_us) &&
                   hf__lockfile_is_in_place(lockfile) &&
                   unlinkat(s->file_dir.dir.fd, lockfile->name, 0) == 0
               ? HF_OK
               : HF_BUSY;
}
