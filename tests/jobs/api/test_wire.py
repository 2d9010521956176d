"""Behaviour that needs a real server: bodies in chunks, requests that are not HTTP."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from jobs.conf import Conf

pytestmark = pytest.mark.usefixtures("store")

JSON = {"Content-Type": "application/json"}
MIB = 1024 * 1024


def _chunks(*parts: bytes) -> Iterator[bytes]:
    yield from parts


def test_body_in_chunks_is_read(server: str) -> None:
    parts = _chunks(b'{"type": "mail.send",', b'"args": ["a', b'b"]}')

    answer = httpx.post(f"{server}/ojs/v1/jobs", content=parts, headers=JSON)

    assert answer.status_code == 201
    assert answer.json()["job"]["args"] == ["ab"]


def test_body_in_chunks_may_be_empty_where_none_is_needed(server: str) -> None:
    answer = httpx.post(f"{server}/ojs/v1/queues/chunks/resume", content=_chunks(), headers=JSON)

    assert answer.status_code == 200


def test_body_in_chunks_that_is_too_large_is_refused(server: str) -> None:
    parts = _chunks(*[b"x" * MIB] * (Conf().max_body_bytes // MIB + 1))

    answer = httpx.post(f"{server}/ojs/v1/jobs", content=parts, headers=JSON)

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "payload_too_large"


def test_body_in_chunks_of_another_type_is_refused(server: str) -> None:
    answer = httpx.post(f"{server}/ojs/v1/jobs", content=_chunks(b"a"))

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "Content-Type"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /ojs/\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /ojs/v1/jobs HTTP/9.9\r\n\r\n",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n{}",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /ojs/v1/health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\n",
        b"GET /ojs/manifest HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"GET /ojs/manifest HTTP/1.0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
)
def test_request_that_is_none_is_refused_and_harms_nobody(server: str, sent: bytes) -> None:
    place = urlsplit(server)
    with socket.create_connection((place.hostname or "", place.port or 0), 30) as line:
        line.sendall(sent)
        answer = line.recv(100)

    assert b" 4" in answer[:12]
    assert httpx.get(f"{server}/livez").status_code == 200
