# SPDX-License-Identifier: MIT
"""A way to a server that can be slow, cut and silent: a TCP proxy.

What goes through is neither read nor changed. One thread each way of each
connection, so that a delay holds up nothing but what comes after it.
"""
import collections
import contextlib
import socket
import threading
import time


class Link:
    def __init__(self, port, host='127.0.0.1'):
        """To that port, from `self.port`."""
        self.target = (host, port)
        self.delay = 0          # seconds, each way
        self.is_silent = False  # what is sent is kept, nothing arrives
        self.pairs = set()
        self.lock = threading.Lock()
        self.is_open = threading.Event()
        self.is_open.set()
        self.listener = socket.create_server((host, 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.join, args=(near,),
                             daemon=True).start()

    def join(self, near):
        if not self.is_open.is_set():
            return reset(near)
        self.pause_while_silent()
        try:
            far = socket.create_connection(self.target, 5)
        except OSError:
            return reset(near)
        far.settimeout(None)
        pair = (near, far)
        for s in pair:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.pairs.add(pair)
        for a, b in (pair, pair[::-1]):
            threading.Thread(target=self.carry, args=(a, b, pair),
                             daemon=True).start()
        return None

    def pause_while_silent(self):
        while self.is_silent:
            time.sleep(0.005)

    def carry(self, a, b, pair):
        """What comes from a goes to b, each piece when its time has come."""
        pieces = collections.deque()
        arrived = threading.Condition()

        def send():
            while True:
                with arrived:
                    while not pieces:
                        arrived.wait()
                    due, data = pieces.popleft()
                time.sleep(max(0, due - time.monotonic()))
                self.pause_while_silent()
                with contextlib.suppress(OSError):
                    if data:
                        b.sendall(data)
                        continue
                return self.part(pair)
        threading.Thread(target=send, daemon=True).start()
        data = b'-'
        while data:
            try:
                data = a.recv(65536)
            except OSError:
                data = b''
            with arrived:
                pieces.append((time.monotonic() + self.delay, data))
                arrived.notify()

    def part(self, pair, how=None):
        with self.lock:
            self.pairs.discard(pair)
        for s in pair:
            (how or close)(s)

    def cut(self, chance=None):
        """Resets the connections that there are, or those that chance()
        picks."""
        with self.lock:
            pairs = [p for p in self.pairs if not chance or chance()]
        for pair in pairs:
            self.part(pair, reset)

    def shut(self):
        """Cuts, and lets nobody in until it is opened."""
        self.is_open.clear()
        self.cut()

    def open(self):
        self.is_open.set()

    def end(self):
        self.listener.close()
        self.is_silent = False
        self.cut()


def close(s):
    with contextlib.suppress(OSError):
        s.shutdown(socket.SHUT_RDWR)
    s.close()


def reset(s):
    with contextlib.suppress(OSError):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                     b'\1\0\0\0\0\0\0\0')
    close(s)
