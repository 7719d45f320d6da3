/* SPDX-License-Identifier: MIT */
/*
 * Decides the store: the first of --url, HOLDFAST_URL, `url =` in the user's
 * and then in the system's configuration, else a file in the default folder. A
 * configuration has the keys url and reach, each once; any other key is
 * refused, because a misspelt one would silently choose another store. A
 * password in a file that all users can read is refused, too.
 * The default folder is /var/lib/holdfast for root, else
 * ~/.local/state/holdfast; with a network home /var/tmp/holdfast-UID. A folder
 * that another user could write to is refused, because he could take or free
 * any lock. A missing home is not replaced, because it may be mounted later,
 * and then a shell and cron would use two stores. Thread: main chooses; any
 * thread may open.
 */
#include "src/cli/store.h"
#include "src/cli/event.h"
#include "src/cli/output.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define CLI_CONFIG_SYSTEM "/etc/holdfast/config"

/* A larger file is not a configuration of holdfast. */
#define CONFIG_MAX 65536

static const char blanks[] = " \t\r";

enum { KEY_URL = 1, KEY_REACH = 2 };

struct reader {
    struct cli_config *config;
    const char *path;
    int line;
    unsigned mode; /* mode of the file */
    unsigned seen; /* KEY_URL, KEY_REACH: keys in earlier lines */
};

static int bad_key(const struct reader *in, const char *written)
{
    char *key CLI_AUTO(cli_free_auto) = cli_secret_hide_all(written);
    struct cli_suggest near;

    cli_suggest_init(&near, key);
    cli_suggest_try(&near, "url");
    cli_suggest_try(&near, "reach");
    if (near.nearest) {
        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: unknown key '%s'; did you mean %s?", in->path,
                        in->line, key, near.nearest);
    }
    return cli_fail(CLI_EXIT_CONFIG,
                    "%s:%d: unknown key '%s'; the keys are url and reach",
                    in->path, in->line, key);
}

static int take(struct reader *in, const char *key, const char *value)
{
    bool is_url = !strcmp(key, "url");
    unsigned bit = is_url ? KEY_URL : KEY_REACH;
    char **slot = is_url ? &in->config->url : &in->config->reach;

    if (!is_url && strcmp(key, "reach")) {
        return bad_key(in, key);
    }
    if (in->seen & bit) {
        return cli_fail(CLI_EXIT_CONFIG, "%s:%d: %s is set twice", in->path,
                        in->line, key);
    }
    in->seen |= bit;
    if (!*value) {
        return cli_fail(CLI_EXIT_CONFIG, "%s:%d: %s has no value", in->path,
                        in->line, key);
    }
    if (is_url && (in->mode & S_IRWXO) && cli_secret_is_in(value)) {
        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: the url has a password, and the file is open "
                        "to all users (%04o): chmod 600 it, or take the "
                        "password out and name a file for it with "
                        "?password_file=PATH",
                        in->path, in->line, in->mode);
    }
    if (!is_url && strcmp(value, "user") && strcmp(value, "host") &&
        strcmp(value, "hosts")) {
        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: reach '%s' is none of user, host, hosts",
                        in->path, in->line, value);
    }
    if (!*slot) {
        *slot = cli_strdup(value);
        if (is_url) {
            in->config->url_from = cli_strdup(in->path);
        }
    }
    return 0;
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length && strchr(blanks, text[length - 1])) {
        text[--length] = 0;
    }
    return text;
}

static void cut_comment(char *line)
{
    for (char *c = line; *c; c++) {
        if (*c == '#' && (c == line || strchr(blanks, c[-1]))) {
            *c = 0;
            return;
        }
    }
}

static int read_line(struct reader *in, char *line)
{
    char *equals;

    in->line++;
    cut_comment(line);
    line = trim(line);
    if (!*line) {
        return 0;
    }
    equals = strchr(line, '=');
    if (!equals) {
        char *shown CLI_AUTO(cli_free_auto) = cli_secret_hide_all(line);

        return cli_fail(CLI_EXIT_CONFIG,
                        "%s:%d: '%s' is not of the form key = value", in->path,
                        in->line, shown);
    }
    *equals = 0;
    return take(in, trim(line), trim(equals + 1));
}

static int read_lines(struct reader *in, char *text)
{
    int r = 0;

    while (!r && text) {
        char *end = strchr(text, '\n');

        if (end) {
            *end++ = 0;
        }
        r = read_line(in, text);
        text = end;
    }
    return r;
}

/* Returns the file's text; NULL and errno 0 if there is no such file. */
static char *load(const char *path, size_t *ret_length, unsigned *ret_mode)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    char *text;
    ssize_t n;

    if (fd < 0) {
        errno = errno == ENOENT || errno == ENOTDIR ? 0 : errno;
        return NULL;
    }
    *ret_mode = fstat(fd, &st) ? 0777 : st.st_mode & 07777;
    text = cli_alloc(CONFIG_MAX + 1);
    *ret_length = 0;
    do {
        n = read(fd, text + *ret_length, CONFIG_MAX - *ret_length);
        *ret_length += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        int code = errno;

        cli_free(text);
        text = NULL;
        errno = code;
    }
    (void)close(fd);
    return text;
}

int cli_config_read(struct cli_config *config, const char *path)
{
    struct reader in = {.config = config, .path = path};
    size_t length = 0;
    char *text CLI_AUTO(cli_free_auto) = load(path, &length, &in.mode);

    if (!text && !errno) {
        return 0;
    }
    if (!text) {
        return cli_fail(CLI_EXIT_CONFIG, "cannot read %s: %s", path,
                        strerror(errno));
    }
    if (length >= CONFIG_MAX || memchr(text, 0, length)) {
        return cli_fail(CLI_EXIT_CONFIG, "%s is no configuration of holdfast",
                        path);
    }
    return read_lines(&in, text);
}

void cli_config_fini(struct cli_config *config)
{
    cli_free(config->url);
    cli_free(config->url_from);
    cli_free(config->reach);
    *config = (struct cli_config){0};
}

static const char ways[] =
    "; name a store: --url URL, HOLDFAST_URL=URL, or a line `url = URL` in "
    "~/.config/holdfast/config or /etc/holdfast/config (for "
    "example " CLI_DEFAULT_SCHEME ":/path/locks.db)";

/* The effective user's home in the passwd database; NULL: none. Returns 0, or
 * the exit code after having said that the lookup failed. A missing user, or a
 * code that C libraries use for one, is no failure. But a home that could not
 * be looked up must not count as none: the file that names the store may be in
 * it. */
static int default_dir_home(char **ret_home)
{
    const struct passwd *entry;
    int code;

    errno = 0;
    entry = getpwuid(geteuid());
    code = errno;
    *ret_home = NULL;
    if (entry && entry->pw_dir && entry->pw_dir[0] == '/') {
        *ret_home = cli_strdup(entry->pw_dir);
    }
    if (entry || !code || code == ENOENT || code == ESRCH || code == EBADF ||
        code == EPERM) {
        return 0;
    }
    return cli_fail(code == ENOMEM ? CLI_EXIT_MEMORY : CLI_EXIT_CONFIG,
                    "cannot look up uid %ld in the passwd database: %s",
                    (long)geteuid(),
                    code == ENOMEM ? "out of memory" : strerror(code));
}

/* Super-block numbers from linux/magic.h and the file systems' own headers. */
static bool is_network(const char *path)
{
    static const uint32_t magics[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x73757245, /* Coda */
        0x01021997, /* 9P */
        0x65735546, /* FUSE: sshfs and its kind */
        0x00c36400, /* Ceph */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x01161970, /* GFS2 */
        0x7461636f, /* OCFS2 */
        0x786f4256, /* VirtualBox shared folder */
        0x19830326, /* BeeGFS */
        0xaad7aaea, /* PanFS */
        0xbacbacbc, /* VMware shared folder */
        0x564c,     /* NCP */
    };
    struct statfs fs;

    if (statfs(path, &fs)) {
        return false;
    }
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if ((uint32_t)fs.f_type == magics[i]) {
            return true;
        }
    }
    return false;
}

/* Check that the path is our own folder, not a link, with no mode bit of
 * `refused`. Says what is wrong. */
static bool is_safe(const char *path, mode_t refused)
{
    struct stat st;

    if (lstat(path, &st)) {
        (void)cli_fail(CLI_EXIT_CONFIG, "cannot look at %s: %s%s", path,
                       strerror(errno), ways);
    } else if (!S_ISDIR(st.st_mode)) {
        (void)cli_fail(
            CLI_EXIT_CONFIG,
            "%s is not a folder, or is a symbolic link; the store would "
            "not be safe there%s",
            path, ways);
    } else if (st.st_uid != geteuid()) {
        (void)cli_fail(
            CLI_EXIT_CONFIG,
            "%s belongs to uid %ld, not to you; the store would not be "
            "safe there%s",
            path, (long)st.st_uid, ways);
    } else if (st.st_mode & refused) {
        (void)cli_fail(CLI_EXIT_CONFIG,
                       "%s can be used by others (mode %03o): chmod %s %s%s",
                       path, (unsigned)st.st_mode & 0777,
                       refused & S_IRUSR >> 3 ? "0700" : "go-w", path, ways);
    } else {
        return true;
    }
    return false;
}

static bool make(const char *path)
{
    if (!mkdir(path, 0700) || errno == EEXIST) {
        return true;
    }
    (void)cli_fail(CLI_EXIT_CONFIG, "cannot create %s: %s%s", path,
                   strerror(errno), ways);
    return false;
}

/* Make the last `depth` folders of the path, outermost first. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the caller says */
static bool make_all(char *path, int depth)
{
    char *slash = strrchr(path, '/');
    bool is_made;

    if (depth > 1 && slash && slash != path) {
        *slash = 0;
        is_made = make_all(path, depth - 1);
        *slash = '/';
        if (!is_made) {
            return false;
        }
    }
    return make(path);
}

static char *in_home(char *home)
{
    char *path;

    if (access(home, X_OK)) {
        (void)cli_fail(CLI_EXIT_CONFIG, "your home %s cannot be used: %s%s",
                       home, strerror(errno), ways);
        return NULL;
    }
    path = cli_format("%s/.local/state/holdfast", home);
    if (make_all(path, 3) && is_safe(path, S_IWGRP | S_IWOTH)) {
        return path;
    }
    cli_free(path);
    return NULL;
}

static char *checked(char *path, mode_t refused)
{
    if (make(path) && is_safe(path, refused)) {
        return path;
    }
    cli_free(path);
    return NULL;
}

/* Find or make the folder. Returns a new string; or NULL after having said why
 * no folder is usable. */
static char *default_dir(void)
{
    char *home CLI_AUTO(cli_free_auto) = NULL;

    if (!geteuid()) {
        return checked(cli_strdup("/var/lib/holdfast"), S_IWGRP | S_IWOTH);
    }
    if (default_dir_home(&home)) {
        return NULL;
    }
    if (!home) {
        (void)cli_fail(CLI_EXIT_CONFIG,
                       "uid %ld has no home in the passwd database%s",
                       (long)geteuid(), ways);
        return NULL;
    }
    if (is_network(home)) {
        return checked(cli_format("/var/tmp/holdfast-%ld", (long)geteuid()),
                       S_IRWXG | S_IRWXO);
    }
    return in_home(home);
}

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
    int r = default_dir_home(&home);

    if (home) {
        char *path CLI_AUTO(cli_free_auto) =
            cli_format("%s/.config/holdfast/config", home);

        r = cli_config_read(config, path);
    }
    return r ? r : cli_config_read(config, CLI_CONFIG_SYSTEM);
}

/* Characters of the path that mean something in a URL are escaped. */
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
    folder = default_dir();
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
    /* Every user of the host can see argv, so holdfast wipes the password
     * there. */
    if (store->is_option && cli_secret_is_in(store->url)) {
        cli_say("warning: a password in --url can be seen by others; use "
                "password_file= in the URL, HOLDFAST_PASSWORD_FILE or "
                "HOLDFAST_PASSWORD");
        /* We may write to argv; the table's type is const because nothing else
         * does. */
        cli_secret_wipe((char *)(uintptr_t)o->url);
    }
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

/* Advise if the command of a run lacks the run's password. */
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
