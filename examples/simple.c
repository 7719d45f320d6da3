/* SPDX-License-Identifier: MIT */
/*
 * The smallest whole program: open a store, hold a lock, let it go. It is
 * shown in the README as it is.
 */
#include <holdfast.h>
#include <stdio.h>

int main(void)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_error err = HF_ERROR_INIT;
    int lost = 0;

    if (hf_open("sqlite:/tmp/locks.db", NULL, &client, &err) != HF_OK ||
        hf_acquire(client, "order:1001", NULL, &lock, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        hf_close(client);
        return 1;
    }
    printf("held, fence %llu\n", (unsigned long long)hf_fence(lock));
    if (hf_held(lock)) { /* local and cheap: ask before each step that counts */
        printf("working\n");
    }
    lost = hf_release(lock, &err) != HF_OK;
    hf_free(lock);
    hf_close(client);
    return lost;
}
