/* SPDX-License-Identifier: MIT */
/*
 * Which stores this build has. The tests run every store of the tables and
 * refuse one that they have no URL for, so one line makes a new store known to
 * all of them. load.c loads modules. Thread: any.
 */
#include "src/backend/registry.h"

#include "src/backend/conn.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/url_list.h"

#include <string.h>

static const struct hf__backend *const built_in[] = {
    &hf__sqlite_backend,
    &hf__file_backend,
    &hf__memory_backend,
};
enum { N_BUILT_IN = (int)(sizeof built_in / sizeof *built_in) };

/* The schemes of which several URLs mean one URL of another store. */
static const struct hf__url_joint joints[] = {
    {"redis", "redlock", NULL},
    {"rediss", "redlock", "tls=verify"},
    {NULL, NULL, NULL},
};

int hf__backend_url(const char *text, struct hf__url **ret_url, hf_error *err)
{
    return hf__url_parse_list(text, joints, ret_url, err);
}

const char *hf__store_name(int i)
{
    if (i < 0) {
        return NULL;
    }
    if (i < N_BUILT_IN) {
        return built_in[i]->scheme;
    }
    for (const struct hf__modular *m = hf__modulars; m->store != NULL; m++) {
        if (i-- == N_BUILT_IN) {
            return m->store;
        }
    }
    return NULL;
}

static struct hf__modular *find_modular(const char *scheme)
{
    for (struct hf__modular *m = hf__modulars; m->store != NULL; m++) {
        if (strcmp(m->store, scheme) == 0 ||
            hf__is_allowed(m->aliases, scheme)) {
            return m;
        }
    }
    return NULL;
}

static int load_bare(const char *scheme, const struct hf__backend **ret_backend,
                     hf_error *err)
{
    for (int i = 0; i < N_BUILT_IN; i++) {
        if (strcmp(built_in[i]->scheme, scheme) == 0) {
            *ret_backend = built_in[i];
            return HF_OK;
        }
    }
    struct hf__modular *m = find_modular(scheme);
    if (m == NULL) {
        return hf__fail(err, HF_EINVAL,
                        "no store is called \"%s\" in this build; "
                        "\"holdfast backends\" lists them",
                        scheme);
    }
    int r = atomic_load(&m->backend) == NULL ? m->load(m, err) : HF_OK;
    if (r == HF_OK) {
        *ret_backend = atomic_load(&m->backend);
    }
    return r;
}

int hf__backend_load(const char *scheme, const struct hf__backend **ret_backend,
                     hf_error *err)
{
    size_t fault = strlen(HF__FAULT_SCHEME);
    int r = HF_OK;

    if (strncmp(scheme, HF__FAULT_SCHEME, fault) != 0) {
        return load_bare(scheme, ret_backend, err);
    }
    r = load_bare(scheme + fault, ret_backend, err);
    if (r == HF_OK) {
        *ret_backend = hf__fault_over(*ret_backend);
    }
    return r;
}

const struct hf__backend *hf__backend_find(const char *scheme)
{
    const struct hf__backend *found = NULL;

    return hf__backend_load(scheme, &found, NULL) == HF_OK ? found : NULL;
}
