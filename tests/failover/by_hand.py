# SPDX-License-Identifier: MIT
"""A fixture of tests/servers as a process, which does each line that it is told
and says when that is done."""
import subprocess


class ByHand:
    def __init__(self, *argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.urls = self.process.stdout.readline().split()

    def do(self, *words):
        text = ' '.join(map(str, words))
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        if said != f'done {text}\n':
            raise RuntimeError(f'{text}: {said}{self.process.stdout.read()}')

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
