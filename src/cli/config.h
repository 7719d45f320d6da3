/* SPDX-License-Identifier: MIT */
/*
 * The two configuration files. Thread: main.
 */
#ifndef HF_CLI_CONFIG_H
#define HF_CLI_CONFIG_H

#define CLI_CONFIG_SYSTEM "/etc/holdfast/config"

struct cli_config {
    char *url;      /* NULL: in neither file */
    char *url_from; /* the file that says so */
    char *reach;    /* NULL: in neither file */
};

/* Read one file; what is set already stays. A file that does not exist is
 * fine. 0, or 78 after having said what is wrong, with file and line. */
int cli_config_read(struct cli_config *, const char *path);
void cli_config_fini(struct cli_config *);

#endif
