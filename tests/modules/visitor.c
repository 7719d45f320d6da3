/* SPDX-License-Identifier: MIT */
/*
 * A program that uses stores by URL, each time in another way, and prints
 * what it found. Linked as any user's: to the shared library.
 *
 *     visitor open|lock|threads|forks|inherits|allocates|hides URL
 *     visitor chdir DIR URL
 */
#include <holdfast.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, PATH_LENGTH = 777 };

static atomic_int winners;
static pthread_barrier_t barrier;
static atomic_int seen;

static int complain(const char *what, const hf_error *err)
{
    printf("%s: %s %s\n", what, hf_strstatus(err->status), err->text);
    return 1;
}

static int open_store(const char *url, hf_client **ret_client)
{
    hf_error err = HF_ERROR_INIT;

    return hf_open(url, NULL, ret_client, &err) == HF_OK
               ? 0
               : complain("open", &err);
}

static int just_open(const char *url)
{
    hf_client *client = NULL;
    int r = open_store(url, &client);

    hf_close(client);
    return r;
}

/* Holds the name for a moment, if it is free. */
static int hold(const char *url)
{
    hf_acquire_opts once = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    int r = open_store(url, &client);

    once.wait_ms = 0;
    if (r == 0 && hf_acquire(client, "job", &once, &lock, &err) != HF_OK) {
        r = complain("acquire", &err);
    }
    if (r == 0) {
        printf("held, fence %d\n", hf_held(lock) && hf_fence(lock) > 0);
        if (hf_release(lock, &err) != HF_OK) {
            r = complain("release", &err);
        }
    }
    hf_free(lock);
    hf_close(client);
    return r;
}

static void *compete(void *url)
{
    hf_acquire_opts once = HF_ACQUIRE_OPTS_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;

    once.wait_ms = 0;
    pthread_barrier_wait(&barrier);
    if (open_store(url, &client) == 0 &&
        hf_acquire(client, "job", &once, &lock, NULL) == HF_OK) {
        winners++;
    }
    pthread_barrier_wait(&barrier); /* nobody lets go before all have tried */
    hf_free(lock);
    hf_close(client);
    return NULL;
}

static int threads(char *url)
{
    pthread_t all[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&all[i], NULL, compete, url) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i], NULL);
    }
    printf("winners %d\n", winners);
    return 0;
}

/* A child that hangs ends with that; one in a crowd, under a sanitizer, may
 * take more than a few seconds. */
enum { CHILD_S = 60 };

/* Lives on until the child is over: a sanitizer would miss it there. */
static void *open_in_thread(void *url)
{
    int r = just_open(url);

    pthread_barrier_wait(&barrier);
    return r == 0 ? NULL : url;
}

static int await(pid_t child)
{
    int status = -1;

    waitpid(child, &status, 0);
    printf("child %d\n", status);
    return status != 0;
}

/* Forks while another thread loads; the child must be able to load. */
static int forks(char *url)
{
    pthread_t loader;
    void *failed = NULL;
    char teller[12];
    int ends[2];
    char told;

    pthread_barrier_init(&barrier, NULL, 2);
    if (pipe(ends) != 0) {
        return 1;
    }
    (void)snprintf(teller, sizeof teller, "%d", ends[1]);
    (void)setenv("SLOW_TELLS", teller, 1);
    if (pthread_create(&loader, NULL, open_in_thread, url) != 0 ||
        read(ends[0], &told, 1) != 1) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_S);
        int r = just_open("dummy:") | just_open(url);
        printf("whole %d\n", getenv("SLOW_IS_WHOLE") != NULL);
        _exit(r);
    }
    int r = await(child);
    pthread_barrier_wait(&barrier);
    pthread_join(loader, &failed);
    return r | (failed != NULL);
}

/* What was loaded before a fork() works in the child, with a new client. */
static int inherits(const char *url)
{
    hf_client *client = NULL;

    if (open_store(url, &client) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_S);
        int r = hf_ping(client, NULL) != HF_EFORK;
        hf_close(client);
        _exit(r | hold(url));
    }
    int r = await(child) | (hf_ping(client, NULL) != HF_OK);
    hf_close(client);
    return r;
}

static void *resize(void *p, size_t size)
{
    seen += size == PATH_LENGTH + 1;
    return realloc(p, size);
}

/* The module's memory comes from the heap that the program gave us: the store
 * copies its path, which is of a length that nothing else has. */
static int allocates(const char *url)
{
    char text[PATH_LENGTH + 64];
    int length = snprintf(text, sizeof text, "%s", url);

    memset(text + length, 'x', PATH_LENGTH);
    text[length + PATH_LENGTH] = '\0';
    if (hf_set_allocator(resize, free) != HF_OK || just_open(text) != 0) {
        return 1;
    }
    printf("allocated %d\n", seen > 0);
    return 0;
}

/* Nobody else is shown what a module has. */
static int hides(const char *url)
{
    int r = just_open(url);

    printf("seen %d\n", dlsym(RTLD_DEFAULT, "hf__module") != NULL);
    return r;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";

    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(what, "open") == 0) {
        return just_open(argv[2]);
    }
    if (strcmp(what, "lock") == 0) {
        return hold(argv[2]);
    }
    if (strcmp(what, "threads") == 0) {
        return threads(argv[2]);
    }
    if (strcmp(what, "forks") == 0) {
        return forks(argv[2]);
    }
    if (strcmp(what, "inherits") == 0) {
        return inherits(argv[2]);
    }
    if (strcmp(what, "allocates") == 0) {
        return allocates(argv[2]);
    }
    if (strcmp(what, "hides") == 0) {
        return hides(argv[2]);
    }
    if (strcmp(what, "chdir") == 0 && argc == 4 && chdir(argv[2]) == 0) {
        return hold(argv[3]);
    }
    return 2;
}
