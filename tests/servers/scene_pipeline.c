/* SPDX-License-Identifier: MIT */
/*
 * The same of statements that are sent at once, before any is answered.
 */
#include "tests/lib/test.h"
#include "tests/servers/scene_cuts.h"

/* What was passed on is done, but its replies come too late to be passed. */
TEST(a_pipeline_is_cut_between_its_statements)
{
    scene_cut_pipeline(HF__STATEMENT, HF__BEFORE, 2, 2);
    scene_cut_pipeline(HF__STATEMENT, HF__INSIDE, 2, 2);
    scene_cut_pipeline(HF__STATEMENT, HF__AFTER, 3, 3);
}

TEST(a_pipeline_is_cut_between_its_replies)
{
    scene_cut_pipeline(HF__REPLY, HF__BEFORE, 5, 2);
    scene_cut_pipeline(HF__REPLY, HF__INSIDE, 5, 2);
    scene_cut_pipeline(HF__REPLY, HF__AFTER, 5, 3);
}
