/* SPDX-License-Identifier: MIT */
/*
 * Ending the connections that a fork copied. Decides whether that is safe:
 * the parent must not have been inside SQLite in the moment of the fork, and
 * the descriptors must still be those of the database, else closing would
 * hit whatever has their numbers now. Called when a session opens.
 */
#include "src/backend/sqlite/inherit.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/family.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct hf__family connections;

void hf__inherit_add(struct hf__connection *db)
{
    hf__family_lock(&connections);
    hf__list_push(&connections.members, &db->link);
    hf__family_unlock(&connections);
}

void hf__inherit_remove(struct hf__connection *db)
{
    hf__family_lock(&connections);
    hf__list_remove(&db->link);
    hf__family_unlock(&connections);
}

/* How many descriptors this process has open on the file. */
static int count_open(const struct hf__file_id *id)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this dir */
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct stat st;

        if (entry->d_name[0] != '.' &&
            !fstat((int)strtol(entry->d_name, NULL, 10), &st) &&
            hf__id_equal(hf__id_of(&st), *id)) {
            count++;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

/* With the family locked. */
static bool is_safe(const struct hf__file_ids *ids)
{
    const struct hf__file_id *db = &ids->file[HF__FILE_DB];
    int count = 0;

    HF__LIST_EACH (it, &connections.inherited) {
        struct hf__connection *c = HF__ELEMENT(it, struct hf__connection, link);

        if (hf__id_equal(c->ids.file[HF__FILE_DB], *db)) {
            count++;
            if (atomic_load(&c->is_busy)) {
                return false;
            }
        }
    }
    return count == 0 || (count_open(db) >= count &&
                          count_open(&ids->file[HF__FILE_WAL]) >= count &&
                          count_open(&ids->file[HF__FILE_SHM]) >= 1);
}

int hf__inherit_clean(const struct hf__place *place,
                      const struct hf__file_ids *ids, hf_error *err)
{
    bool safe;

    hf__family_lock(&connections);
    safe = is_safe(ids);
    HF__LIST_EACH (it, &connections.inherited) {
        struct hf__connection *c = HF__ELEMENT(it, struct hf__connection, link);

        if (safe &&
            hf__id_equal(c->ids.file[HF__FILE_DB], ids->file[HF__FILE_DB])) {
            hf__list_remove(it);
            hf__sql_close(c);
            hf__free(c);
        }
    }
    hf__family_unlock(&connections);
    return safe ? HF_OK
                : hf__fail(err, HF_EUNSAFE,
                           "the parent process used %s while it forked, and "
                           "SQLite cannot be entered again in such a child; "
                           "exec first, or fork before opening the store",
                           place->path[HF__FILE_DB]);
}
