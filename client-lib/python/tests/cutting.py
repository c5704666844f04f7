"""Between clients and a real daemon: passes bytes on, and cuts each connection somewhere in the stream of replies, so that IDs which
the daemon has issued do not arrive."""

import random
import socket
import threading

from servers.patience import PATIENCE


class Cutter:
    """path: where clients connect. most: a connection is cut after 1 to so many bytes of replies; None: not any more."""

    def __init__(self, path, daemon_path, seed, most):
        self.daemon_path = str(daemon_path)
        self.random = random.Random(seed)
        self.most = most
        self.cuts = 0
        self.lock = threading.Lock()
        self.pumps = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.daemon_path)
            left = None if self.most is None else self.random.randrange(1, self.most)
            for source, sink, limit in ((near, far, None), (far, near, left)):
                self.pumps.append((threading.Thread(target=self._pump, args=(source, sink, limit)), source))
                self.pumps[-1][0].start()

    def _pump(self, source, sink, left):
        try:
            while data := source.recv(4096):
                if left is not None and len(data) >= left:
                    sink.sendall(data[:left])
                    with self.lock:
                        self.cuts += 1
                    break
                sink.sendall(data)
                left = None if left is None else left - len(data)
        except OSError:
            pass  # the other direction has ended both
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(20 * PATIENCE)
        for pump, source in self.pumps:
            try:
                source.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended
            pump.join(20 * PATIENCE)
            source.close()
        self.listener.close()
