/* SPDX-License-Identifier: MIT */
/*
 * The lists of plugins, and the options of a connection. The library looks for
 * a plugin's file before it asks whether the plugin is allowed, and accepts a
 * part of an allowed name. So the listed plugins are loaded once, by name, and
 * each connection has a folder without files as its plugin folder. Loading
 * happens under a mutex and the loader's lock, which must not be held when a
 * child is forked. An option that can't be set ends the connection: it might be
 * the one that protects the password. Thread: any.
 */
#include "src/backend/mysql/auth.h"

#include "src/base/error.h"
#include "src/base/fork.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* From mysql/client_plugin.h, which does not compile in Debian's package. */
#define AUTHENTICATION 2

/* The library's error: the plugin is not in the list. */
#define NOT_ALLOWED 5010
/* A folder without files. */
#define NO_FOLDER "/dev/null"

/*
 * What BY_PROOF sends does not reveal the password. BY_PASSWORD and
 * BY_CLEARTEXT send it under a key that the server names, or as it is; so they
 * need a server that is known to be the one we meant.
 */
#define BY_PROOF     "mysql_native_password,client_ed25519"
#define BY_PASSWORD  ",caching_sha2_password,sha256_password"
#define BY_CLEARTEXT ",mysql_clear_password"

/* The plugins to load; mysql_native_password is built into the library. */
static const char *const by_proof[] = {"client_ed25519", NULL};
static const char *const by_password[] = {
    "caching_sha2_password", "sha256_password", "mysql_clear_password", NULL};

/* Load for each connection: an earlier one may have failed for lack of memory,
 * and a loaded plugin is found at once. A plugin that is not installed is
 * reported only when a server asks for it. */
static void load(MYSQL *handle, const char *const *plugins)
{
    for (; *plugins != NULL; plugins++) {
        (void)mysql_client_find_plugin(handle, *plugins, AUTHENTICATION);
    }
}

bool hf__auth_is_tls(const struct hf__wire_target *t, const char *word)
{
    return t->tls != NULL && strcmp(t->tls, word) == 0;
}

static const char *allowed(const struct hf__wire_target *t)
{
    if (!hf__auth_is_tls(t, "verify")) {
        return BY_PROOF;
    }
    return t->socket != NULL ? BY_PROOF BY_PASSWORD
                             : BY_PROOF BY_PASSWORD BY_CLEARTEXT;
}

/* ---- who listens at a unix socket */

/* Does this user alone own the socket's folder, so that nobody else can put a
 * socket there? */
static bool owns_folder(const char *socket, uid_t uid)
{
    char folder[PATH_MAX];
    struct stat st;
    int n = (int)(strrchr(socket, '/') - socket);

    return snprintf(folder, sizeof folder, "%.*s/", n, socket) <
               (int)sizeof folder &&
           stat(folder, &st) == 0 && st.st_uid == uid &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool is_believed(const struct hf__wire_target *t, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid() ||
            owns_folder(t->socket, peer.uid));
}

int hf__auth_meet(MYSQL *handle, const struct hf__wire_target *t, int fd,
                  hf_error *err)
{
    if (t->socket == NULL || fd < 0 || hf__auth_is_tls(t, "verify") ||
        !is_believed(t, fd)) {
        return HF_OK;
    }
    return mysql_options(handle, MARIADB_OPT_RESTRICTED_AUTH,
                         BY_PROOF BY_PASSWORD) == 0
               ? HF_OK
               : hf__fail(err, HF_ENOMEM, "out of memory for a connection");
}

/* ---- options */

/* mysql_options() does not report that it had no memory for its copy, so look
 * at the copy. */
static bool set_text(MYSQL *handle, enum mysql_option option, const char *text)
{
    const char *kept = NULL;

    return text == NULL || (mysql_options(handle, option, text) == 0 &&
                            mysql_get_option(handle, option, &kept) == 0 &&
                            kept != NULL && strcmp(kept, text) == 0);
}

static bool set_tls(MYSQL *handle, const struct hf__wire_target *t)
{
    my_bool is_verified = hf__auth_is_tls(t, "verify") ? 1 : 0;
    /* A unix socket is private enough without TLS; but a user who asks for TLS
     * gets it. */
    bool is_off =
        t->tls == NULL ? t->socket != NULL : hf__auth_is_tls(t, "off");
    my_bool is_wanted = is_off ? 0 : 1;

    /* Set it in any case: other versions of the library have other defaults. */
    return mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &is_wanted) == 0 &&
           mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
                         &is_verified) == 0 &&
           set_text(handle, MYSQL_OPT_SSL_CA, t->ca) &&
           set_text(handle, MYSQL_OPT_SSL_CERT, t->cert) &&
           set_text(handle, MYSQL_OPT_SSL_KEY, t->key);
}

/* The first answer is by a proof, whatever plugin the server named first; it
 * asks for another if it must. */
static bool set_plugins(MYSQL *handle, const struct hf__wire_target *t)
{
    return set_text(handle, MYSQL_PLUGIN_DIR, NO_FOLDER) &&
           set_text(handle, MYSQL_DEFAULT_AUTH, "mysql_native_password") &&
           mysql_options(handle, MARIADB_OPT_RESTRICTED_AUTH, allowed(t)) == 0;
}

static bool set_options(MYSQL *handle, const struct hf__wire_target *t,
                        hf__auth_wait_fn wait)
{
    unsigned protocol = MYSQL_PROTOCOL_TCP;
    unsigned sends_files = 0;

    return mysql_options(handle, MYSQL_OPT_NONBLOCK, NULL) == 0 &&
           mysql_options(handle, MARIADB_OPT_IO_WAIT, wait) == 0 &&
           set_text(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4") &&
           mysql_options(handle, MYSQL_OPT_LOCAL_INFILE, &sends_files) == 0 &&
           (t->socket != NULL ||
            mysql_options(handle, MYSQL_OPT_PROTOCOL, &protocol) == 0) &&
           set_plugins(handle, t) && set_tls(handle, t);
}

MYSQL *hf__auth_prepare(const struct hf__wire_target *t, hf__auth_wait_fn wait,
                        hf_error *err)
{
    MYSQL *handle;

    hf__fork_forbid();
    handle = mysql_init(NULL);
    if (handle != NULL) {
        load(handle, by_proof);
    }
    if (handle != NULL && (t->socket != NULL || hf__auth_is_tls(t, "verify"))) {
        load(handle, by_password);
    }
    if (handle != NULL && !set_options(handle, t, wait)) {
        mysql_close(handle);
        handle = NULL;
    }
    hf__fork_allow();
    if (handle == NULL) {
        (void)hf__fail(err, HF_ENOMEM, "out of memory for a connection");
    }
    return handle;
}

/* ---- refusals */

/* The library does not say which plugin was refused: in its place it reports
 * some bytes of another packet. */
int hf__auth_judge(MYSQL *handle, const struct hf__wire_target *t,
                   hf_error *err)
{
    if (strstr(mysql_error(handle), NO_FOLDER "/") != NULL) {
        return hf__fail_native(err, HF_EAUTH, (int)mysql_errno(handle),
                               "%s asks for a plugin of MariaDB's client "
                               "library that is not installed here (see "
                               "mariadb_config --plugindir)",
                               t->shown);
    }
    if (mysql_errno(handle) != NOT_ALLOWED) {
        return HF_OK;
    }
    return hf__fail_native(
        err, HF_EUNSAFE, NOT_ALLOWED,
        "%s asks for more than a proof of the password (by caching_sha2_"
        "password, dialog or the like): name its certificate's authority "
        "(ca=), use its unix socket in a folder of its own, or give the user "
        "mysql_native_password or ed25519",
        t->shown);
}
