/* SPDX-License-Identifier: MIT */
/*
 * The words of change.h. Thread: as of world.h.
 */
#include "tests/rows/change.h"

static int add(void *arg, const hf_row_value *old_values,
               hf_row_value *new_values)
{
    struct change *c = arg;

    c->calls++;
    EXPECT_IS(old_values[0].type, HF_ROW_INT);
    c->seen = old_values[0].number;
    if (c->rival != NULL && c->calls <= c->times) {
        tell(c->rival, "%s", c->meanwhile);
    }
    new_values[0] = (hf_row_value){HF_ROW_INT, c->seen + c->by, NULL, 0};
    return 0;
}

hf_row_update by_version(struct change *c)
{
    static const char *const columns[] = {"n"};
    hf_row_update update = HF_ROW_UPDATE_INIT;

    update.version = "version";
    update.columns = columns;
    update.n_columns = 1;
    update.change = add;
    update.arg = c;
    return update;
}

int change(struct db *db, int64_t id, const hf_row_update *update)
{
    return update_row(db, row_of("account", id), update, &info, &err);
}

const char *row_says(struct db *db, int64_t id)
{
    return value(db, "SELECT CONCAT_WS(' ',n,version) FROM account WHERE id=%d",
                 (int)id);
}

void make_stamped(struct db *db, const char *type)
{
    make_accounts(db);
    tell(db, "ALTER TABLE account ADD changed %s", type);
}

hf_row_update by_stamp(struct change *c)
{
    hf_row_update u = by_version(c);

    u.version = "changed";
    return u;
}
