/* SPDX-License-Identifier: MIT */
/*
 * INSPECT and BREAK, as apply.h has the operations. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_OPERATE_H
#define HF_BACKEND_SQLITE_OPERATE_H

#include "src/backend/sqlite/apply.h"

HF_MUST_CHECK int hf__operate_inspect(struct hf__sqlite *s,
                                      const struct hf__op *op,
                                      struct hf__outcome *out);
HF_MUST_CHECK int hf__operate_break(struct hf__sqlite *s,
                                    const struct hf__op *op,
                                    struct hf__outcome *out);

#endif
