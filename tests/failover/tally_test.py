# SPDX-License-Identifier: MIT
"""The count itself, of logs written by hand."""
from judge import MS
from tally import Tally


def tally(*lines, free=()):
    scaled = []
    for line in lines:
        at, rest = line.split(' ', 1)
        scaled.append(f'{int(at) * MS} {rest}')
    return Tally(scaled, free)


def unequal(*pairs):
    return [f'{got} instead of {wanted}' for wanted, got in pairs
            if wanted != got]


FIRST = ('0 in w1-1 n 10 x -1 1000', '5 out w1-1')


def hand_overs_and_gaps_are_counted():
    t = tally(*FIRST, '10 in w1-2 n 11 x -1 1000', '2510 in w2-1 n 12 x -1 1',
              '2520 in w2-2 m 1 x -1 1000', '2530 in w1-3 n 13 x -1 1000')
    return unequal((2, t.hand_overs()), (2.5, t.longest_gap()))


def a_loss_needs_a_fault():
    def mistaken(*lines, free=()):
        return len(list(tally(*FIRST[:1], *lines,
                              free=free).mistaken_losses()))
    act = ('100 act kill *', '200 did kill *')
    return unequal(
        (1, mistaken('900 lost w1-1 expired')),
        (0, mistaken(*act, '900 lost w1-1 expired')),
        # Before the lease that was lost, after the loss, one that costs none.
        (1, mistaken(*act, '2300 lost w1-1 expired')),
        (1, mistaken('950 act kill *', '960 did kill *',
                     '900 lost w1-1 expired')),
        (1, mistaken(*act, '900 lost w1-1 expired', free=('kill',))),
        (0, mistaken('100 act kill *', '900 lost w1-1 expired')))


TESTS = (hand_overs_and_gaps_are_counted, a_loss_needs_a_fault)
