# SPDX-License-Identifier: MIT
"""The judge itself: logs written by hand, bad ones that it must flag and good
ones that it must not."""
import os

from judge import BUS, EXCUSES, Excuse, judge

MS = 10 ** 6
GUARANTEES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          '../../docs/guarantees.md')
FIRST = ('0 in a n 10 x - 1000', '100 beat a', '200 out a')


def found(*lines):
    """Rules that the lines break, times in ms; excused ones in brackets."""
    scaled = []
    for line in lines:
        at, rest = line.split(' ', 1)
        scaled.append(f'{int(at) * MS} {rest}')
    return [f'({f.rule})' if f.excuse else f.rule for f in judge(scaled)[0]]


def cases(*pairs):
    return [f'{lines} gives {found(*lines)}, not {wanted}'
            for wanted, lines in pairs if found(*lines) != wanted]


def judge_flags_bad_logs():
    return cases(
        (['two'], (*FIRST, '150 in b n 11 x - 1000', '160 beat b')),
        (['two', 'fence'], (*FIRST, '150 in b n 10 x - 1000', '160 beat b')),
        (['fence'], (*FIRST, '300 in b n 9 x - 1000', '310 beat b')),
        (['fence'], (*FIRST, '300 in b n 10 x - 1000', '310 beat b')),
        (['two'], (*FIRST, '150 in b n 11 s -1 1000', '160 beat b')),
        (['two'], ('0 in a n 10 2 0 1000', '9 out a',
                   '5 in b n 11 2 0 1000', '8 out b')),
        (['two'], ('0 in a n 10 2 0 1000', '9 out a',
                   '5 in b n 11 3 1 1000', '8 out b')),
        # Of those who are inside at once none has another's fence, and who
        # keeps another out has a lower one.
        (['fence'], ('0 in a n 10 s - 1000', '9 out a', '5 in b n 10 s - 1000',
                     '8 out b')),
        (['fence'], ('0 in a n 10 2 0 1000', '9 out a',
                     '15 in b n 9 2 0 1000', '18 out b')),
        (['fence'], ('0 in a n 10 s - 1000', '9 out a', '15 in b n 9 x - 1000',
                     '18 out b')),
        (['crash'], ('5 flaw crash SIGSEGV',)),
        (['bus'], ('5 flaw bus SIGBUS',)),
        (['bus'], ('1 act sqlite-over *', '2 did sqlite-over *',
                   '5 flaw bus SIGBUS')),
        (['crash'], ('1 act sqlite-shm *', '2 did sqlite-shm *',
                     '5 flaw crash SIGSEGV')),
        (['two'], (*FIRST, '150 in b n 11 x - 1000', '160 beat b',
                   '170 lost a')),
        # The cut comes too late to help.
        (['two'], ('0 in a n 10 x - 1000', '90 beat a', '95 cut a',
                   '80 in b n 11 x - 1000', '99 out b')))


def judge_passes_good_logs():
    return cases(
        ([], (*FIRST, '200 in b n 11 x - 1000', '300 out b')),
        ([], (*FIRST, '150 in b other 5 x - 1000', '160 beat b')),
        ([], ('0 in a n 10 s - 1000', '9 out a', '5 in b n 11 s - 1000',
              '8 out b')),
        ([], ('0 in a n 10 2 0 1000', '9 out a', '5 in b n 11 2 1 1000',
              '8 out b')),
        # A start of a process later than one that is granted after it.
        ([], ('0 in b n 11 s - 1000', '9 out b', '15 in a n 10 s - 1000',
              '18 out a')),
        ([], ('0 in b n 11 2 1 1000', '9 out b', '15 in a n 10 2 0 1000',
              '18 out a')),
        # What it is told after it was stopped is no presence.
        ([], ('0 in a n 10 x - 1000', '20 beat a', '50 in b n 11 x - 1000',
              '70 out b', '80 lost a')),
        ([], ('0 in a n 10 x - 1000', '20 cut a', '50 in b n 11 x - 1000',
              '70 out b', '60 beat a')),
        ([], ('5 beat nobody', '7 in short', '8 odd')))


def judge_excuses_no_more_than_is_said():
    act = ('140 act mysql-delete n', '141 did mysql-delete n')
    next_one = ('150 in b n 11 x - 1000', '160 beat b')
    return cases(
        (['(two)'], (*FIRST, *act, *next_one)),
        (['(bus)'], ('1 act sqlite-shm *', '2 did sqlite-shm *',
                     '5 flaw bus SIGBUS')),
        (['(bus)'], ('1 act sqlite-shm *', '5 flaw bus SIGBUS')),
        # Of another name, too late, an act that breaks nothing.
        (['two'], (*FIRST, '140 act mysql-delete m', '141 did mysql-delete m',
                   *next_one)),
        (['two'], (*FIRST, '155 act mysql-delete n', '156 did mysql-delete n',
                   *next_one)),
        (['two'], (*FIRST, '140 act kill *', '141 did kill *', *next_one)),
        # Longer than the lease of who was inside.
        (['two'], ('0 in a n 10 x - 100', *act, *next_one, '400 out a',
                   '390 out b')),
        # A file that is deleted: a moment, or what a detached grant has left.
        (['two'], ('0 in a n 10 x - 1000', '900 out a',
                   '90 act file-delete n', '91 did file-delete n',
                   '100 in b n 11 x - 1000', '410 beat b')),
        (['(two)'], (*FIRST, '90 act file-delete n', '91 did file-delete n',
                     '190 in b n 11 x - 1000', '210 beat b')),
        (['(two)'], ('0 in acquire1 n 10 x - 1000', '200 out acquire1',
                     '90 act file-delete n', '91 did file-delete n',
                     '100 in b n 11 x - 1000', '180 beat b')),
        # Who is stopped meanwhile has its moment as it goes on; not who was
        # stopped at another time, nor the command of one that is.
        (['(two)'], ('0 in lib1 n 10 x - 2000', '20 hit stop lib1',
                     '90 act mysql-kill *', '91 did mysql-kill *',
                     '100 in b n 11 x - 1000', '900 hit cont lib1',
                     '910 out lib1', '950 out b')),
        (['two'], ('0 in lib1 n 10 x - 2000', '20 hit stop lib1',
                   '90 act mysql-kill *', '91 did mysql-kill *',
                   '100 in b n 11 x - 1000', '300 hit cont lib1',
                   '910 out lib1', '950 out b')),
        (['two'], ('0 in run1 n 10 x - 2000', '20 hit stop run1',
                   '90 act mysql-kill *', '91 did mysql-kill *',
                   '100 in b n 11 x - 1000', '900 hit cont run1',
                   '910 out run1', '950 out b')),
        # Who is mistaken may have its first line when the other has left.
        (['(fence)'], (*act, '150 in b n 11 x - 1000', '160 out b',
                       '170 in a n 10 x - 1000', '180 out a')),
        (['fence'], (*act, '150 in b n 11 x - 1000', '160 out b',
                     '1170 in a n 10 x - 1000', '1180 out a')),
        (['fence'], ('155 act mysql-delete n', '156 did mysql-delete n',
                     '150 in b n 11 x - 1000', '160 out b',
                     '170 in a n 10 x - 1000', '180 out a')),
        # A deleted row is no reason for a fence that falls; an edited one is.
        (['(two)', 'fence'], (*FIRST, *act, '150 in b n 10 x - 1000',
                              '160 beat b')),
        (['(two)', '(fence)'], (*FIRST, '140 act mysql-edit n',
                                '141 did mysql-edit n',
                                '150 in b n 10 x - 1000', '160 beat b')))


def not_in_the_guarantees(excuses):
    """Of these, by act, the sentences that do not stand there."""
    with open(GUARANTEES, encoding='utf-8') as f:
        text = ' '.join(f.read().split())
    return [f'{act}: "{excuse.sentence}"'
            for act, several in excuses.items() for excuse in several
            if excuse.sentence not in text]


def each_excuse_stands_in_the_guarantees():
    return not_in_the_guarantees({**EXCUSES, 'bus': [Excuse(BUS)]})


TESTS = (judge_flags_bad_logs, judge_passes_good_logs,
         judge_excuses_no_more_than_is_said,
         each_excuse_stands_in_the_guarantees)
