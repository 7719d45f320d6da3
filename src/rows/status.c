/* SPDX-License-Identifier: MIT */
/*
 * The names of all statuses that a call for rows can give. Thread: any.
 */
#include "src/rows/sql.h"

const char *hf__sql_strstatus(int status)
{
    switch (status) {
#define HF_X(name, value, text)                                                \
    case name:                                                                 \
        return #name;
        HF_STATUS_MAP(HF_X)
        HF_ROW_STATUS_MAP(HF_X)
#undef HF_X
    default:
        return "an unknown status";
    }
}
