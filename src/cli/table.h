/* SPDX-License-Identifier: MIT */
/*
 * A table for people: columns as wide as their widest word. Thread: main.
 */
#ifndef HF_CLI_TABLE_H
#define HF_CLI_TABLE_H

#include "src/cli/text.h"

#define CLI_COLUMNS_MAX 9

struct cli_table {
    size_t columns;
    size_t width[CLI_COLUMNS_MAX];
    char **cells; /* row by row */
    size_t count;
    size_t room;
};

/* The next cell, cleaned; NULL is shown as "-". */
void cli_table_add(struct cli_table *, const char *word);
void cli_table_write(const struct cli_table *, struct cli_text *);
void cli_table_fini(struct cli_table *);

#endif
