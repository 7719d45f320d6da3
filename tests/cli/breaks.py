# SPDX-License-Identifier: MIT
"""break: only by --fence, --stale or --force, and never by accident."""
import json
import signal
import time

import harness
from harness import case


def fence_of(t, name='job'):
    return t.json('who', name)['fence']


def still_held(t, holder):
    t.check(holder.is_running(), holder.err)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 75)


@case
def without_a_choice_it_names_the_holder_and_the_line_to_paste(t):
    holder = t.hold('job', '--owner', 'nightly')
    fence = fence_of(t)
    result = t.run('break', 'job', code=64)
    t.equal(result.out, '', 'stdout')
    t.says(result.err, 'nightly', str(holder.pid), t.url,
           f'holdfast break job --fence {fence}')
    still_held(t, holder)


@case
def without_a_choice_it_is_usage_also_if_the_lock_is_free(t):
    result = t.run('break', 'job', code=64)
    t.says(result.err, '--fence', '--stale', '--force')


@case
def the_line_to_paste_breaks_exactly_that_grant(t):
    holder = t.hold('it is', '--lease', harness.lease(2))
    said = t.run('break', 'it is').err
    line = said[said.index('holdfast break'):].strip()
    t.spawn(['sh', '-c', line.replace('holdfast', '"$0"', 1),
             t.holdfast]).wait(code=0)
    t.code(holder.wait(), 76)


@case
def a_wrong_fence_breaks_nothing(t):
    holder = t.hold('job')
    fence = fence_of(t)
    for wrong in (fence - 1, fence + 1, 1):
        result = t.run('break', 'job', '--fence', str(wrong), code=1)
        t.says(result.err, 'job', str(wrong), str(fence))
    still_held(t, holder)


@case
def the_right_fence_breaks_it(t):
    holder = t.hold('job', '--lease', harness.lease(2), '--owner', 'nightly')
    fence = fence_of(t)
    result = t.run('break', '--fence', str(fence), 'job', code=0)
    t.says(result.out, 'job', 'nightly', str(holder.pid), str(fence))
    t.code(holder.wait(), 76)
    t.code(t.run('who', 'job'), 1)


@case
def a_fence_of_the_past_does_not_hit_the_next_holder(t):
    first = t.hold('job')
    fence = fence_of(t)
    first.end()
    t.code(t.run('break', 'job', '--fence', str(fence)), 1)
    second = t.hold('job')
    t.code(t.run('break', 'job', '--fence', str(fence)), 1)
    still_held(t, second)


@case
def stale_leaves_a_living_holder_alone(t):
    holder = t.hold('job', '--owner', 'nightly')
    result = t.run('break', 'job', '--stale', code=1)
    t.says(result.err, 'job', 'nightly', str(holder.pid))
    still_held(t, holder)
    t.stop(holder.pid)
    t.code(t.run('break', 'job', '--stale'), 1)


@case
def stale_breaks_a_dead_holder_or_finds_it_free(t):
    holder = t.hold('job', '--lease', '1h')
    holder.signal(signal.SIGKILL)
    t.all_gone()
    state = t.json('who', 'job')['state']
    t.run('break', 'job', '--stale', code=0 if state == 'held' else 1)
    t.code(t.run('who', 'job'), 1)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


@case
def force_breaks_whoever_holds_it(t):
    holder = t.hold('job', '--lease', harness.lease(2))
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)
    t.code(holder.wait(), 76)


@case
def a_runs_command_is_ended_at_once_by_a_break(t):
    # Not at its next renewal, a third of 30 s later.
    took = []
    for _ in range(3):
        holder = t.hold('job')
        t.code(t.run('break', 'job', '--force'), 0)
        broken = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        t.code(holder.wait(), 76)
        took.append((t.log()[-1].ns - broken) / 1e6)
    t.soon(max(took) < 8000 and min(took) < 500 * harness.SLOW, f'{took} ms')


@case
def a_free_lock_has_nothing_to_break(t):
    for args in (('--force',), ('--stale',), ('--fence', '7')):
        result = t.run('break', 'job', *args, code=1)
        t.says(result.err, 'job', 'free')


@case
def the_answer_as_json(t):
    holder = t.hold('job', '--lease', harness.lease(2))
    fence = fence_of(t)
    result = t.run('break', '--json', 'job', '--fence', '1', code=1)
    shown = json.loads(result.out)
    t.equal((shown['broken'], shown['name'], shown['fence']),
            (False, 'job', fence), 'no match')
    result = t.run('break', '--json', 'job', '--force', code=0)
    shown = json.loads(result.out)
    t.equal((shown['broken'], shown['fence'], shown['owner']['pid']),
            (True, fence, holder.pid), 'broken')
    t.code(holder.wait(), 76)
    result = t.run('break', '--json', 'job', '--force', code=1)
    t.equal(json.loads(result.out)['broken'], False, 'free')


@case
def each_break_is_logged_with_both_owners(t):
    holder = t.hold('job', '--lease', harness.lease(2), '--owner', 'nightly')
    result = t.run('break', 'job', '--force')
    t.says(result.err, 'warning', 'event=broken', 'owner=nightly',
           f'owner_pid={holder.pid}', 'by=', 'by_pid=')


@case
def the_fence_rises_over_a_break(t):
    fences = []
    for _ in range(3):
        holder = t.hold('job', '--lease', harness.lease(2))
        fences.append(fence_of(t))
        t.code(t.run('break', 'job', '--force'), 0)
        t.code(holder.wait(), 76)
    t.rising(fences)


if __name__ == '__main__':
    harness.main()
