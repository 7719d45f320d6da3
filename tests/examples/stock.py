#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order system of examples/stock.c: its mistake sells units twice, its
three ways do not, and what it has made is gone in the end.

    stock.py STOCK     a server's URL in HOLDFAST_TEST_MYSQL_URL, else SQLite
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

STOCK = sys.argv[1]
SERVER = urllib.parse.urlsplit(os.environ.get('HOLDFAST_TEST_MYSQL_URL', ''))
URL = ([f'mysql://{SERVER.username}@{SERVER.hostname}:{SERVER.port}'
        f'{SERVER.path}'] if SERVER.scheme else [])
STORE = 'MariaDB' if URL else 'SQLite'
CLIENTS, UNITS = 8, 200

MISTAKE = re.compile(r'^  8 clients sold 200 units of one product, and the '
                     r'stock has fallen by (\d+)\.\n'
                     r'  (\d+) were sold that somebody else had bought\.$',
                     re.M)
SALE = re.compile(r'^(cell, by version|row lock|lease and fence) +'
                  r'(low: 20 products|high: 1 product) +(\d+)  '
                  r'(\d+) (conflicts|waits) +(\d+) +(\d+)$', re.M)
RULE = re.compile(r'^hf_cell_update\(\) at (low|high) contention: without its '
                  r'lock (\d+) % of the tries met another,\n  so it '
                  r'(chose the lock|went without): (\d+) of 220 customers',
                  re.M)


def environment(folder, password=SERVER.password):
    env = {**os.environ, 'TMPDIR': folder, 'MYSQL_PWD': password or ''}
    # What the looker for leaks takes for the head of a module's thread-local
    # memory is not one: now and then it follows it to nowhere, and dies.
    env['ASAN_OPTIONS'] = (env.get('ASAN_OPTIONS', '') +
                           ':intercept_tls_get_addr=0')
    env.pop('HOLDFAST_URL', None)
    env.pop('HOLDFAST_PASSWORD', None)
    return env


def run(folder, *words, **more):
    return subprocess.run([STOCK, *words], capture_output=True, text=True,
                          timeout=200, check=False,
                          env=environment(folder, **more))


def check_sales(tap, ran):
    said = ran.stdout + ran.stderr
    tap.ok(ran.returncode == 0 and not ran.stderr, f'it ends well ({STORE})',
           said)
    found = MISTAKE.search(ran.stdout)
    fell, again = map(int, found.groups()) if found else (UNITS, 0)
    tap.ok(again > 0 and fell < UNITS, 'the mistake sells units twice', said)
    sales = SALE.findall(ran.stdout)
    tap.ok(len({sale[:2] for sale in sales}) == len(sales) == 6,
           'three ways sell at low and at high contention', said)
    tap.ok(sales and all(sale[5:] == ('0', '0') for sale in sales),
           'none of them sells a unit twice or loses one', said)
    rule = {where: (int(met), what, int(locked))
            for where, met, what, locked in RULE.findall(ran.stdout)}
    low, high = rule.get('low', (0, '', 0)), rule.get('high', (0, '', 0))
    tap.ok(high[0] > low[0] and high[2] > low[2],
           'where all want one, hf_cell_update() meets more, and locks more',
           said)
    tap.ok(all(what == ('chose the lock' if locked > 110 else 'went without')
               for _, what, locked in (low, high)), 'and it is said so', said)


def check_picture(tap, path, ran):
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
        said = ' '.join(root.itertext())
        bars = [one for one in root.iter() if one.tag.endswith('}rect') and
                one.get('width') == '52']
        tall = [float(one.get('height')) for one in bars]
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        said, tall = str(error), []
    speeds = [sale[2] for sale in SALE.findall(ran.stdout)]
    tap.ok(len(tall) == 10 and all(0 <= one <= 200 for one in tall),
           'the picture has its bars, within their axes', tall)
    tap.ok(speeds and all(f' {speed} ' in f' {said} ' for speed in speeds) and
           'units sold in a second' in said and 'per cent' in said,
           'and says what was printed, in units', said)


def check_end(tap, folder):
    """Who ends it in the middle finds nothing left, and can begin again."""
    with subprocess.Popen([STOCK, '--units', '100000', *URL],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=environment(folder)) as process:
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    tap.ok(process.returncode == 1 and f' 100000 units, {STORE}' in
           line.replace('MySQL or ', '') and not os.listdir(folder),
           'who ends it leaves nothing', (process.returncode, line, rest))
    ran = run(folder, '--clients', '5', '--units', '50', *URL)
    tap.ok(ran.returncode == 0, 'and it begins again', ran)


def check_words(tap, folder):
    told = run(folder, '--help')
    tap.ok(told.returncode == 0 and all(word in told.stdout for word in
                                        ('--clients', '--units', '--svg')),
           'it explains its options', told)
    for words in (['--nonsense'], ['--units'], ['--units', '15'],
                  ['--clients', '0'], ['--svg'], ['a', 'b']):
        ran = run(folder, *words)
        tap.ok(ran.returncode == 2 and ran.stderr == told.stdout,
               f'wrong: {" ".join(words)}', ran)
    ran = run(folder, 'redis://host/0')
    tap.ok(ran.returncode == 1 and 'is on MySQL or MariaDB' in ran.stderr,
           'it says where it can sell', ran)
    if URL:
        ran = run(folder, *URL, password='wrong')
        tap.ok(ran.returncode == 1 and 'Access denied' in ran.stderr,
               'it says what is wrong', ran)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as place:
        folder = f'{place}/tmp'
        os.mkdir(folder)
        picture = f'{place}/stock.svg'
        ran = run(folder, '--clients', str(CLIENTS), '--units', str(UNITS),
                  '--svg', picture, *URL)
        check_sales(tap, ran)
        check_picture(tap, picture, ran)
        tap.ok(not os.listdir(folder), 'its folder is gone', folder)
        check_end(tap, folder)
        check_words(tap, folder)
    tap.done()


main()
