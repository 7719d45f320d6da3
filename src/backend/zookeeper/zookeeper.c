/* SPDX-License-Identifier: MIT */
/*
 * The store zookeeper://. Here a session is opened, closed and interrupted;
 * see zookeeper.h for where the rest is. Called as backend.h says.
 */
#include "src/backend/zookeeper/zookeeper.h"

#include "src/backend/registry.h"
#include "src/base/error.h"
#include "src/base/secret.h"

#include <string.h>

#define IO_TIMEOUT_MS 5000

/* "user:password" is split at the first colon, and neither goes alone. */
static int check_login(const struct hf__url *url,
                       const struct hf__secret *secret, hf_error *err)
{
    if (url->user == NULL && secret->is_given) {
        return hf__fail(err, HF_EINVAL,
                        "a password is given, but the url names no user: "
                        "zookeeper://USER@host:2181/chroot");
    }
    if (url->user != NULL && !secret->is_given) {
        return hf__fail(err, HF_EINVAL,
                        "url: it names the user %s, but no password is given: "
                        "in the url, by password_file= or HOLDFAST_PASSWORD",
                        url->user);
    }
    if (url->user != NULL &&
        (url->user[0] == '\0' || strchr(url->user, ':') != NULL)) {
        return hf__fail(err, HF_EINVAL,
                        "url: the user \"%s\" is empty or has a colon, which "
                        "ZooKeeper takes for the end of it",
                        url->user);
    }
    return HF_OK;
}

/* The core has judged it. */
static int io_timeout_ms(const struct hf__url *url)
{
    int64_t ms = IO_TIMEOUT_MS;
    hf_error ignored = HF_ERROR_INIT;

    int r = hf__url_duration(url, "io_timeout", 1, INT32_MAX, &ms, &ignored);
    return r == HF_OK ? (int)ms : IO_TIMEOUT_MS;
}

static int zk_open(void *state, const struct hf__url *url, const char *allow,
                   hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__zk *s = state;
    struct hf__zk_target target = {.hosts = s->place.hosts, .user = url->user};
    int r = hf__zk_place_read(url, &s->place, err);

    (void)allow;
    r = r == HF_OK ? hf__secret_read(url, &secret, err) : r;
    r = r == HF_OK ? check_login(url, &secret, err) : r;
    target.timeout_ms = s->place.timeout_ms;
    target.io_timeout_ms = io_timeout_ms(url);
    target.password = secret.is_given ? secret.text : NULL;
    r = r == HF_OK
            ? hf__zk_front_open(&s->front, &s->head, &target, deadline, err)
            : r;
    return r == HF_OK ? hf__zk_facts(s, deadline, err) : r;
}

static void zk_close(void *state)
{
    struct hf__zk *s = state;

    hf__zk_wait_fini(s);
    hf__zk_listen_fini(s);
    hf__zk_front_close(&s->front);
}

static void zk_interrupt(void *state)
{
    struct hf__zk *s = state;

    hf__zk_front_wake(&s->front);
}

#define CAPS_SIMPLE                                                            \
    (HF_CAP_FENCE | HF_CAP_SESSION | HF_CAP_WAIT | HF_CAP_LIST | HF_CAP_PUSH | \
     HF_CAP_CELLS)
#define CAPS_FAIR                                                              \
    (CAPS_SIMPLE | HF_CAP_FAIR | HF_CAP_SHARED | HF_CAP_SLOTS | HF__CAP_QUEUES)

/* One node has no line, and room for one. */
static unsigned zk_caps_of(const struct hf__url *url)
{
    const char *recipe = hf__url_option(url, "recipe");

    return recipe != NULL && strcmp(recipe, "simple") == 0 ? CAPS_SIMPLE
                                                           : CAPS_FAIR;
}

const struct hf__backend hf__zookeeper_backend = {
    .scheme = "zookeeper",
    .caps = CAPS_FAIR,
    .size = sizeof(struct hf__zk),
    .options = hf__zk_options,
    .caps_of = zk_caps_of,
    .open = zk_open,
    .close = zk_close,
    .execute = hf__zk_execute,
    .wait = hf__zk_wait,
    .listen = hf__zk_listen,
    .list = hf__zk_list,
    .gc = hf__zk_gc,
    .cell = hf__zk_cell,
    .check = hf__zk_check,
    .interrupt = zk_interrupt,
};
