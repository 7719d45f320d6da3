/* SPDX-License-Identifier: MIT */
/*
 * Decides how near two words are: the number of letters that must be put in,
 * taken out, changed or swapped, by Damerau's rule. A third of the letters
 * may be wrong; beyond that a guess would only mislead. Thread: any.
 */
#include "src/cli/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LONGEST 31

void cli_suggest_init(struct cli_suggest *s, const char *word)
{
    size_t length = strlen(word);

    s->word = word;
    s->nearest = NULL;
    s->distance = length > 5 ? length / 3 + 1 : 2 + (length > 2);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    size_t n = strlen(a);
    size_t m = strlen(b);

    if (n > LONGEST || m > LONGEST) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];

        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            bool is_swap =
                i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (is_swap) {
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
            }
        }
    }
    return rows[n % 3][m];
}

void cli_suggest_try(struct cli_suggest *s, const char *candidate)
{
    size_t d = distance(s->word, candidate);

    if (d < s->distance) {
        s->distance = d;
        s->nearest = candidate;
    }
}
