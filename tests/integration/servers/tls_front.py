"""A front that opens TLS for a server of this host that speaks none: what arrives is passed on, and so are the answers."""

import contextlib
import select
import socket
import ssl
import threading
from pathlib import Path
from typing import Iterator, NamedTuple


class TlsFront(NamedTuple):
    port: int
    refused: list  # what was wrong with connections that came to nothing


@contextlib.contextmanager
def tls_front(port: int, certificate: Path, address: str = "127.0.0.1") -> Iterator[TlsFront]:
    """Listens on a free port of `address`, with a certificate and its key in one file, for the server on `port`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server((address, 0)) as listener:
        front = TlsFront(listener.getsockname()[1], [])
        threading.Thread(target=_accept, args=(listener, context, port, front.refused), daemon=True).start()
        try:
            yield front
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread


def _accept(listener: socket.socket, context: ssl.SSLContext, port: int, refused: list) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(client, context, port, refused), daemon=True).start()


def _serve(client: socket.socket, context: ssl.SSLContext, port: int, refused: list) -> None:
    client.settimeout(60)
    try:
        inside = context.wrap_socket(client, server_side=True)
    except (OSError, ssl.SSLError) as error:
        refused.append(str(error))
        client.close()
        return
    # One request at a time, so one thread: what comes next is the answer.
    with inside, socket.create_connection(("127.0.0.1", port), timeout=60) as server, contextlib.suppress(OSError):
        inside.setblocking(False)
        server.setblocking(False)
        _pump(inside, server)


def _pump(client: ssl.SSLSocket, server: socket.socket) -> None:
    while True:
        if client.pending() == 0:
            select.select([client, server], [], [], 60)
        for source, target in ((client, server), (server, client)):
            try:
                data = source.recv(65536)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                continue
            if not data:
                return
            target.setblocking(True)
            target.sendall(data)
            target.setblocking(False)
