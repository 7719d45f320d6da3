/* SPDX-License-Identifier: MIT */
/*
 * Locks in ZooKeeper by hand, after its own recipe. The folders stay, as they
 * do with most who use it. Thread: the handle's, and the library's for answers
 * to what is in flight, which is also where the next request is sent.
 */
#include "bench/rawzookeeper.h"

#include "bench/measure.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With those functions that wait. */
#define THREADED
#include <zookeeper/zookeeper.h>

#define SESSION_MS 30000
#define CONNECT_MS 10000
#define ROOT       "/raw"
#define DATA       "localhost bench 12345 67890"

enum { PATH = 96 };

struct rawzookeeper {
    zhandle_t *handle;
    char key[64];
    char folder[PATH];
};

static void check(const char *what, int rc)
{
    if (rc != ZOK) {
        bench_fail("raw: %s: %s", what, zerror(rc));
    }
}

/* ---- the handle ---------------------------------------------------------- */

static void hear(zhandle_t *handle, int type, int state, const char *path,
                 void *arg)
{
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)arg;
}

static void make(struct rawzookeeper *raw, const char *path)
{
    int rc = zoo_create(raw->handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                        ZOO_PERSISTENT, NULL, 0);

    if (rc != ZNODEEXISTS) {
        check("create a folder", rc);
    }
}

struct rawzookeeper *rawzookeeper_open(int port, bool looks_up)
{
    struct rawzookeeper *raw = calloc(1, sizeof *raw);
    char host[32];
    int ms;

    if (!raw) {
        bench_fail("out of memory");
    }
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    (void)snprintf(host, sizeof host, "127.0.0.1:%d", port);
    raw->handle = zookeeper_init(host, hear, SESSION_MS, NULL, NULL, 0);
    for (ms = 0; raw->handle && ms < CONNECT_MS &&
                 zoo_state(raw->handle) != ZOO_CONNECTED_STATE;
         ms++) {
        bench_pause_ms(1);
    }
    if (!raw->handle || ms == CONNECT_MS) {
        bench_fail("raw: no session with ZooKeeper at %s", host);
    }
    if (!looks_up) {
        check("settings", zoo_set_servers_resolution_delay(raw->handle, -1));
    }
    make(raw, ROOT);
    return raw;
}

void rawzookeeper_close(struct rawzookeeper *raw)
{
    (void)zookeeper_close(raw->handle);
    free(raw);
}

static void folder_of(const char *key, char folder[PATH])
{
    (void)snprintf(folder, PATH, ROOT "/%s", key);
}

/* The names differ in what the server added only. */
static bool is_first(const struct String_vector *names, const char *path)
{
    const char *own = strrchr(path, '/') + 1;
    int i;

    for (i = 0; i < names->count; i++) {
        if (strcmp(names->data[i], own) < 0) {
            return false;
        }
    }
    return names->count > 0;
}

/* ---- one after the other ------------------------------------------------- */

/* The first time a name is used it has no folder. */
static void use(struct rawzookeeper *raw, const char *key)
{
    if (strcmp(raw->key, key) != 0) {
        (void)snprintf(raw->key, sizeof raw->key, "%s", key);
        folder_of(key, raw->folder);
        make(raw, raw->folder);
    }
}

bool rawzookeeper_pair(struct rawzookeeper *raw, const char *key)
{
    char wish[PATH + 8];
    char made[PATH + 24];
    struct String_vector names = {0};
    bool is_ours;

    use(raw, key);
    (void)snprintf(wish, sizeof wish, "%s/lock-", raw->folder);
    check("create", zoo_create(raw->handle, wish, DATA, sizeof DATA - 1,
                               &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                               made, sizeof made));
    check("list", zoo_get_children(raw->handle, raw->folder, 0, &names));
    is_ours = is_first(&names, made);
    deallocate_String_vector(&names);
    check("delete", zoo_delete(raw->handle, made, -1));
    return is_ours;
}

/* ---- many in flight ------------------------------------------------------ */

struct flock {
    zhandle_t *handle;
    atomic_int flying;
    atomic_bool is_over;
    atomic_ullong pairs;
};

struct bird {
    struct flock *flock;
    char folder[PATH];
    char wish[PATH + 8];
    char path[PATH + 24];
};

static void launch(struct bird *bird);

/* What the library hands back as it was given. */
static struct bird *bird_of(const void *data)
{
    return (struct bird *)(uintptr_t)data;
}

static void on_deleted(int rc, const void *data)
{
    struct bird *bird = bird_of(data);

    check("delete", rc);
    atomic_fetch_add(&bird->flock->pairs, 1);
    if (atomic_load(&bird->flock->is_over)) {
        atomic_fetch_sub(&bird->flock->flying, 1);
    } else {
        launch(bird);
    }
}

static void on_listed(int rc, const struct String_vector *names,
                      const void *data)
{
    struct bird *bird = bird_of(data);

    check("list", rc);
    if (!is_first(names, bird->path)) {
        bench_fail("raw: somebody else has %s", bird->folder);
    }
    check("delete",
          zoo_adelete(bird->flock->handle, bird->path, -1, on_deleted, bird));
}

static void on_created(int rc, const char *path, const void *data)
{
    struct bird *bird = bird_of(data);

    check("create", rc);
    (void)snprintf(bird->path, sizeof bird->path, "%s", path);
}

static void launch(struct bird *bird)
{
    zhandle_t *handle = bird->flock->handle;

    check("create", zoo_acreate(handle, bird->wish, DATA, sizeof DATA - 1,
                                &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                                on_created, bird));
    check("list", zoo_aget_children(handle, bird->folder, 0, on_listed, bird));
}

static struct bird *new_birds(struct rawzookeeper *raw, struct flock *f,
                              int depth)
{
    struct bird *birds = calloc((size_t)depth, sizeof *birds);
    char key[32];
    int i;

    if (!birds) {
        bench_fail("out of memory");
    }
    for (i = 0; i < depth; i++) {
        birds[i].flock = f;
        (void)snprintf(key, sizeof key, "holdfast:job:%d", i);
        folder_of(key, birds[i].folder);
        (void)snprintf(birds[i].wish, sizeof birds[i].wish, "%s/lock-",
                       birds[i].folder);
        make(raw, birds[i].folder);
    }
    return birds;
}

double rawzookeeper_fly(struct rawzookeeper *raw, int depth, double seconds)
{
    struct flock f = {.handle = raw->handle};
    struct bird *birds = new_birds(raw, &f, depth);
    int64_t begun = bench_now_ns();
    int i;

    atomic_store(&f.flying, depth);
    for (i = 0; i < depth; i++) {
        launch(&birds[i]);
    }
    bench_pause_ms((int)(seconds * 1000));
    atomic_store(&f.is_over, true);
    while (atomic_load(&f.flying) > 0) {
        bench_pause_ms(1);
    }
    free(birds);
    return (double)atomic_load(&f.pairs) * 1e9 /
           (double)(bench_now_ns() - begun);
}
