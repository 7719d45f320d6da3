# SPDX-License-Identifier: MIT
"""What docs/reference.md has for people to copy, in its chapters on stores."""
import pathlib
import re

PAGE = (pathlib.Path(__file__).parents[2] / 'docs/reference.md').read_text()
CHAPTER = PAGE[PAGE.index('### Redis'):PAGE.index('### ZooKeeper')]
BLOCKS = re.findall(r'```\w*\n(.*?)```', PAGE, re.S)


def block_with(word):
    return next(block for block in BLOCKS if word in block)


def rule_for(user, password):
    """The line for ACL SETUSER, as words."""
    words = block_with('ACL SETUSER').split()
    words[2] = user
    return [word.replace('>PASSWORD', '>' + password) for word in words]
