/* SPDX-License-Identifier: MIT */
/*
 * Which stores this build has. The tests run every store in this table and
 * refuse one that they have no URL for, so a new store is known to all of
 * them by its one line here. What a store does is its own folder's matter.
 * Thread: any; nothing here changes.
 */
#include "src/backend/registry.h"

#include "src/backend/conn.h"

#include <string.h>

#define FAULT "fault+"

static const struct hf__backend *const backends[] = {
    &hf__sqlite_backend,
    &hf__file_backend,
    &hf__mysql_backend,
    &hf__memory_backend,
};
enum { N_BACKENDS = (int)(sizeof backends / sizeof *backends) };

const struct hf__backend *hf__backend_at(int i)
{
    return i >= 0 && i < N_BACKENDS ? backends[i] : NULL;
}

bool hf__backend_is_called(const struct hf__backend *backend,
                           const char *scheme)
{
    return strcmp(backend->scheme, scheme) == 0 ||
           (backend->alias != NULL && strcmp(backend->alias, scheme) == 0);
}

const struct hf__backend *hf__backend_find(const char *scheme)
{
    if (strncmp(scheme, FAULT, strlen(FAULT)) == 0) {
        return hf__fault_find(scheme + strlen(FAULT));
    }
    for (int i = 0; i < N_BACKENDS; i++) {
        if (hf__backend_is_called(backends[i], scheme)) {
            return backends[i];
        }
    }
    return NULL;
}
