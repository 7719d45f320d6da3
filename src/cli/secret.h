/* SPDX-License-Identifier: MIT */
/*
 * Passwords in a URL: found, hidden in what is shown, and wiped from the
 * process list. Thread: main.
 */
#ifndef HF_CLI_SECRET_H
#define HF_CLI_SECRET_H

#include <stdbool.h>

/* A new string with each password replaced by "***". */
char *cli_secret_hide(const char *text);
/* The same for a URL, or a word that was none, or not a right one, but may have
 * been meant as one: user:password@host is enough. What is the value of an
 * option that no store has is hidden, too. */
char *cli_secret_hide_all(const char *word);
/* A message of the library, which quotes what people wrote: "…". */
char *cli_secret_hide_quoted(const char *text);
bool cli_secret_is_in(const char *url);
/* Overwrite each password in place, keeping the length. */
void cli_secret_wipe(char *url);

#endif
