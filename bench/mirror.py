"""A server that does no work: the rate against it is the load client's own limit."""

import selectors
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
RECEIVED_BYTES = 1 << 16


@contextmanager
def mirror(body: bytes) -> Iterator[int]:
    """Answer every request with `body` in a separate process; yields the port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    answer = ANSWER % (len(body), body)
    process = get_context("fork").Process(target=_serve, args=(listening, answer), daemon=True)
    process.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        process.terminate()
        process.join()
        listening.close()


def _serve(listening: socket.socket, answer: bytes) -> None:
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listening:
                selector.register(listening.accept()[0], selectors.EVENT_READ, answer)
            else:
                _answer(selector, key)


def _answer(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    connection = key.fileobj
    assert isinstance(connection, socket.socket)  # noqa: S101 - narrows the type
    # a request of the benchmark fits in one packet on the loopback
    if connection.recv(RECEIVED_BYTES):
        connection.sendall(key.data)
    else:
        selector.unregister(connection)
        connection.close()
