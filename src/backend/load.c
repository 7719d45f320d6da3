/* SPDX-License-Identifier: MIT */
/*
 * Loading the module of a store: holdfast-STORE.so, in the folder holdfast
 * beside the library or, as in a build folder, right beside it, and nowhere
 * else, whatever the environment and the current folder are. A loaded module
 * stays. The system's loader finds the libraries that it needs, as for a
 * program. Only the shared library has this file. Thread: any. A fork() of this
 * process waits for a load, which the child would inherit half done; so a
 * constructor must not open a store, nor fork while another thread may.
 */
#include "src/backend/module.h"
#include "src/backend/registry.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/fork.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the library is, absolute; "" if that can't be told. Set at load. */
static char library[PATH_MAX];

/*
 * Runs at load, because the loader may know the library by a path relative to
 * the folder that is the current one now.
 */
__attribute__((constructor)) static void find_library(void)
{
    Dl_info info;
    size_t n = 0;

    if (dladdr(library, &info) == 0 || info.dli_fname == NULL) {
        return;
    }
    if (info.dli_fname[0] != '/') {
        if (getcwd(library, sizeof library) == NULL) {
            library[0] = '\0';
            return;
        }
        n = strlen(library);
        library[n++] = '/';
    }
    if (n + strlen(info.dli_fname) >= sizeof library) {
        library[0] = '\0';
        return;
    }
    memcpy(library + n, info.dli_fname, strlen(info.dli_fname) + 1);
}

/* Gives the folder of the library file itself, not of a link to it. */
static int find_folder(char folder[PATH_MAX], hf_error *err)
{
    if (realpath(library, folder) == NULL) {
        /* An upgrade may have removed it under a running program. */
        memcpy(folder, library, PATH_MAX);
    }
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        return hf__fail(err, HF_ENOTSUP,
                        "the path of the library, beside which its modules "
                        "are, can't be found");
    }
    *slash = '\0';
    return HF_OK;
}

/* HF_OK: path is the module's file, which can be read. */
static int find_file(const struct hf__modular *m, char path[PATH_MAX],
                     hf_error *err)
{
    static const char *const places[] = {"/holdfast", ""};
    char folder[PATH_MAX];
    int r = find_folder(folder, err);

    for (size_t i = 0; r == HF_OK && i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, PATH_MAX, "%s%s/holdfast-%s.so", folder,
                         places[i], m->store);
        int fd = n < PATH_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;

        if (fd >= 0) {
            close(fd);
            return HF_OK;
        }
        if (n < PATH_MAX && errno != ENOENT && errno != ENOTDIR) {
            return hf__fail_native(err, hf__errno_status(errno), errno,
                                   "the store \"%s\" is a module that can't "
                                   "be opened: %s",
                                   m->store, path);
        }
    }
    if (r != HF_OK) {
        return r;
    }
    return hf__fail(err, HF_ENOTSUP,
                    "the store \"%s\" is a module that is not installed: there "
                    "is no holdfast-%s.so in %s/holdfast; install it and the "
                    "package %s",
                    m->store, m->store, folder, m->package);
}

static bool has_our_sizes(const struct hf__module *module)
{
#define SIZE(type) sizeof(type),
    static const uint32_t ours[HF__STAMP_SIZES] = {HF__STAMP_MAP(SIZE)};
#undef SIZE

    return module->n_sizes == HF__STAMP_SIZES &&
           memcmp(module->sizes, ours, sizeof ours) == 0;
}

static int check_stamp(const struct hf__modular *m,
                       const struct hf__module *module, const char *path,
                       hf_error *err)
{
    if (module == NULL) {
        return hf__fail(err, HF_ENOTSUP, "%s is no module of Holdfast", path);
    }
    if (strcmp(module->version, HF_VERSION) != 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "%s is of Holdfast %s and the library of %s: install "
                        "both of one version",
                        path, module->version, HF_VERSION);
    }
    if (!has_our_sizes(module)) {
        return hf__fail(err, HF_ENOTSUP,
                        "%s is of another build of Holdfast %s than the "
                        "library: install both of one build",
                        path, HF_VERSION);
    }
    if (strcmp(module->backend->scheme, m->store) != 0) {
        return hf__fail(err, HF_ENOTSUP, "%s is the module of the store \"%s\"",
                        path, module->backend->scheme);
    }
    return HF_OK;
}

static int load_file(struct hf__modular *m, const char *path, hf_error *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): each thread has its own */
        const char *why = dlerror();

        return hf__fail(err, HF_ENOTSUP,
                        "the store \"%s\" is a module that can't be loaded "
                        "(%s): %s; it needs the package %s",
                        m->store, path, why, m->package);
    }
    const struct hf__module *module = dlsym(handle, "hf__module");
    int r = check_stamp(m, module, path, err);
    if (r != HF_OK) {
        dlclose(handle); /* none of its code was called */
        return r;
    }
    atomic_store(&m->backend, module->backend);
    return HF_OK;
}

int hf__module_load(struct hf__modular *m, hf_error *err)
{
    char path[PATH_MAX];
    int r = HF_OK;

    hf__fork_forbid(); /* also serves as the lock of all loads */
    if (atomic_load(&m->backend) == NULL) {
        r = find_file(m, path, err);
        r = r == HF_OK ? load_file(m, path, err) : r;
    }
    hf__fork_allow();
    return r;
}
