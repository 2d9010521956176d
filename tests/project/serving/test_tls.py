"""TLS by the HTTP server itself."""

import ssl
from pathlib import Path

import httpx
import pytest

from tests.federation.test_transport import Papers
from tests.processes import DEADLINE_S, until
from tests.project.serving.conftest import Connect, Site
from tests.spec import spec


@pytest.fixture
def site(serving: Connect, tmp_path: Path) -> tuple[Site, httpx.Client]:
    """Return a server with TLS, and a client that trusts its authority."""
    papers = Papers(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*papers.certify("server"))
    made = serving(context, header_timeout_ms=300, idle_timeout_ms=300)
    known = ssl.create_default_context(cafile=papers.ca)
    port = made().sock.getpeername()[1]
    base = f"https://127.0.0.1:{port}"
    return made, httpx.Client(base_url=base, verify=known, timeout=DEADLINE_S)


def test_requests_come_by_tls(site: tuple[Site, httpx.Client]) -> None:
    with site[1] as client:
        for size in (0, 1, 90_000):
            answer = client.post("/x", content=b"x" * size)
            assert (answer.status_code, answer.text.split()[:2]) == (200, ["/x", str(size)])
        assert len(client.get("/large").content) == 50_000_000


@spec("contract 31.3")
def test_who_says_nothing_or_no_tls_is_closed(site: tuple[Site, httpx.Client]) -> None:
    made, client = site
    with client:
        lines = [made(), made().send(b"\x16\x03\x01"), made().get("/x")]

        assert client.get("/x").status_code == 200
    assert all(line.is_closed() for line in lines)
    until(lambda: made.server.is_idle, "the end of all connections")
