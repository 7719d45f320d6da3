# SPDX-License-Identifier: MIT
"""What the checkers share: the files of the tree, and C read just enough.

The C of this tree is formatted by clang-format, so a function starts where a
line is a lone "{" and ends where a line is a lone "}".
"""
import pathlib
import re
import sys

TOPS = ('include', 'src', 'tests', 'examples', 'bench')
NAME = re.compile(r'(\w+)\s*$')


def root():
    """The tree to check: the first argument, or the one this file is in."""
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1])
    return pathlib.Path(__file__).resolve().parent.parent


def c_files(tree):
    """Yields (name from the root, text) of every C file."""
    for top in TOPS:
        for path in sorted((tree / top).rglob('*')):
            if path.suffix in ('.c', '.h', '.cc', '.hpp') and path.is_file():
                yield path.relative_to(tree).as_posix(), path.read_text()


def all_files(tree):
    """Yields (name, text) of every text file that is ours."""
    for path in sorted(tree.rglob('*')):
        name = path.relative_to(tree).as_posix()
        if re.match(r'(\.git|build[^/]*)(/|$)|.*__pycache__', name):
            continue
        if path.is_file():
            try:
                yield name, path.read_text()
            except UnicodeDecodeError:
                yield name, ''


def entries(tree, name):
    """Yields (line, left, right) of each "left : right" of a list; "#" begins
    a comment."""
    for number, line in enumerate((tree / name).read_text().split('\n'), 1):
        left, colon, right = line.split('#')[0].partition(':')
        if colon:
            yield number, left.strip(), right.strip()


def finish(findings):
    """Prints the findings; exits 1 if there is one."""
    count = 0
    for line in findings:
        count += 1
        print(line)
    sys.exit(1 if count else 0)


def blank(text):
    """The text with comments and the inside of literals made blank."""
    def spaces(match):
        s = match[0]
        if s[0] in '"\'':
            return s[0] + re.sub(r'[^\n]', ' ', s[1:-1]) + s[-1]
        return re.sub(r'[^\n]', ' ', s)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                  r"'(?:\\.|[^'\\\n])*'", spaces, text, flags=re.S)


def without_directives(code):
    """Blanked code with preprocessor lines made blank too."""
    return re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                  lambda m: re.sub(r'[^\n]', ' ', m[0]), code, flags=re.M)


def functions(code):
    """Yields (first line, signature, body) of each function, from
    without_directives(blank(text)); lines count from 1."""
    lines = code.split('\n')
    for n, line in enumerate(lines):
        if line != '{':
            continue
        start = n
        while start > 0 and not re.match(r'\s*$|.*[;}]\s*$', lines[start - 1]):
            start -= 1
        end = n
        while end < len(lines) - 1 and lines[end] != '}':
            end += 1
        yield (start + 1, ' '.join(lines[start:n]),
               '\n'.join(lines[n:end + 1]))


def parameters(signature):
    """How many parameters the last parenthesis of a signature names."""
    depth = 0
    end = signature.rfind(')')
    for i in range(end, -1, -1):
        depth += {')': 1, '(': -1}.get(signature[i], 0)
        if depth == 0:
            break
    inner = signature[i + 1:end]
    if inner.strip() in ('', 'void'):
        return 0
    depth = 0
    count = 1
    for char in inner:
        depth += {'(': 1, ')': -1}.get(char, 0)
        count += char == ',' and depth == 0
    return count


def opener(before):
    """Is the brace after this text that of a control statement?"""
    before = before.rstrip()
    if re.search(r'\b(else|do)$', before):
        return True
    if not before.endswith(')'):
        return False
    depth = 0
    for i in range(len(before) - 1, -1, -1):
        depth += {')': 1, '(': -1}.get(before[i], 0)
        if depth == 0:
            word = NAME.search(before[:i])
            return bool(word) and word[1] not in ('return', 'sizeof')
    return False


def nesting(body):
    """The deepest nesting of control statements in a body."""
    stack = []
    deepest = 0
    for match in re.finditer(r'[{}]', body):
        if match[0] == '}':
            if stack:
                stack.pop()
            continue
        stack.append(opener(body[:match.start()]) if stack else False)
        deepest = max(deepest, sum(stack))
    return deepest
