/* SPDX-License-Identifier: MIT */
/*
 * Passwords in a URL: found, hidden in what is shown, and wiped from the
 * process list. Thread: main.
 */
#ifndef HF_CLI_SECRET_H
#define HF_CLI_SECRET_H

#include <stdbool.h>

/* A new string with each password replaced by "***". */
char *cli_secret_hide(const char *url);
bool cli_secret_is_in(const char *url);
/* Overwrite each password in place, keeping the length. */
void cli_secret_wipe(char *url);

#endif
