# SPDX-License-Identifier: MIT
"""A network of the kernel's own: the server is in a network namespace, to which
two links lead, and the one that half of the crew goes by falls silent. What is
sent then is lost, and nobody is told. All of it is in a namespace of this test,
so that nothing of the machine's network is touched."""
import ctypes
import os
import socket
import subprocess
import time

import net
from world import PASSWORD, SLOW

NEW_NET = 0x40000000
NEAR, FAR = '10.77.{}.1', '10.77.{}.2'


def ip(*words, inside=None):
    subprocess.run([*enter(inside), 'ip', *words], check=True)


def enter(process):
    return ['nsenter', f'--net=/proc/{process.pid}/ns/net'] if process else []


def may_make_one():
    """Root, with the programs for it, where nothing forbids it."""
    if not all(map(net.find, ('unshare', 'nsenter', 'ip', 'sleep'))):
        return False
    made = subprocess.run(
        ['unshare', '-n', 'sh', '-c', 'ip link add near0 type veth'],
        capture_output=True, check=False)
    return made.returncode == 0


class Server(net.Redis):
    """Lives in that namespace, and is reached by both links."""

    def __init__(self, world, place):
        self.place = place
        super().__init__(world, options=('--bind', '0.0.0.0'))

    def spawn(self, argv, executable=None, **more):
        super().spawn([*enter(self.place), 'bash', '-c', 'exec -a "$0" "$@"',
                       argv[0], executable, *argv[1:]], **more)

    def greet(self):
        with socket.create_connection((FAR.format(0), self.port), 5) as s:
            s.sendall(f'AUTH {PASSWORD}\r\nPING\r\n'.encode())
            said = b''
            while b'PONG' not in said:
                more = s.recv(100)
                if not more:
                    raise OSError
                said += more


class NetworkNamespace:
    program = net.Redis.program and may_make_one()
    lacks = 'this machine lets us make no network namespace, or lacks Redis'
    excuses = {}
    free_faults = ('parted', 'flapping')
    lease_ms = 4000 * SLOW
    names = 2
    holders = 2

    def __init__(self, world):
        self.world = world
        self.process = self.server = None
        self.own = os.open('/proc/self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        self.libc = ctypes.CDLL(None, use_errno=True)
        if self.libc.unshare(NEW_NET):
            raise OSError(ctypes.get_errno(), 'unshare')
        self.process = subprocess.Popen(
            ['unshare', '-n', 'sh', '-c', 'echo; exec sleep infinity'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        try:
            self.build()
        except Exception:
            self.stop()
            raise

    def build(self):
        for place in (None, self.process):
            ip('link', 'set', 'lo', 'up', inside=place)
        for i in range(2):
            self.join(i)
        self.server = Server(self.world, self.process)

    def join(self, i):
        ip('link', 'add', f'near{i}', 'type', 'veth', 'peer', 'name',
           f'far{i}', 'netns', str(self.process.pid))
        for link, address, place in ((f'near{i}', NEAR, None),
                                     (f'far{i}', FAR, self.process)):
            ip('address', 'add', address.format(i) + '/24', 'dev', link,
               inside=place)
            ip('link', 'set', link, 'up', inside=place)

    def url(self, i):
        return f'redis://:{PASSWORD}@{FAR.format(i % 2)}:{self.server.port}/0'

    def faults(self):
        faults = {'parted': lambda: self.part(1 / 4),
                  'flapping': self.flap}
        if self.world.is_long:
            faults['cut-off'] = lambda: self.part(1.5)
        return faults

    def part(self, leases):
        """The far end goes: the near one has its route, which leads nowhere."""
        time.sleep(self.lease_ms / 4000)
        ip('link', 'set', 'far1', 'down', inside=self.process)
        time.sleep(leases * self.lease_ms / 1000)
        ip('link', 'set', 'far1', 'up', inside=self.process)

    def flap(self):
        for _ in range(10):
            ip('link', 'set', 'far1', 'down', inside=self.process)
            time.sleep(0.05)
            ip('link', 'set', 'far1', 'up', inside=self.process)
            time.sleep(0.05)

    def stop(self):
        """Also of one that was not made whole."""
        if self.server:
            self.server.stop()
        if self.process:
            self.process.kill()
            self.process.wait()
        if self.libc.setns(self.own, NEW_NET):
            raise OSError(ctypes.get_errno(), 'setns')
        os.close(self.own)
