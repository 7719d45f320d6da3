/* SPDX-License-Identifier: MIT */
/*
 * What the server has done and what the client was told must fit, for each
 * place of a statement and of its reply.
 */
#include "tests/servers/scene_cuts.h"
#include "tests/lib/test.h"

TEST(cut_before_a_statement_it_is_not_done)
{
    scene_cut_second(HF__STATEMENT, HF__BEFORE, HF__CLOSE, 1, 2);
    scene_cut_second(HF__STATEMENT, HF__BEFORE, HF__RESET, 1, 2);
}

TEST(cut_inside_a_statement_it_is_not_done)
{
    scene_cut_second(HF__STATEMENT, HF__INSIDE, HF__CLOSE, 1, 2);
    scene_cut_second(HF__STATEMENT, HF__INSIDE, HF__RESET, 1, 2);
}

TEST(cut_after_a_statement_it_is_done)
{
    scene_cut_second(HF__STATEMENT, HF__AFTER, HF__CLOSE, 2, 2);
}

TEST(cut_before_a_reply_it_is_done)
{
    scene_cut_second(HF__REPLY, HF__BEFORE, HF__CLOSE, 2, 2);
    scene_cut_second(HF__REPLY, HF__BEFORE, HF__RESET, 2, 2);
}

TEST(cut_inside_a_reply_it_is_done)
{
    scene_cut_second(HF__REPLY, HF__INSIDE, HF__CLOSE, 2, 2);
    scene_cut_second(HF__REPLY, HF__INSIDE, HF__RESET, 2, 2);
}

TEST(cut_after_a_reply_the_next_one_shows_it)
{
    scene_cut_second(HF__REPLY, HF__AFTER, HF__CLOSE, 2, 3);
    scene_cut_second(HF__REPLY, HF__AFTER, HF__RESET, 2, 3);
}

TEST(silence_at_a_statement_keeps_it_until_healed)
{
    scene_silence(HF__STATEMENT, HF__BEFORE, 0);
    scene_silence(HF__STATEMENT, HF__INSIDE, 0);
}

TEST(silence_at_a_reply_keeps_that_until_healed)
{
    scene_silence(HF__STATEMENT, HF__AFTER, 1);
    scene_silence(HF__REPLY, HF__BEFORE, 1);
    scene_silence(HF__REPLY, HF__INSIDE, 1);
}
