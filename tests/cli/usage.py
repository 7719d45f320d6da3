# SPDX-License-Identifier: MIT
"""What is wrong on a command line: 64, the word that offends, and the line
that would be right."""
import harness
from harness import case


def refused(t, args, *words):
    result = t.run(*args, code=64)
    t.equal(result.out, '', f'stdout of {args}')
    t.says(result.err, *words)
    t.check(not t.db.exists(), f'{args} made a store')
    return result.err


@case
def without_the_dashes_the_corrected_line_is_shown(t):
    refused(t, ('run', 'job', 'make', 'all'),
            'holdfast run job -- make all')
    refused(t, ('run', '--try', 'a b', 'sh', '-c', "echo 'x y'"),
            "holdfast run --try 'a b' -- sh -c", 'x y')
    refused(t, ('run', '-w', '5s', 'job', 'cmd', '--verbose'),
            'holdfast run -w 5s job -- cmd --verbose')


@case
def the_corrected_line_can_be_pasted(t):
    said = refused(t, ('run', "it's", 'printf', '%s|', 'a b', "c'd", '$e'),
                   '--')
    line = said[said.index('holdfast run'):].strip()
    result = t.spawn(['sh', '-c', line.replace('holdfast', '"$0"', 1),
                      t.holdfast]).wait(code=0)
    t.equal(result.out, "a b|c'd|$e|", 'what the pasted line prints')


@case
def without_a_command_it_is_asked_for(t):
    refused(t, ('run', 'job', '--'), 'command', 'holdfast run job --')
    refused(t, ('run', 'job'), 'command', 'holdfast run job --')
    refused(t, ('run', '--', 'true'), 'NAME', 'holdfast run')
    refused(t, ('run',), 'NAME', 'holdfast run')


@case
def an_unknown_option_gets_a_suggestion(t):
    refused(t, ('run', '--leese', '3s', 'job', '--', 'true'), '--leese',
            '--lease')
    refused(t, ('run', '--busyexit', '3', 'job', '--', 'true'),
            '--busyexit', '--busy-exit')
    refused(t, ('who', '--jsn', 'job'), '--jsn', '--json')
    refused(t, ('break', 'job', '--forse'), '--forse', '--force')
    refused(t, ('run', '--nothing-like-it', 'job', '--', 'true'),
            '--nothing-like-it', 'holdfast help run')
    refused(t, ('run', '-Q', 'job', '--', 'true'), '-Q')
    refused(t, ('run', '-nQ', 'job', '--', 'true'), 'Q', '-nQ')


@case
def an_unknown_verb_gets_a_suggestion(t):
    refused(t, ('rnu', 'job', '--', 'true'), "'rnu'", 'run')
    refused(t, ('braek', 'job'), "'braek'", 'break')
    refused(t, ('chekc',), "'chekc'", 'check')
    refused(t, ('something-else',), "'something-else'", 'run', 'who', 'ls',
            'break', 'check', 'backends', 'version', 'help')
    refused(t, (), 'run', 'help')
    refused(t, ('--try', 'run', 'job', '--', 'true'), 'verb')
    refused(t, ('help', 'rum'), "'rum'", 'run')


@case
def a_bad_duration_is_named(t):
    for value in ('5x', '', '-3s', '1m1h', '3 s', 'abc', '1e3'):
        refused(t, ('run', '--wait', value, 'job', '--', 'true'), '--wait',
                f"'{value}'", '30s')
    refused(t, ('run', '--lease', 'forever', 'job', '--', 'true'),
            '--lease', 'forever')


@case
def a_number_outside_of_its_range_is_named(t):
    refused(t, ('run', '--lease', '50ms', 'job', '--', 'true'), '--lease',
            '50ms', '100ms')
    refused(t, ('run', '--lease', '25h', 'job', '--', 'true'), '--lease',
            '25h')
    for value in ('256', '-1', 'x', '', '1.5'):
        refused(t, ('run', f'--busy-exit={value}', 'job', '--', 'true'),
                '--busy-exit', '255')
    refused(t, ('run', '--lost-exit', '300', 'job', '--', 'true'),
            '--lost-exit', '300')
    refused(t, ('break', 'job', '--fence', '0'), '--fence')
    refused(t, ('break', 'job', '--fence', 'seven'), '--fence', 'seven')


@case
def a_lease_too_short_to_end_a_command_is_refused(t):
    refused(t, ('run', '--lease', '999ms', 'job', '--', 'true'), '--lease',
            '1s')
    t.code(t.run('run', '--lease', '1s', 'job', '--', 'true'), 0)


@case
def a_grace_above_a_third_of_the_lease_is_refused(t):
    refused(t, ('run', '--lease', '9s', '--grace', '3001ms', 'job', '--',
                'true'), '--grace', '--lease')
    t.code(t.run('run', '--lease', '9s', '--grace', '3s', 'job', '--',
                 'true'), 0)


@case
def a_value_that_is_missing_or_too_much_is_named(t):
    refused(t, ('run', 'job', '--wait', '--', 'true'), '--wait')
    refused(t, ('who', 'job', '--url'), '--url')
    refused(t, ('run', '--try=yes', 'job', '--', 'true'), '--try')
    refused(t, ('ls', 'a', 'b'), "'b'")
    refused(t, ('who', 'a', 'b'), "'b'")
    refused(t, ('check', 'a'), "'a'")
    refused(t, ('who',), 'NAME')
    refused(t, ('break',), 'NAME')


@case
def options_that_exclude_each_other_are_named(t):
    refused(t, ('run', '--try', '--wait', '3s', 'job', '--', 'true'),
            '--try', '--wait')
    refused(t, ('break', 'job', '--force', '--stale'), '--force', '--stale')
    refused(t, ('break', 'job', '--fence', '3', '--force'), '--fence')
    refused(t, ('run', '-c', 'job', '--', 'echo', 'a'), '-c')
    refused(t, ('run', '--reach', 'planet', 'job', '--', 'true'), 'planet',
            'hosts')


@case
def a_name_that_cannot_be_is_refused(t):
    refused(t, ('run', '', '--', 'true'), 'name')
    refused(t, ('run', 'n' * 256, '--', 'true'), '256', '255')
    refused(t, ('run', b'\xff\xfe'.decode(errors='surrogateescape'), '--',
                'true'), 'UTF-8')
    refused(t, ('run', '--note', 'n' * 256, 'job', '--', 'true'), '--note',
            '256')
    t.code(t.run('run', 'n' * 255, '--', 'true'), 0)


@case
def a_descriptor_that_cannot_be_written_is_named(t):
    refused(t, ('run', '--json-fd', '77', 'job', '--', 'true'), '--json-fd',
            '77')
    result = t.spawn(['sh', '-c', '"$0" run --json-fd 1 job -- true >&-',
                      t.holdfast]).wait(code=64)
    t.says(result.err, '--json-fd', 'descriptor 1')


@case
def a_bad_url_is_refused_and_its_options_are_listed(t):
    for verb in (('run', 'job', '--', 'true'), ('who', 'job'), ('ls',),
                 ('check',), ('break', 'job', '--force')):
        args = (verb[0], '--url', f'{t.url}?lease_time=3', *verb[1:])
        refused(t, args, 'lease_time', 'io_timeout', '--url')
    refused(t, ('who', '--url', f'{t.url}?prefix=a&prefix=b', 'job'),
            'prefix')
    refused(t, ('who', '--url', f'{t.url}?io_timeout=soon', 'job'),
            'io_timeout', 'soon')
    refused(t, ('who', '--url', 'sqlite:', 'job'), 'sqlite')


@case
def an_unknown_store_is_named_with_the_way_to_the_known(t):
    result = t.run('who', '--url', 'carrier-pigeon://coop', 'job')
    t.check(result.code in (64, 77), result)
    t.says(result.err, 'carrier-pigeon', 'holdfast backends')


@case
def a_password_in_the_line_is_never_shown(t):
    url = 'carrier-pigeon://user:s3cr3t@coop/1'
    for args in (('who', '--url', url, 'job'),
                 ('run', '--url', url, 'job', '--', 'true'),
                 ('run', '--url', url, 'job', 'true'),
                 ('check', '--url', url, '--json')):
        result = t.run(*args)
        t.check(result.code != 0, result)
        t.check('s3cr3t' not in result.out + result.err, result)
    result = t.run('who', '--url', url, 'job')
    t.says(result.err, 'warning', 'password')


@case
def a_mistyped_password_is_never_shown(t):
    urls = ('redis://user:s3cr3t@host/0', 'redis:/user:s3cr3t@host',
            'redis:user:s3cr3t@host', 'user:s3cr3t@host',
            'redis//user:s3cr3t@host', 'redis://user:pa/s3cr3t@host',
            'redis://user:pa#s3cr3t@host', 'redis://user:pa?s3cr3t@host',
            'redis://h/0?Password=s3cr3t', 'redis://h/0?pasword=s3cr3t',
            'redis://h/0?token=s3cr3t', 'redis://h/0?s3cr3t',
            'mysql://root:s3cr3t/db', 'redis://h,root:s3cr3t/db',
            'redis://:s3cr3t @host', 'redlock:redis://a:s3cr3t@b',
            'mysql:///root:s3cr3t@h/db', 'mysql:///root:s3cr3t',
            'mysql:///root:a?s3cr3t@h/db', 'redis://h/u:s3cr3t@h',
            'redis://u:12/s3cr3t@h/0', 'redis://u:12?s3cr3t@h/0',
            'redlock://:a@h1,b:s3cr3t,h3/0', 'mysql://u:p@h:s3cr3t/db',
            'mysql://u@h:s3cr3t/db', 'redis:u:p@h:s3cr3t/0',
            'mysql:u:s3cr3t', 'mysql:/u:s3cr3t', 'fault+mysql:u:s3cr3t/db',
            'fault+redis://user:s3cr3t@host/0?bogus=1')
    after = ('job', '--', 'true')
    for url in urls:
        for args in ((url,), (url, 'run', *after), ('help', url),
                     ('who', 'job', url), ('check', url), ('ls', 'a', url),
                     ('who', '--url', url, 'job'),
                     ('run', '--url', url, 'job', 'true'),
                     ('run', f'--url={url}', 'job', 'true'),
                     ('run', '--url', url, 'job'),
                     ('run', '--lease', url, *after),
                     ('run', f'-w{url}', *after), ('run', '-E', url, *after),
                     ('run', '--reach', url, *after),
                     ('run', '--allow', url, *after),
                     ('run', f'-n{url}', *after), ('run', f'-{url}', *after),
                     ('run', f'--{url}', *after),
                     ('run', f'--urll={url}', *after),
                     ('run', '--status-file', f'{url}/x', *after)):
            result = t.run(*args)
            t.check(result.code != 0, result)
            t.check('s3cr3t' not in result.out + result.err, result)
        result = t.run('who', 'job', env={'HOLDFAST_URL': url})
        t.check('s3cr3t' not in result.out + result.err, result)


@case
def the_options_that_there_are_are_shown(t):
    stores = t.run('backends').out.split()
    t.check('sqlite' in stores and 'redis' in stores, stores)
    for store in (*stores, 'fault+memory'):
        result = t.run('who', '--url', f'{store}:/x?bogus=1', 'job')
        for option in result.err.split('valid ones: ')[1].split(','):
            word = f'{option.strip()}=plain'
            t.says(t.run('who', '--url', f'{store}:/x?{word}&bogus=1',
                         'job').err, f'/x?{word}&bogus=***')


@case
def durations_are_written_as_people_do(t):
    for value in ('250ms', '30s', '5m', '2h', '1d', '1h30m', '7', '0',
                  'forever'):
        t.code(t.run('run', '--wait', value, 'job', '--', 'true'), 0)
    for value in ('1000ms', '1h30m', '24h', '1d', '30'):
        t.code(t.run('run', '--lease', value, 'job', '--', 'true'), 0)


@case
def json_is_asked_for_by_an_option_alone(t):
    for args, is_asked in ((('who', '--url', '--json', 'job'), False),
                           (('who', '--url', '--json', '--json', 'job'), True),
                           (('who', '--bogus', '--json'), True),
                           (('who', '--bogus', '--', '--json'), False),
                           (('whom', '--json'), True),
                           (('run', '--json', '--bogus', 'job'), False)):
        result = t.run(*args)
        t.check(result.code != 0, result)
        t.check(result.out.startswith('{"error":') == is_asked, result)


if __name__ == '__main__':
    harness.main()
