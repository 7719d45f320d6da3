# SPDX-License-Identifier: MIT
"""Which failures of a C test the harness marks for tools/again.py: those of an
expectation, in a test that came to its end otherwise, and no others. And what
it says of a test that does not apply, for tools/count_tap.py.

    marks.py HARNESS_MUST_FAIL
"""
import os
import subprocess
import sys

MARK = '# may be tried again alone'
MARKED = (
    'expect_of_false_fails', 'is_of_unequal_fails', 'not_of_equal_fails',
    'more_of_less_fails', 'less_of_more_fails', 'text_of_another_text_fails',
    'has_without_the_needle_fails', 'what_is_late_three_times_fails',
    'a_failure_in_a_forked_child_fails', 'a_failure_in_a_thread_fails',
)
UNMARKED = (
    'safe_of_false_fails', 'safe_is_of_unequal_fails',
    'safe_more_of_equal_fails',
    'what_is_late_and_then_unsafe_is_not_run_again',
    'what_is_unsafe_after_an_ordinary_failure_fails',
    'a_sanitizer_that_ends_it_after_a_failure_fails',
    'a_child_that_crashed_fails',
    'a_failure_beside_a_child_that_aborted_fails',
    'a_failure_before_an_orphan_crashes_fails',
    'a_failure_in_a_child_and_then_a_hang_fails',
    'what_is_late_and_then_hangs_is_not_run_again', 'an_abort_fails',
    'a_segmentation_fault_fails', 'being_killed_fails', 'a_hang_fails',
    'exit_0_in_the_middle_fails', 'a_failure_after_the_last_line_fails',
    'a_descriptor_left_open_fails', 'a_child_left_running_fails',
    'a_forked_child_that_returns_fails',
)
UNFIT = 'what_does_not_apply_is_not_run'
SAID = {UNFIT: f'{UNFIT} # SKIP does not apply: needs getpid() != runner'}


def main():
    failed = 0
    names = [(name, name in MARKED) for name in (*MARKED, *UNMARKED, UNFIT)]
    print(f'1..{len(names)}')
    for number, (name, is_marked) in enumerate(names, 1):
        ran = subprocess.run(
            sys.argv[1:2], env={**os.environ, 'HOLDFAST_TEST_ONLY': name},
            capture_output=True, text=True, check=False)
        lines = ran.stdout.splitlines()
        ok = (f'ok 1 - {SAID.get(name, name)}' in lines and lines[-1] == '1..1' and
              lines.count(MARK) == is_marked)
        failed += not ok
        print('ok' if ok else 'not ok', number, '-', name,
              'is marked' if is_marked else 'is not marked')
        if not ok:
            print('\n'.join(f'#   {line}' for line in lines))
    sys.exit(1 if failed else 0)


main()
