/* SPDX-License-Identifier: MIT */
/*
 * A server of one thread: twelve requests come in at once, each works on one of
 * three accounts, and each holds its account's lock while it works. The loop is
 * poll() on hf_fd() and until the next work is done; nothing in it waits for a
 * store. Each event is printed as one line.
 *
 *     eventloop [URL]        without a URL: a store in memory
 */
#include <holdfast.h>

#include <poll.h>
#include <stdio.h>
#include <time.h>

#define REQUESTS 12
#define ACCOUNTS 3
#define WORK_MS  20

struct request {
    int number;
    int account;
    hf_lock *lock;     /* held while the request works */
    long long done_at; /* when its work is done, in ms */
};

static hf_client *client;
static struct request requests[REQUESTS];
static int busy[ACCOUNTS]; /* the request that works on it; 0: none */
static int unfinished = REQUESTS;
static int mistakes;

static long long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void finish(struct request *r, const char *how)
{
    printf("request %2d: %s\n", r->number, how);
    unfinished--;
}

static void on_released(void *arg, int status, const hf_error *err)
{
    if (status != HF_OK) { /* two may have worked on the account at once */
        mistakes++;
    }
    finish(arg, status == HF_OK ? "done" : err->text);
}

static void on_lost(void *arg, hf_lock *lock, hf_reason reason)
{
    struct request *r = arg;

    printf("request %2d: lost the lock (%s)\n", r->number,
           hf_strreason(reason));
    hf_free(lock);
    r->lock = NULL; /* the request gives up its work */
    busy[r->account] = 0;
    mistakes++;
    unfinished--;
}

static void on_granted(void *arg, int status, hf_lock *lock,
                       const hf_error *err)
{
    struct request *r = arg;

    if (status != HF_OK) {
        mistakes++;
        finish(r, err->text);
        return;
    }
    mistakes += busy[r->account] != 0; /* two requests work on one account */
    busy[r->account] = r->number;
    printf("request %2d: works on account %d, fence %llu\n", r->number,
           r->account, (unsigned long long)hf_fence(lock));
    r->lock = lock;
    r->done_at = now_ms() + WORK_MS;
    if (hf_on_lost(lock, on_lost, r) != HF_OK) {
        mistakes++;
    }
}

static void end_work(struct request *r)
{
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = r->lock;

    r->lock = NULL;
    busy[r->account] = 0;
    if (hf_release_async(lock, on_released, r, &err) != HF_OK) {
        mistakes++;
        finish(r, err.text);
    }
    hf_free(lock); /* allowed at once: the release goes on */
}

static void begin(struct request *r, int number)
{
    hf_error err = HF_ERROR_INIT;
    char name[32];

    r->number = number;
    r->account = number % ACCOUNTS;
    snprintf(name, sizeof name, "account:%d", r->account);
    if (hf_acquire_async(client, name, NULL, on_granted, r, &err) != HF_OK) {
        mistakes++;
        finish(r, err.text);
    }
}

/* End the work that is due. Returns the time until the next is due; −1:
 * none. */
static int end_due(void)
{
    long long next = -1;

    for (int i = 0; i < REQUESTS; i++) {
        struct request *r = &requests[i];
        long long left = r->done_at - now_ms();

        if (r->lock && left <= 0) {
            end_work(r);
        } else if (r->lock && (next < 0 || left < next)) {
            next = left;
        }
    }
    return (int)next;
}

int main(int argc, char **argv)
{
    hf_error err = HF_ERROR_INIT;
    struct pollfd p = {.events = POLLIN};

    if (hf_open(argc > 1 ? argv[1] : "memory:", NULL, &client, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    p.fd = hf_fd(client);
    for (int i = 0; i < REQUESTS; i++) {
        begin(&requests[i], i + 1);
    }
    while (unfinished > 0 && p.fd >= 0) {
        if (poll(&p, 1, end_due()) > 0 && hf_dispatch(client, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            break;
        }
    }
    hf_close(client);
    printf("unfinished: %d, mistakes: %d\n", unfinished, mistakes);
    return unfinished == 0 && mistakes == 0 ? 0 : 1;
}
