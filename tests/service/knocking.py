"""Connects to a Unix socket again and again until SIGTERM. Ends with 1 when a connection was refused, or none was tried.

usage: knocking.py SOCKET
"""

import signal
import socket
import sys
import time

stopped = False


def stop(*_):
    global stopped
    stopped = True


def main(path):
    signal.signal(signal.SIGTERM, stop)
    connected, refused, longest = 0, [], 0.0
    while not stopped:
        began = time.monotonic()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(120)  # a full backlog makes connect() wait, which is no refusal
            try:
                client.connect(path)
                # A request and the wait for its answer keep this from being a flood; a connection may end unanswered.
                client.sendall(b"\x94\x00\x01\xa4ping\x90")
                client.recv(64)
                connected += 1
            except (BrokenPipeError, ConnectionResetError):
                connected += 1
            except OSError as error:
                refused.append(str(error))
        longest = max(longest, time.monotonic() - began)
    print(f"{connected} connected, {len(refused)} refused {sorted(set(refused))}, the longest after {longest * 1000:.0f} ms")
    return 0 if connected and not refused else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
