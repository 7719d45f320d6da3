/* SPDX-License-Identifier: MIT */
/*
 * Reads a password from a URL, a file or the environment, in that order,
 * because a setting of one store goes before a setting of all. An empty
 * variable counts as unset. A file that all users could read is refused; its
 * group may read it, as the group of a service reads its secrets. Thread: any.
 */
#include "src/base/secret.h"

#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void hf__secret_wipe(struct hf__secret *secret)
{
    explicit_bzero(secret, sizeof *secret);
}

static int take(struct hf__secret *secret, const char *text, const char *from,
                hf_error *err)
{
    size_t length = strlen(text);

    if (length > HF__SECRET_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "the password of %s has %zu bytes, at most %d fit",
                        from, length, HF__SECRET_MAX);
    }
    memcpy(secret->text, text, length + 1);
    secret->is_given = true;
    return HF_OK;
}

/* Fails with the errno of a call, for a path that a user named. */
static int fail_file(const char *path, int number, hf_error *err)
{
    char words[64];

    return hf__fail_native(err, HF_EAUTH, number,
                           "the password file %s can't be read: %s", path,
                           hf__errno_text(number, words, sizeof words));
}

/* Checks the file's type, who else has access to it, and its owner. */
static int check_file(const char *path, const struct stat *st, hf_error *err)
{
    if (!S_ISREG(st->st_mode)) {
        return hf__fail(err, HF_EINVAL,
                        "the password file %s is not a regular file", path);
    }
    if ((st->st_mode & S_IRWXO) != 0) {
        return hf__fail(err, HF_EUNSAFE,
                        "the password file %s is open to all users (%04o): "
                        "chmod 600 it",
                        path, (unsigned)st->st_mode & 07777);
    }
    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        return hf__fail(err, HF_EUNSAFE,
                        "the password file %s belongs to user %lu, who is "
                        "neither root nor who runs this",
                        path, (unsigned long)st->st_uid);
    }
    return HF_OK;
}

/* Reads the file up to `room` bytes; −1 with errno. A longer file is refused
 * later, so that the rest does not matter. */
static ssize_t read_all(int fd, char *to, size_t room)
{
    size_t length = 0;

    while (length < room) {
        ssize_t n = read(fd, to + length, room - length);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? -1 : (ssize_t)length;
        }
        length += (size_t)n;
    }
    return (ssize_t)length;
}

/* Takes the bytes that were read, without their last newline, as the
 * password. */
static int take_bytes(struct hf__secret *secret, size_t length,
                      const char *path, hf_error *err)
{
    if (length > 0 && secret->text[length - 1] == '\n') {
        length--;
        length -= length > 0 && secret->text[length - 1] == '\r';
    }
    if (length == 0 || length > HF__SECRET_MAX - 2 ||
        memchr(secret->text, '\0', length) != NULL ||
        memchr(secret->text, '\n', length) != NULL) {
        hf__secret_wipe(secret);
        return hf__fail(err, HF_EINVAL,
                        "the password file %s must have one line of 1 to %d "
                        "bytes",
                        path, HF__SECRET_MAX - 2);
    }
    secret->text[length] = '\0';
    secret->is_given = true;
    return HF_OK;
}

static int read_file(struct hf__secret *secret, const char *path, hf_error *err)
{
    /* O_NONBLOCK, so that a pipe without a writer does not block us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    ssize_t length;
    int r;

    if (fd < 0) {
        return fail_file(path, errno, err);
    }
    r = fstat(fd, &st) != 0 ? fail_file(path, errno, err)
                            : check_file(path, &st, err);
    if (r == HF_OK) {
        length = read_all(fd, secret->text, HF__SECRET_MAX);
        r = length < 0 ? fail_file(path, errno, err)
                       : take_bytes(secret, (size_t)length, path, err);
    }
    (void)close(fd);
    return r;
}

int hf__secret_read_option(const struct hf__url *url, const char *option,
                           struct hf__secret *secret, hf_error *err)
{
    const char *file = hf__url_option(url, option);

    *secret = (struct hf__secret){0};
    return file == NULL ? HF_OK : read_file(secret, file, err);
}

int hf__secret_read(const struct hf__url *url, struct hf__secret *secret,
                    hf_error *err)
{
    const char *file = hf__url_option(url, "password_file");
    const char *word = secure_getenv("HOLDFAST_PASSWORD");
    const char *word_file = secure_getenv("HOLDFAST_PASSWORD_FILE");

    *secret = (struct hf__secret){0};
    if (url->password != NULL && file != NULL) {
        return hf__fail(err, HF_EINVAL,
                        "url: it has a password and a password_file; leave "
                        "out the password");
    }
    if (url->password != NULL) {
        return take(secret, url->password, "the url", err);
    }
    if (file != NULL) {
        return read_file(secret, file, err);
    }
    if (word != NULL && *word != '\0') {
        return take(secret, word, "HOLDFAST_PASSWORD", err);
    }
    return word_file == NULL || *word_file == '\0'
               ? HF_OK
               : read_file(secret, word_file, err);
}
