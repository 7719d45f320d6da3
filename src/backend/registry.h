/* SPDX-License-Identifier: MIT */
/*
 * The stores of this build, one line for each. A store on memory or files is
 * built in and also has a line in the table of registry.c. A store that needs a
 * server's client library is a module, or linked in if the build has no modules
 * (modules.c and linked.c make the same table of one or the other). Only the
 * registry, the decorators and the stores include this.
 */
#ifndef HF_BACKEND_REGISTRY_H
#define HF_BACKEND_REGISTRY_H

#include "src/backend/backend.h"

extern const struct hf__backend hf__sqlite_backend; /* sqlite/ */
extern const struct hf__backend hf__file_backend;   /* file/ */
extern const struct hf__backend hf__memory_backend; /* memory/ */

/* X(store, its other names "a,b", the Debian package of its client library):
 * hf__STORE_backend in the folder STORE/, the module holdfast-STORE.so. */
#define HF__MODULAR_MAP(X)                                                     \
    X(mysql, "mariadb", "libmariadb3")                                         \
    X(postgres, "postgresql", "libpq5")                                        \
    X(redis, "rediss,redis+sentinel,rediss+sentinel", "libhiredis0.14")        \
    X(redlock, "", "libhiredis0.14")                                           \
    X(zookeeper, "zk", "libzookeeper-mt2")
#define HF_X(store, aliases, package)                                          \
    extern const struct hf__backend hf__##store##_backend;
HF__MODULAR_MAP(HF_X)
#undef HF_X

struct hf__modular {
    const char *store;   /* its scheme; NULL ends the table */
    const char *aliases; /* other schemes of it, separated by commas */
    const char *package;
    /* Sets backend, once. NULL: it is linked in. */
    int (*load)(struct hf__modular *, hf_error *err);
    _Atomic(const struct hf__backend *) backend; /* NULL: not loaded yet */
};
extern struct hf__modular hf__modulars[]; /* linked.c or modules.c */

/*
 * The load function of a module. HF_OK; HF_ENOTSUP: the module, or a library
 * that it needs, is missing, or it is of another build; HF_EAUTH, HF_EUNAVAIL,
 * HF_ENOMEM: the system can't open it. After a failure the next call tries
 * again. Thread: any.
 */
HF_MUST_CHECK int hf__module_load(struct hf__modular *, hf_error *err);

#define HF__FAULT_SCHEME "fault+"
/* The store behind the fault decorator. fault/. Thread: any. */
const struct hf__backend *hf__fault_over(const struct hf__backend *inner);

#endif
