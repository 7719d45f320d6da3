/* SPDX-License-Identifier: MIT */
/*
 * Decides the store: the first of --url, HOLDFAST_URL, `url =` in the user's
 * and then in the system's configuration, else a file in the default folder.
 * Where that is, and of which store, place.h knows; the syntax of a
 * configuration, config.c.
 * Thread: main chooses; any thread may open.
 */
#include "src/cli/store.h"
#include "src/cli/config.h"
#include "src/cli/exit.h"
#include "src/cli/log.h"
#include "src/cli/memory.h"
#include "src/cli/place.h"
#include "src/cli/say.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"

#include <stdlib.h>
#include <string.h>

static const char *const reach_words[] = {
    [HF_REACH_PROCESS] = "process",
    [HF_REACH_USER] = "user",
    [HF_REACH_HOST] = "host",
    [HF_REACH_HOSTS] = "hosts",
};

const char *cli_reach_word(hf_reach reach)
{
    return reach_words[reach];
}

static hf_reach read_reach(const char *word)
{
    int i = HF_REACH_HOSTS;

    while (i && strcmp(reach_words[i], word)) {
        i--;
    }
    return (hf_reach)i;
}

static int read_configs(struct cli_config *config)
{
    char *home CLI_AUTO(cli_free_auto) = NULL;
    int r = cli_place_home(&home);

    if (home) {
        char *path CLI_AUTO(cli_free_auto) =
            cli_format("%s/.config/holdfast/config", home);

        r = cli_config_read(config, path);
    }
    return r ? r : cli_config_read(config, CLI_CONFIG_SYSTEM);
}

/* A path may hold what a URL gives a meaning to. */
static char *default_url(const char *folder)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/";
    struct cli_text url = {0};

    cli_text_add(&url, CLI_DEFAULT_SCHEME ":");
    for (const char *c = folder; *c; c++) {
        cli_text_add(&url, strchr(plain, *c) ? "%c" : "%%%02X",
                     (unsigned char)*c);
    }
    cli_text_add(&url, "/locks.db");
    return url.data;
}

/* argv is visible to every user of the host; holdfast wipes what it can. */
static void warn_of_secret(const struct cli_options *o,
                           const struct cli_store *store)
{
    if (store->is_option && cli_secret_is_in(store->url)) {
        cli_say("warning: a password in --url can be seen by others; use "
                "password_file= in the URL, HOLDFAST_PASSWORD_FILE or "
                "HOLDFAST_PASSWORD");
        /* The words of argv are ours to write; the table's type is const
         * because nobody else does. */
        cli_secret_wipe((char *)(uintptr_t)o->url);
    }
}

static int choose_url(const struct cli_options *o, struct cli_config *config,
                      struct cli_store *store)
{
    const char *variable = getenv("HOLDFAST_URL");
    char *folder CLI_AUTO(cli_free_auto) = NULL;

    if (o->url) {
        store->url = cli_strdup(o->url);
        store->from = "--url";
        store->is_option = true;
        return 0;
    }
    if (variable && *variable) {
        store->url = cli_strdup(variable);
        store->from = "HOLDFAST_URL";
        return 0;
    }
    if (config->url) {
        store->url = cli_strdup(config->url);
        store->from = cli_strdup(config->url_from);
        store->is_config = true;
        return 0;
    }
    folder = cli_place_default();
    if (!folder) {
        return CLI_EXIT_CONFIG;
    }
    store->url = default_url(folder);
    store->from = "the default";
    return 0;
}

int cli_store_choose(const struct cli_options *o, struct cli_store *store)
{
    struct cli_config config CLI_AUTO(cli_config_fini) = {0};
    const char *reach;
    int r = read_configs(&config);

    *store = (struct cli_store){.allow = o->allow, .level = HF_LOG_WARN};
    r = r ? r : choose_url(o, &config, store);
    if (r) {
        return r;
    }
    reach = o->reach ? o->reach : config.reach;
    store->reach = reach ? read_reach(reach) : HF_REACH_PROCESS;
    store->shown = cli_secret_hide_all(store->url);
    warn_of_secret(o, store);
    return 0;
}

void cli_store_fini(struct cli_store *store)
{
    if (store->is_config) {
        cli_free((char *)(uintptr_t)store->from);
    }
    cli_free(store->url);
    cli_free(store->shown);
    *store = (struct cli_store){0};
}

int cli_store_open(const struct cli_store *store, hf_client **ret_client,
                   hf_error *err)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;

    opts.log = cli_log;
    opts.log_level = store->level;
    opts.reach = store->reach;
    opts.allow = store->allow;
    return hf_open(store->url, &opts, ret_client, err);
}

/* The command of a run has not the password that the run has. */
static const char *advice(int status, const char *why)
{
    const char *file = getenv("HOLDFAST_PASSWORD_FILE");

    return (status == HF_EAUTH || status == HF_EINVAL) &&
                   strstr(why, "password") && getenv("HOLDFAST_TOKEN") &&
                   !getenv("HOLDFAST_PASSWORD") && (!file || !*file)
               ? "; a run keeps HOLDFAST_PASSWORD from its command: set "
                 "HOLDFAST_PASSWORD_FILE for both, or use run --pass-password"
               : "";
}

int cli_store_failed(const struct cli_store *store, int status,
                     const hf_error *err, char **ret_text)
{
    char *why CLI_AUTO(cli_free_auto) = cli_secret_hide_quoted(err->text);

    *ret_text = cli_format(
        "cannot open the store %s (from %s): %s%s", store->shown, store->from,
        *why ? why : hf_strstatus(status), advice(status, why));
    return status == HF_EINVAL && store->is_config ? CLI_EXIT_CONFIG
                                                   : cli_exit_of(status);
}

int cli_store_say_failed(const struct cli_store *store, int status,
                         const hf_error *err)
{
    char *text CLI_AUTO(cli_free_auto) = NULL;
    int code = cli_store_failed(store, status, err, &text);

    return cli_fail(code, "%s", text);
}

int cli_store_enter(const struct cli_options *o, struct cli_store *store,
                    hf_client **ret_client)
{
    hf_error err = HF_ERROR_INIT;
    int r = cli_store_choose(o, store);

    if (r) {
        return r;
    }
    r = cli_store_open(store, ret_client, &err);
    return r ? cli_store_say_failed(store, r, &err) : 0;
}

void cli_client_auto(hf_client **client)
{
    hf_close(*client);
}
