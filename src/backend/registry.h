/* SPDX-License-Identifier: MIT */
/*
 * The stores that are built in: one line for each here, and one in the table
 * of registry.c. Only the registry itself and the decorators need this.
 */
#ifndef HF_BACKEND_REGISTRY_H
#define HF_BACKEND_REGISTRY_H

#include "src/backend/backend.h"

extern const struct hf__backend hf__sqlite_backend; /* sqlite/ */
extern const struct hf__backend hf__file_backend;   /* file/ */
extern const struct hf__backend hf__memory_backend; /* memory/ */
extern const struct hf__backend hf__mysql_backend;  /* mysql/ */

/* Is that its scheme, or its other name? */
bool hf__backend_is_called(const struct hf__backend *, const char *scheme);

/* The store of that scheme behind the fault decorator, NULL if there is no
 * such store. fault/. Thread: any. */
const struct hf__backend *hf__fault_find(const char *scheme);

#endif
