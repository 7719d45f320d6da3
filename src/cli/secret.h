/* SPDX-License-Identifier: MIT */
/*
 * Finds passwords in a URL, hides them in what is shown, and wipes them from
 * the process list. Thread: main.
 */
#ifndef HF_CLI_SECRET_H
#define HF_CLI_SECRET_H

#include <stdbool.h>

/* Returns a new string with each password replaced by "***". */
char *cli_secret_hide(const char *text);
/* The same for a word that is a URL, perhaps an invalid one, or may have been
 * meant as one: user:password@host is enough. The value of an option that no
 * store has is hidden, too. */
char *cli_secret_hide_all(const char *word);
/* The same for a message of the library, which puts what people wrote in
 * quotes: "…". */
char *cli_secret_hide_quoted(const char *text);
bool cli_secret_is_in(const char *url);
/* Overwrite each password in place, keeping its length. */
void cli_secret_wipe(char *url);

#endif
