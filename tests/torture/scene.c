/* SPDX-License-Identifier: MIT */
/*
 * The acts. None judges a status: a call that fails ends its act early, as
 * it would a program's. All run on the test's thread; one starts another.
 */
#include "tests/torture/scene.h"

#include "tests/contract/api.h"
#include "tests/torture/async.h"
#include "tests/torture/trip.h"

int scene_open(struct scene *s)
{
    return hf_open(s->url, NULL, &s->alice, NULL);
}

/* What was left to its lease is not waited for. */
static void end_detached(struct scene *s, hf_lock *lock)
{
    AUTO_LOCK *ours = NULL;
    int r;

    if (hf_state(lock) == HF_STATE_DETACHED) {
        r = hf_adopt(s->bob, "job", hf_token(lock), NULL, &ours, NULL);
        EXPECT(r == HF_OK || r == HF_LOST);
    }
}

void scene_clear(struct scene *s)
{
    end_detached(s, s->job);
    end_detached(s, s->earlier);
    hf_info_free(s->info);
    hf_free(s->job);
    hf_free(s->earlier);
    hf_close(s->alice);
    hf_free(s->prepared);
    hf_cancel_free(s->cancel);
    *s = (struct scene){.url = s->url, .bob = s->bob};
}

int acquire_as(hf_client *client, const char *name, int64_t wait_ms,
               hf_lock **ret_lock)
{
    hf_acquire_opts opts = wanting(wait_ms, patience(LEASE_MS));
    hf_error err = HF_ERROR_INIT;
    int r = hf_acquire(client, name, &opts, ret_lock, &err);

    EXPECT_IS(*ret_lock != NULL, r == HF_OK);
    EXPECT_IS(err.status, r);
    EXPECT_IS(err.text[0] != '\0', r != HF_OK);
    return r;
}

/* ---- what comes before */

static int nothing(struct scene *s)
{
    (void)s;
    return HF_OK;
}

static int with_job(struct scene *s)
{
    int r = scene_open(s);

    return r ? r : acquire_as(s->alice, "job", patience(1500), &s->job);
}

/* Bob holds it, and does not meet the trouble. */
int with_other(struct scene *s)
{
    s->prepared = acquire_fixed(s->bob, "job", HF_LEASE_DEFAULT_MS);
    return scene_open(s);
}

/* Alice's grant, which lives by its lease alone. */
static int with_detached(struct scene *s)
{
    int r = with_job(s);

    s->earlier = s->job;
    s->job = NULL;
    return r ? r : hf_detach(s->earlier, NULL);
}

/* ---- the calls */

static int play_open(struct scene *s)
{
    hf_error err = HF_ERROR_INIT;
    int r = hf_open(s->url, NULL, &s->alice, &err);

    EXPECT_IS(s->alice != NULL, r == HF_OK);
    EXPECT_IS(err.status, r);
    EXPECT_IS(err.text[0] != '\0', r != HF_OK);
    return r;
}

static int play_try(struct scene *s)
{
    return acquire_as(s->alice, "job", 0, &s->job);
}

static int play_acquire(struct scene *s)
{
    return acquire_as(s->alice, "job", patience(1500), &s->job);
}

static int acquire_two(struct scene *s, const char *other, int64_t wait_ms)
{
    hf_acquire_opts opts = wanting(wait_ms, patience(LEASE_MS));
    const char *const names[] = {"job", other};
    hf_error err = HF_ERROR_INIT;
    int r = hf_acquire_many(s->alice, names, 2, &opts, &s->job, &err);

    EXPECT_IS(s->job != NULL, r == HF_OK);
    EXPECT_IS(err.status, r);
    EXPECT_IS(err.text[0] != '\0', r != HF_OK);
    return r;
}

static int play_many(struct scene *s)
{
    return acquire_two(s, "hob", patience(1500));
}

static int play_try_many_taken(struct scene *s)
{
    return acquire_two(s, "taken", 0);
}

static int play_wait_many_taken(struct scene *s)
{
    return acquire_two(s, "taken", 5);
}

static int with_many(struct scene *s)
{
    int r = scene_open(s);

    return r ? r : play_many(s);
}

static int play_try_taken(struct scene *s)
{
    return acquire_as(s->alice, "taken", 0, &s->job);
}

static int play_wait_taken(struct scene *s)
{
    return acquire_as(s->alice, "taken", 5, &s->job);
}

void free_soon(void *lock)
{
    trip_spare_me();
    hf__test_pause_ms(10);
    hf_free(lock);
}

/* Bob lets go while alice waits. */
static int play_wait(struct scene *s)
{
    struct hf__test_thread *t = hf__test_start(free_soon, s->prepared);
    int r = play_acquire(s);

    s->prepared = NULL;
    hf__test_join(t);
    return r;
}

static void take_turn(void *arg)
{
    struct scene *s = arg;
    AUTO_LOCK *lock = NULL;
    int r = acquire_as(s->alice, "job", patience(1500), &lock);

    EXPECT(r <= 0);
}

/* From one thread of the client to another. */
static int play_handover(struct scene *s)
{
    struct hf__test_thread *t = hf__test_start(take_turn, s);
    int r;

    hf__test_pause_ms(5);
    r = hf_release(s->job, NULL);
    hf__test_join(t);
    return r;
}

static int play_cancel(struct scene *s)
{
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    int r = hf_cancel_new(&s->cancel);

    EXPECT_IS(s->cancel != NULL, r == HF_OK);
    if (r == HF_OK) {
        hf_cancel_fire(s->cancel);
        opts.cancel = s->cancel;
        r = hf_acquire(s->alice, "job", &opts, &s->job, NULL);
    }
    return r;
}

static int acquire_own(struct scene *s, hf_lock **ret_lock)
{
    hf_acquire_opts opts = wanting(0, patience(LEASE_MS));
    int r;

    opts.owner_id = 1;
    opts.reentrant = 1;
    r = hf_acquire(s->alice, "job", &opts, ret_lock, NULL);
    EXPECT_IS(*ret_lock != NULL, r == HF_OK);
    return r;
}

static int with_own(struct scene *s)
{
    int r = scene_open(s);

    return r ? r : acquire_own(s, &s->earlier);
}

static int play_reenter(struct scene *s)
{
    return acquire_own(s, &s->job);
}

static int play_detach(struct scene *s)
{
    return hf_detach(s->job, NULL);
}

static int play_adopt(struct scene *s)
{
    hf_acquire_opts opts = wanting(0, patience(LEASE_MS));
    int r =
        hf_adopt(s->alice, "job", hf_token(s->earlier), &opts, &s->job, NULL);

    EXPECT_IS(s->job != NULL, r == HF_OK);
    return r;
}

/* Stores that can't are not asked. */
static int with_gc(struct scene *s)
{
    s->can_gc = hf_gc(s->bob, 0, NULL, NULL) != HF_ENOTSUP;
    return scene_open(s);
}

static int play_gc(struct scene *s)
{
    return s->can_gc ? hf_gc(s->alice, 0, NULL, NULL) : (int)HF_OK;
}

static int play_renew(struct scene *s)
{
    return hf_renew(s->job, NULL);
}

static int play_release(struct scene *s)
{
    return hf_release(s->job, NULL);
}

static int play_free(struct scene *s)
{
    hf_free(s->job);
    s->job = NULL;
    return HF_OK;
}

/* The lock is freed after its client. */
static int play_close(struct scene *s)
{
    hf_close(s->alice);
    s->alice = NULL;
    EXPECT_IS(hf_held(s->job), 0);
    hf_free(s->job);
    s->job = NULL;
    return HF_OK;
}

static int play_inspect(struct scene *s)
{
    int r = hf_inspect(s->alice, "taken", &s->info, NULL);

    EXPECT_IS(s->info != NULL, r == HF_OK);
    if (r == HF_OK) {
        EXPECT_IS(hf_info_presence(s->info), HF_HELD_BY);
    }
    return r;
}

static int count_one(void *arg, const hf_info *info)
{
    EXPECT_TEXT(hf_info_name(info), "taken");
    ++*(int *)arg;
    return 0;
}

static int play_list(struct scene *s)
{
    int n = 0;
    int r = hf_list(s->alice, "t", count_one, &n, NULL);

    EXPECT(r != HF_OK || n == 1);
    return r;
}

static int play_break(struct scene *s)
{
    /* Bob's fence was passed, or he still has it. */
    return hf_break(s->alice, "job", 0, NULL);
}

static int count_item(void *arg, const hf_check_item *item)
{
    EXPECT(item->name && item->value);
    ++*(int *)arg;
    return 0;
}

static int play_check(struct scene *s)
{
    int n = 0;
    int r = hf_check(s->alice, count_item, &n, NULL);

    EXPECT(r != HF_OK || n > 0);
    return r;
}

static int play_ping(struct scene *s)
{
    return hf_ping(s->alice, NULL);
}

static const struct act acts[] = {
    {"open", 0, nothing, play_open, HF_OK, false},
    {"try", 0, scene_open, play_try, HF_OK, false},
    {"acquire", 0, scene_open, play_acquire, HF_OK, false},
    {"try, taken", 0, scene_open, play_try_taken, HF_BUSY, false},
    {"wait, taken", 0, scene_open, play_wait_taken, HF_TIMEDOUT, false},
    {"wait", 0, with_other, play_wait, HF_OK, false},
    {"hand over", 0, with_job, play_handover, HF_OK, true},
    {"many", 0, scene_open, play_many, HF_OK, false},
    {"try many, taken", 0, scene_open, play_try_many_taken, HF_BUSY, false},
    {"wait for many, taken", 0, scene_open, play_wait_many_taken, HF_TIMEDOUT,
     false},
    {"renew many", 0, with_many, play_renew, HF_OK, true},
    {"release many", 0, with_many, play_release, HF_OK, true},
    {"cancel", 0, scene_open, play_cancel, HF_CANCELLED, false},
    {"reenter", 0, with_own, play_reenter, HF_OK, false},
    {"detach", HF_CAP_DETACH, with_job, play_detach, HF_OK, true},
    {"adopt", HF_CAP_DETACH, with_detached, play_adopt, HF_OK, false},
    {"collect", 0, with_gc, play_gc, HF_OK, false},
    {"renew", 0, with_job, play_renew, HF_OK, true},
    {"release", 0, with_job, play_release, HF_OK, true},
    {"free", 0, with_job, play_free, HF_OK, true},
    {"close", 0, with_job, play_close, HF_OK, true},
    {"acquire, asynchronous", 0, scene_open, scene_acquire_async, HF_OK, false},
    {"start, asynchronous", HF_CAP_KEEP, scene_open, scene_start_async, HF_OK,
     false},
    {"close, asynchronous", 0, scene_open, scene_close_async, HF_CANCELLED,
     false},
    {"release, asynchronous", 0, with_job, scene_release_async, HF_OK, true},
    {"descriptor", 0, scene_open, scene_fd, HF_OK, false},
    {"inspect", 0, scene_open, play_inspect, HF_OK, false},
    {"list", HF_CAP_LIST, scene_open, play_list, HF_OK, false},
    {"break", 0, with_other, play_break, HF_OK, false},
    {"check", 0, scene_open, play_check, HF_OK, false},
    {"ping", 0, scene_open, play_ping, HF_OK, false},
};

const struct act *act_at(int i)
{
    const int n = sizeof acts / sizeof *acts;

    return i < n ? &acts[i] : act_beside_at(i - n);
}
