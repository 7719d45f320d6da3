/* SPDX-License-Identifier: MIT */
/*
 * The words of change.h.
 */
#include "tests/rows/change.h"

static int add(void *arg, const hf_mysql_value *old_values,
               hf_mysql_value *new_values)
{
    struct change *c = arg;

    c->calls++;
    EXPECT_IS(old_values[0].type, HF_MYSQL_INT);
    c->seen = old_values[0].number;
    if (c->rival != NULL && c->calls <= c->times) {
        tell(c->rival, "%s", c->meanwhile);
    }
    new_values[0] = (hf_mysql_value){HF_MYSQL_INT, c->seen + c->by, NULL, 0};
    return 0;
}

hf_mysql_update by_version(struct change *c)
{
    static const char *const columns[] = {"n"};
    hf_mysql_update update = HF_MYSQL_UPDATE_INIT;

    update.version = "version";
    update.columns = columns;
    update.n_columns = 1;
    update.change = add;
    update.arg = c;
    return update;
}

int change(MYSQL *db, int64_t id, const hf_mysql_update *update)
{
    return hf_mysql_update_versioned(db, row_of("account", id), update, &info,
                                     &err);
}

const char *row_says(MYSQL *db, int64_t id)
{
    return value(db, "SELECT CONCAT_WS(' ',n,version) FROM account WHERE id=%d",
                 (int)id);
}
