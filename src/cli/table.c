/* SPDX-License-Identifier: MIT */
/*
 * Decides how columns line up; what stands in them is the verb's.
 * Thread: main.
 */
#include "src/cli/table.h"
#include "src/cli/memory.h"

void cli_table_add(struct cli_table *table, const char *word)
{
    struct cli_text clean = {0};
    size_t column = table->count % table->columns;
    size_t width;

    if (table->count == table->room) {
        table->room = table->room ? table->room * 2 : 64;
        table->cells =
            cli_resize(table->cells, table->room * sizeof *table->cells);
    }
    cli_text_bytes(&clean, "", 0);
    cli_text_clean(&clean, word ? word : "-");
    width = cli_width(clean.data);
    if (width > table->width[column]) {
        table->width[column] = width;
    }
    table->cells[table->count++] = clean.data;
}

void cli_table_write(const struct cli_table *table, struct cli_text *text)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        size_t width = cli_width(table->cells[i]);

        if (column + 1 == table->columns) {
            cli_text_add(text, "%s\n", table->cells[i]);
        } else {
            cli_text_add(text, "%s%*s", table->cells[i],
                         (int)(table->width[column] - width + 2), "");
        }
    }
}

void cli_table_fini(struct cli_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        cli_free(table->cells[i]);
    }
    cli_free(table->cells);
    table->cells = NULL;
    table->count = 0;
}
