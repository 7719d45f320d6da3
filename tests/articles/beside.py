# SPDX-License-Identifier: MIT
"""What Holdfast does beside a mistake, where more than one test shows it."""


def acquire(t, name, *words):
    return t.run('acquire', name, *words, code=0).out.strip()


def release(t, name, token):
    return t.run('release', name, env={'HOLDFAST_TOKEN': token}).code


def who_is_late_releases_nothing(t):
    late = acquire(t, 'job', '--lease', '100ms')
    own = acquire(t, 'job', '--wait', '30s')
    shown = t.at_rest(t.json('who', 'job'))
    t.equal(release(t, 'job', late), 1, 'the late release: HF_LOST')
    t.equal(t.at_rest(t.json('who', 'job')), shown, 'the holder')
    t.equal(release(t, 'job', own), 0, 'its own release')
