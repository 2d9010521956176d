"""Slow clients hold no thread, have deadlines, and block no other client. Spec: contract 31.3."""

import threading
from contextlib import suppress

import pytest

from tests.processes import until
from tests.project.serving.conftest import THREADS, Connect, Gate, Line
from tests.spec import spec

HEAD = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW = {
    "nothing": b"",
    "request line": b"GET /li",
    "headers": b"GET /livez HTTP/1.1\r\nHost: loc",
    "body": HEAD + b"Content-Length: 5000\r\n\r\n{}",
    "form": b"POST /console/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\na=",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "continue": HEAD + b"Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n",
}
slow = pytest.mark.parametrize("begun", SLOW.values(), ids=SLOW)


@slow
@spec("contract 31.3")
def test_slow_requests_take_no_thread(serving: Connect, begun: bytes) -> None:
    connect = serving()
    for _ in range(80):
        connect().send(begun)

    for path in ("/livez", "/ready", "/ojs/v1/jobs"):
        assert connect().get(path).status() == 200


@slow
@spec("contract 31.3")
def test_idle_and_slow_connections_make_room_for_new_ones(serving: Connect, begun: bytes) -> None:
    connect = serving(connections=50)
    kept = [connect().send(begun) for _ in range(200)]

    # the server refuses new connections until it has read the bytes of the open connections
    until(lambda: connect().get("/x").status() == 200, "an answer")
    assert kept[0].is_closed()


@slow
@spec("contract 31.3")
def test_a_client_has_so_many_connections_and_no_more(serving: Connect, begun: bytes) -> None:
    connect = serving(client_connections=10)
    kept = [connect().send(begun) for _ in range(30)]

    until(lambda: connect().get("/x").status() == 200, "an answer")
    assert kept[0].is_closed()


@spec("contract 31.3")
def test_a_client_whose_connections_all_have_a_request_gets_429(
    serving: Connect, gate: Gate
) -> None:
    connect = serving(client_connections=2)
    first, second = connect().get("/wait"), connect().get("/wait")
    gate.wait_for(2)

    assert connect().error() == (429, "rate_limited")

    gate.opened.set()
    assert (first.status(), second.status()) == (200, 200)


@spec("contract 31.3")
def test_a_connection_with_a_request_makes_no_room(serving: Connect, gate: Gate) -> None:
    connect = serving(client_connections=10)
    lines = [connect().get("/wait") for _ in range(30)]
    gate.wait_for(THREADS)
    gate.opened.set()

    statuses = [line.status() for line in lines]

    assert statuses[:10] == [200] * 10
    assert set(statuses) <= {200, 429}


@pytest.mark.parametrize("begun", [SLOW["request line"], SLOW["headers"]])
@spec("contract 31.3")
def test_headers_have_a_deadline(serving: Connect, begun: bytes) -> None:
    connect = serving(header_timeout_ms=50)

    assert connect().send(begun).error() == (408, "request_timeout")


@pytest.mark.parametrize("begun", [SLOW["body"], SLOW["form"], SLOW["chunks"]])
@spec("contract 31.3")
def test_bodies_have_a_deadline(serving: Connect, begun: bytes) -> None:
    connect = serving(body_timeout_ms=50)

    assert connect().send(begun).error() == (408, "request_timeout")


@spec("contract 31.3")
def test_a_byte_now_and_then_does_not_move_the_deadline(serving: Connect) -> None:
    line = serving(body_timeout_ms=300)().send(SLOW["body"])
    is_over = threading.Event()

    def trickle() -> None:
        with suppress(OSError):
            while not is_over.wait(0.02):
                line.send(b" ")

    trickling = threading.Thread(target=trickle)
    trickling.start()
    try:
        assert line.error() == (408, "request_timeout")
    finally:
        is_over.set()
        trickling.join()


@spec("contract 31.3")
def test_an_idle_connection_is_closed(serving: Connect) -> None:
    connect = serving(idle_timeout_ms=100)
    used = connect().get("/x")
    assert used.status() == 200

    assert used.sock.recv(1) == b""
    assert connect().sock.recv(1) == b""


@spec("contract 31.3")
def test_an_endless_body_of_chunks_ends_at_the_limit(serving: Connect) -> None:
    line = serving(max_body_bytes=10_000)().send(SLOW["chunks"])
    line.send(b"2ee0\r\n" + b"x" * 12_000 + b"\r\n")

    assert line.error() == (413, "payload_too_large")


@spec("contract 31.3")
def test_a_body_that_is_too_large_is_refused_before_it_comes(serving: Connect) -> None:
    connect = serving(max_body_bytes=100)
    for more in (b"", b"Expect: 100-continue\r\n"):
        line = connect().send(HEAD + more + b"Content-Length: 101\r\n\r\n")

        assert line.error() == (413, "payload_too_large")


@spec("contract 31.3")
def test_a_client_that_asks_is_told_to_send_the_body(serving: Connect) -> None:
    line = serving()().send(SLOW["continue"].replace(b"5000", b"2"))

    assert line.status() == 100
    assert line.send(b"{}").response()[2] == b"/ojs/v1/jobs 2 2"


@spec("contract 31.3")
def test_all_bodies_together_have_a_bound(serving: Connect) -> None:
    connect = serving(body_bytes=100_000)
    begun = HEAD + b"Content-Length: 70000\r\n\r\n"
    first = connect().send(begun + b"x" * 60_000)
    # the bytes of the first request count as soon as a thread has read them
    refused: list[Line] = []

    def is_refused() -> bool:
        other = connect().send(begun + b"x" * 60_000)
        other.sock.settimeout(0.2)
        with suppress(TimeoutError):
            assert other.error() == (503, "backend_unavailable")
            refused.append(other)
        return bool(refused)

    until(is_refused, "a refusal")
    assert connect().get("/x").status() == 200
    assert first.send(b"x" * 10_000).status() == 200  # its bytes no longer count
    whole = connect().send(HEAD + b"Content-Length: 70000\r\n\r\n" + b"x" * 70_000)
    assert whole.status() in {200, 503}


@spec("contract 31.3")
def test_bodies_give_their_bytes_back(serving: Connect) -> None:
    connect = serving(body_bytes=100_000)
    whole = HEAD + b"Content-Length: 70000\r\n\r\n" + b"x" * 70_000

    def is_accepted() -> bool:  # a closed connection counts until the server has seen its end
        return connect().send(whole).status() == 200

    for _ in range(5):
        until(is_accepted, "the bytes of the closed connection")
        line = connect()
        for _ in range(5):
            assert line.send(whole).response()[2] == b"/ojs/v1/jobs 70000 70000"
        line.send(whole[:-1]).sock.close()
        assert connect().get("/x").status() == 200


@pytest.mark.parametrize("path", ["/large", "/endless"])
@spec("contract 31.3")
def test_a_client_that_reads_nothing_has_a_deadline_and_takes_no_thread(
    serving: Connect, path: str
) -> None:
    connect = serving(write_timeout_ms=100)
    lines = [connect().get(path) for _ in range(THREADS * 2)]

    other = connect().get("/x")
    assert other.status() == 200
    other.sock.close()
    until(lambda: connect.server.is_idle, "the end of all connections")
    assert all(line.is_closed() for line in lines)


@spec("contract 31.3")
def test_unread_responses_together_have_a_bound(serving: Connect) -> None:
    line = serving(response_bytes=1_000_000)().get("/large")

    received = 0
    with suppress(ConnectionError):
        while part := line.sock.recv(1_000_000):
            received += len(part)

    assert received < 50_000_000


# --- probes and busy threads ----------------------------------------------------------------------


def test_probes_are_answered_while_all_threads_wait(serving: Connect, gate: Gate) -> None:
    connect = serving()
    waiting = [connect().get("/wait") for _ in range(THREADS * 5)]
    gate.wait_for(THREADS)

    for path in ("/livez", "/healthz", "/ready", "/readyz", "/health", "/ojs/v1/health"):
        assert connect().get(path).status() == 200

    gate.opened.set()
    assert [line.status() for line in waiting] == [200] * len(waiting)


def test_requests_wait_for_a_thread_only_so_long(serving: Connect, gate: Gate) -> None:
    connect = serving(queue_timeout_ms=50)
    first = [connect().get("/wait") for _ in range(THREADS)]
    gate.wait_for(THREADS)

    late = connect().get("/x")

    assert late.error() == (503, "backend_unavailable")
    gate.opened.set()
    assert [line.status() for line in first] == [200] * THREADS


def test_only_so_many_requests_wait_for_a_thread(serving: Connect, gate: Gate) -> None:
    connect = serving(queue=1)
    first = [connect().get("/wait") for _ in range(THREADS)]
    gate.wait_for(THREADS)
    others = [connect().get("/x") for _ in range(3)]

    status, headers, _ = others[-1].response()
    assert (status, headers["retry-after"]) == (503, "1")

    gate.opened.set()
    assert sorted(line.status() for line in (*first, *others[:-1])) == [200, 200, 200, 503]


# --- connections ----------------------------------------------------------------------------------


def test_requests_of_one_connection_are_answered_in_order(serving: Connect) -> None:
    line = serving()()
    paths = [f"/{n}" if n % 3 else "/livez" if n % 2 else "/ready" for n in range(2_000)]
    receiving = threading.Thread(target=lambda: [line.get(path) for path in paths])
    receiving.start()

    told = [line.response()[2].split()[0].decode() for _ in paths]

    receiving.join()
    assert told == paths


def test_a_failure_of_the_application_is_answered_and_costs_no_thread(serving: Connect) -> None:
    connect = serving()
    for _ in range(THREADS * 3):
        assert connect().get("/broken").error() == (500, "backend_error")

    assert connect().get("/x").status() == 200


@spec("contract 31.3")
def test_bodies_of_failed_requests_give_their_bytes_back(serving: Connect) -> None:
    connect = serving(body_bytes=100_000)
    broken = b"POST /broken HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n"

    for _ in range(5):
        assert connect().send(broken + b"x" * 70_000).error() == (500, "backend_error")


@spec("contract 31.3")
def test_empty_lines_do_not_keep_a_connection_open(serving: Connect) -> None:
    line = serving(idle_timeout_ms=300)()
    is_over = threading.Event()

    def trickle() -> None:
        with suppress(OSError):
            while not is_over.wait(0.02):
                line.send(b"\r\n")

    trickling = threading.Thread(target=trickle)
    trickling.start()
    try:
        assert line.is_closed()
    finally:
        is_over.set()
        trickling.join()


def test_a_request_that_begins_behind_another_is_waited_for(serving: Connect) -> None:
    line = serving()()
    line.send(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n" + SLOW["continue"])

    assert (line.status(), line.status()) == (200, 100)
    assert line.send(b"x" * 5_000).response()[2] == b"/ojs/v1/jobs 5000 5000"


def test_a_client_that_leaves_costs_no_thread(serving: Connect, gate: Gate) -> None:
    connect = serving()
    for _ in range(THREADS * 3):
        connect().get("/wait").sock.close()
    gate.opened.set()

    assert connect().get("/x").status() == 200
