# SPDX-License-Identifier: MIT
"""Runs tests that give the flaws they found, and tells of them in TAP."""
import time

MARK = '# may be tried again alone'  # tools/again.py does


def run(tests, load_excuses=()):
    """Each is its name, why it can't be done here (or None), and what does it.
    Whose flaws all begin by one of load_excuses may be tried again. Gives how
    many failed."""
    print(f'1..{len(tests)}')
    bad = 0
    for number, (name, lacks, do) in enumerate(tests, 1):
        if lacks:
            print(f'ok {number} - {name} # SKIP {lacks}')
            continue
        begun = time.monotonic()
        flaws = do()
        bad += bool(flaws)
        print(f'{"not " if flaws else ""}ok {number} - {name}')
        if flaws and all(f.startswith(load_excuses) for f in flaws):
            print(MARK)
        for flaw in flaws[:20]:
            print('# ' + flaw[:900].replace('\n', ' | '))
        print(f'# {time.monotonic() - begun:.1f} s', flush=True)
    return bad
