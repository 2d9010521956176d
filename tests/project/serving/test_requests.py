"""Invalid requests, and requests that two parsers could read in two ways, are refused.

Spec: contract 31.
"""

import re

import pytest

from ojs_project.serving.requests import LISTS, MAX_HEAD_BYTES, MAX_HEADERS, MAX_URL_BYTES
from tests.conftest import ROOT
from tests.project.serving.conftest import Connect
from tests.spec import spec

HOST = "Host: localhost\r\n"
GET = f"GET / HTTP/1.1\r\n{HOST}"
POST = f"POST / HTTP/1.1\r\n{HOST}"
READ_ONCE = (
    "Host", "Authorization", "X-API-Key", "X-OJS-Tenant", "X-Forwarded-Proto", "X-Client-Subject",
    "X-Request-Id", "OJS-Version", "Idempotency-Key", "Content-Type", "Origin", "Last-Event-ID",
)  # fmt: skip
UNDERSCORED = (
    "X_Client_Subject", "X-Client_Subject", "x_forwarded_for", "X_Forwarded_Proto", "X_API_Key",
    "X_OJS_Tenant", "Content_Length", "Content_Type", "Transfer_Encoding", "_", "a_b",
)  # fmt: skip
HOSTILE = {
    "no HTTP": "hello\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": "GET /\r\n",
    "other version": f"GET / HTTP/3.0\r\n{HOST}\r\n",
    "unknown method": f"BREW / HTTP/1.1\r\n{HOST}\r\n",
    "lower case": f"get / HTTP/1.1\r\n{HOST}\r\n",
    "long method": "A" * 100_000,
    "empty method": f" / HTTP/1.1\r\n{HOST}\r\n",
    "line feeds alone": "GET / HTTP/1.1\nHost: localhost\n\n",
    "no Host": "GET / HTTP/1.1\r\n\r\n",
    "two Hosts": f"{GET}Host: other\r\n\r\n",
    "control characters": f"GET /\x01 HTTP/1.1\r\n{HOST}\r\n",
    "NUL in a header": f"{GET}A: \x00\r\n\r\n",
    "space before a colon": f"{GET}A : b\r\n\r\n",
    "folded header": f"{GET}A: b\r\n c: d\r\n\r\n",
    "header without a colon": f"{GET}A\r\n\r\n",
    "header without a name": f"{GET}: b\r\n\r\n",
    "long target": f"GET /{'a' * (MAX_URL_BYTES + 1)} HTTP/1.1\r\n{HOST}\r\n",
    "endless target": f"GET /{'a' * 200_000}",
    "many headers": GET + "".join(f"A{n}: b\r\n" for n in range(MAX_HEADERS)) + "\r\n",
    "large header": f"{GET}A: {'b' * (MAX_HEAD_BYTES * 2)}",
    "large headers": GET + "".join(f"A{n}: {'b' * 2_000}\r\n" for n in range(90)),
    "authority as the target": f"CONNECT localhost:80 HTTP/1.1\r\n{HOST}\r\n",
    "target of another protocol": f"GET ftp://localhost/ HTTP/1.1\r\n{HOST}\r\n",
    "target that is no path": f"GET livez HTTP/1.1\r\n{HOST}\r\n",
    "two lengths": f"{POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}",
    "list of lengths": f"{POST}Content-Length: 2, 2\r\n\r\n{{}}",
    "negative length": f"{POST}Content-Length: -1\r\n\r\n",
    "signed length": f"{POST}Content-Length: +2\r\n\r\n{{}}",
    "length that is no number": f"{POST}Content-Length: 0x2\r\n\r\n{{}}",
    "length beyond 64 bits": f"{POST}Content-Length: {10**30}\r\n\r\n",
    "length and chunks": f"{POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": f"{POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
    "unknown encoding": f"{POST}Transfer-Encoding: gzip\r\n\r\nabc",
    "encoding twice": f"{POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "encoding on two lines": (
        f"{POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
    ),
    "chunk that is no number": f"{POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "negative chunk": f"{POST}Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    "chunk beyond 64 bits": f"{POST}Transfer-Encoding: chunked\r\n\r\n{'f' * 20}\r\n",
    "chunk without its end": f"{POST}Transfer-Encoding: chunked\r\n\r\n1\r\nabcd\r\n",
    **{f"{name} twice": f"{GET}{name}: a\r\n{name.upper()}: a\r\n\r\n" for name in READ_ONCE},
    **{f"underscore in {name}": f"{GET}{name}: 1\r\n\r\n" for name in UNDERSCORED},
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
@spec("contract 31")
def test_hostile_requests_are_refused_and_end_the_connection(serving: Connect, sent: str) -> None:
    connect = serving(header_timeout_ms=500, body_timeout_ms=500)

    status, code = connect().send(sent.encode("latin-1")).error()

    assert (status, code) in {
        (400, "invalid_request"), (405, "method_not_allowed"), (408, "request_timeout"),
    }  # fmt: skip
    assert connect().get("/x").status() == 200


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        (f"GET /a%20b%2Fc?x=%20 HTTP/1.1\r\n{HOST}\r\n", "/a b/c"),
        ("GET http://localhost:80/a?x HTTP/1.1\r\nHost: other\r\n\r\n", "/a"),
        ("GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n", "/"),
        ("GET / HTTP/1.0\r\n\r\n", "/"),
        (f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n", "*"),
        (f"GET / HTTP/1.1\r\n{HOST}X-Forwarded-For: a\r\nX-Forwarded-For: b\r\n\r\n", "/"),
        (f"GET / HTTP/1.1\r\n{HOST}Accept: a\r\nAccept: b\r\nCookie: a\r\nCookie: b\r\n\r\n", "/"),
        (f"GET / HTTP/1.1\r\n{HOST}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", "/"),
        (
            f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n0\r\n\r\n",
            "/",
        ),
        (f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n0\r\nHost: x\r\n\r\n", "/"),
    ],
)
def test_unusual_requests_are_answered(serving: Connect, sent: str, path: str) -> None:
    status, headers, _ = serving()().send(sent.encode()).response()

    assert (status, bytes.fromhex(headers["x-path"]).decode()) == (200, path)


def test_every_header_that_is_read_as_one_value_comes_once() -> None:
    packages = ("jobs", "ojs_project", "console", "encryption", "federation", "scheduling",
                "tenancy", "versioning", "webhooks", "workflows")  # fmt: skip
    read = {
        name
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if path.parent.name != "serving"
        for name in re.findall(r"\bHTTP_[A-Z_]+\b", path.read_text())
    }

    lists = {"HTTP_ACCEPT", "HTTP_CACHE_CONTROL", "HTTP_TRACESTATE", "HTTP_X_FORWARDED_FOR"}
    assert read & LISTS == lists
