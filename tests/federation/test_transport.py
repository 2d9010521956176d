"""Requests to regions. Spec: federation 7.1; contract 23.7."""

import datetime
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from federation import transport
from federation.domain.delivery import Fate
from federation.domain.errors import FederationConfigError
from federation.domain.exchange import Call, Failure, Reply
from federation.domain.reasons import Reason
from federation.domain.region import Auth, AuthKind, Region, Secret
from federation.transport import AsyncTransport, Transport, read_secret
from tests.federation.loop import run
from tests.federation.stub import Stub
from tests.processes import until
from tests.spec import spec

HEALTH = Call("us", "GET", "/ojs/v1/health")
SECRET = "ojs_secret-word"  # noqa: S105 - of the tests


@pytest.fixture(params=["sync", "asyncio"])
def send(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that makes one call to one region."""

    async def send_async(region: Region, call: Call, **members: Any) -> Reply | Failure:
        async with AsyncTransport([region], **members) as opened:
            return await opened.send(call)

    def send_one(region: Region, call: Call = HEALTH, **members: Any) -> Reply | Failure:
        if request.param == "asyncio":
            return run(send_async(region, call, **members))
        with Transport([region], **members) as opened:
            return opened.send(call)

    return send_one


def bearer(stub: Stub, reference: str) -> Region:
    """Return a region with a token."""
    return stub.region(auth=Auth(AuthKind.BEARER, token_ref=reference))


@spec("FED-7.1-b")
def test_a_bearer_token_comes_from_the_environment(
    send: Callable[..., Any], three: list[Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EU_KEY", SECRET)

    assert send(bearer(three[0], "env:EU_KEY")).status == 200
    assert three[0].sent[0][1]["authorization"] == f"Bearer {SECRET}"


def test_a_token_in_a_file_can_be_changed_in_place(three: list[Stub], tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("first\n")
    with Transport([bearer(three[0], f"file:{file}")]) as opened:
        opened.send(HEALTH)
        file.write_text("second\n")
        opened.send(HEALTH)
        file.unlink()
        gone = opened.send(HEALTH)

    assert [headers["authorization"] for _, headers, _ in three[0].sent] == [
        "Bearer first", "Bearer second",
    ]  # fmt: skip
    assert isinstance(gone, Failure)
    assert gone.fate is Fate.NOT_SENT
    assert gone.reason is Reason.UNREADABLE


@pytest.mark.parametrize("value", [None, "", "two words", "line\r\nX-Evil: 1", "ü", "x" * 9000])
def test_a_secret_that_is_none_is_refused_at_the_start_and_never_told(
    three: list[Stub], monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("EU_KEY", value)

    with pytest.raises(FederationConfigError, match="env:EU_KEY") as refused:
        Transport([bearer(three[0], "env:EU_KEY")])

    assert not value or value not in f"{refused.value.message}{refused.value.details}"


def test_a_binary_file_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe")

    with pytest.raises(FederationConfigError, match="not a text"):
        read_secret(f"file:{tmp_path}/key")


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """Return a FIFO without a writer."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("path", ["fifo", "/dev/zero", "/dev/tty", "/", "large"])
def test_what_is_no_small_regular_file_is_refused_at_once(
    fifo: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "large").write_bytes(b"x" * (transport.MAX_FILE_BYTES + 1))
    chosen = fifo if path == "fifo" else tmp_path / path

    with pytest.raises(FederationConfigError, match="cannot be read"):
        read_secret(f"file:{chosen}")


def test_fifo_is_no_certificate(fifo: Path) -> None:
    auths = (
        Auth(ca_ref=f"file:{fifo}"),
        Auth(AuthKind.MTLS, cert_ref=f"file:{fifo}", key_ref=f"file:{fifo}"),
    )

    for auth in auths:
        with pytest.raises(FederationConfigError, match="cannot be used"):
            Transport([Region("us", "https://127.0.0.1", auth=auth)])


def test_authority_without_a_certificate_does_not_mean_those_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")

    with pytest.raises(FederationConfigError, match="it is empty"):
        Transport([Region("us", "https://127.0.0.1", auth=Auth(ca_ref=f"file:{tmp_path}/empty"))])


@pytest.mark.parametrize("reference", [SECRET, "env:", "env:A B", "file:relative", "file:/a\nb"])
def test_a_secret_itself_is_refused_where_a_reference_belongs(reference: str) -> None:
    with pytest.raises(FederationConfigError, match="not the secret itself") as refused:
        Auth(AuthKind.BEARER, token_ref=reference)

    assert SECRET not in f"{refused.value.message}{refused.value.details}"


def test_representations_have_no_secret(three: list[Stub], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EU_KEY", SECRET)
    region = bearer(three[0], "env:EU_KEY")
    given = Auth(AuthKind.BEARER, token=Secret(SECRET))
    with Transport([region]) as opened:
        found = repr(
            [
                given,
                transport.Bearer(given),
                region,
                opened,
                opened.__dict__,
                vars(transport.Bearer(region.auth)),
            ]
        )

    assert SECRET not in found


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"kind": AuthKind.BEARER}, "auth.token_ref"),
        ({"kind": AuthKind.NONE, "token_ref": "env:A"}, "auth.kind"),
        ({"kind": AuthKind.MTLS, "cert_ref": "file:/c"}, "auth.key_ref"),
        ({"kind": AuthKind.NONE, "cert_ref": "file:/c"}, "auth.cert_ref"),
        ({"kind": AuthKind.NONE, "ca_ref": "env:CA"}, "auth.ca_ref"),
        ({"kind": "none"}, "auth.kind"),
    ],
)
def test_members_of_auth_belong_together(members: dict[str, Any], field: str) -> None:
    with pytest.raises(FederationConfigError) as refused:
        Auth(**members)

    assert refused.value.details["field"] == field


@spec("FED-7.1-a")
def test_the_transport_asks_again_before_it_sends_in_clear() -> None:
    region = Region("us", "http://us.example", allow_insecure=True)

    with pytest.raises(FederationConfigError, match="must use https"):
        Transport([region])
    Transport([region], debug=True).close()


def test_no_connection_is_a_failure_of_which_nothing_was_sent(
    send: Callable[..., Any], three: list[Stub]
) -> None:
    three[0].stop()

    found = send(three[0].region())

    assert (found.fate, found.is_own) == (Fate.NOT_SENT, False)


def test_no_answer_is_ambiguous(send: Callable[..., Any], three: list[Stub]) -> None:
    three[0].is_held.clear()

    found = send(three[0].region(), timeout_s=0.2)

    assert found.fate is Fate.AMBIGUOUS
    assert found.reason is Reason.TOO_LATE


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"HTTP/1.1 200 "]
)
def test_region_that_sends_byte_by_byte_is_left_by_the_deadline(
    send: Callable[..., Any], three: list[Stub], head: bytes
) -> None:
    """No single read reaches the timeout, so the deadline must end the whole call."""
    three[0].drips = head + b"x" * 5_000  # more than a minute

    found = send(three[0].region(), timeout_s=0.5)

    assert found.fate is Fate.AMBIGUOUS
    assert found.reason is Reason.TOO_LATE
    assert not found.is_own


def test_call_has_its_own_deadline(send: Callable[..., Any], three: list[Stub]) -> None:
    three[0].drips = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + b"x" * 5_000

    assert send(three[0].region(), replace(HEALTH, timeout_s=0.5)).fate is Fate.AMBIGUOUS


def test_region_that_takes_byte_by_byte_is_left_by_the_deadline(
    send: Callable[..., Any], three: list[Stub]
) -> None:
    """The reader is too slow for a write to end, and too quick for a write to time out."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def sip() -> None:
            connection, _ = listener.accept()
            with connection:
                while not over.wait(0.05) and connection.recv(1_000):
                    pass

        reader = threading.Thread(target=sip)
        reader.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        large = Call("us", "POST", "/ojs/v1/jobs", b"x" * 50_000_000)

        found = send(Region("us", url, allow_insecure=True), large, timeout_s=0.5)

        over.set()
        reader.join()
    assert found.fate is Fate.AMBIGUOUS
    assert found.reason is Reason.TOO_LATE


def test_call_that_gets_no_connection_of_its_pool_was_not_sent(
    three: list[Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_CONNECTIONS", 1)
    three[0].is_held.clear()
    with Transport([three[0].region()]) as opened, ThreadPoolExecutor(1) as pool:
        first = pool.submit(opened.send, HEALTH)
        until(lambda: three[0].probes == 1)
        second = opened.send(replace(HEALTH, timeout_s=0.2))
        three[0].is_held.set()

        assert isinstance(first.result(), Reply)
    assert isinstance(second, Failure)
    assert (second.fate, second.is_own) == (Fate.NOT_SENT, True)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 ", b"SSH-2.0-a_banner\r\n\r\n"])
def test_whatever_was_sent_may_be_stored(send: Callable[..., Any], answer: bytes) -> None:
    """The connection ends before, within and instead of an answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def cut() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        thread = threading.Thread(target=cut)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        found = send(Region("us", url, allow_insecure=True), HEALTH)
        thread.join()

    assert (found.fate, found.reason) == (Fate.AMBIGUOUS, Reason.BROKEN)


def test_certificate_that_is_refused_ends_before_anything_is_sent(
    send: Callable[..., Any],
) -> None:
    """The server speaks no TLS at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        found = send(Region("us", url), HEALTH)
        thread.join()

    assert found.fate is Fate.NOT_SENT


def test_answers_without_end_are_cut(
    send: Callable[..., Any], three: list[Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER_BYTES", 10)
    three[0].health = (200, "x" * 100)

    assert send(three[0].region()).reason is Reason.TOO_LONG


def test_what_the_environment_says_of_proxies_does_not_count(
    send: Callable[..., Any], three: list[Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    assert send(three[0].region()).status == 200


# --- TLS ------------------------------------------------------------------------------------------


class Papers:
    """A private certificate authority, and its certificates as files."""

    def __init__(self, folder: Path) -> None:
        """Create the authority."""
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "regions")])
        self.ca = self._write("ca.pem", self._sign(self._name, self._key, is_ca=True))

    def certify(self, name: str) -> tuple[Path, Path]:
        """Return the files of a certificate and its key, for 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        path = self._folder / f"{name}.key"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )  # fmt: skip
        return self._write(f"{name}.pem", self._sign(subject, key, is_ca=False)), path

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_ca: bool
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        usage = x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=is_ca, crl_sign=is_ca,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        return (
            x509.CertificateBuilder()
            .subject_name(subject).issuer_name(self._name).public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(place, critical=False)
            # Python 3.13 accepts a certificate only with these extensions
            .add_extension(own, critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )  # fmt: skip

    def _write(self, name: str, certificate: x509.Certificate) -> Path:
        path = self._folder / name
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return path


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    """Return a private authority."""
    return Papers(tmp_path)


@pytest.fixture
def encrypted(papers: Papers) -> Iterator[str]:
    """Return the URL of a server that requires a client certificate of the authority."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "ok"}')

        def log_message(self, *_facts: Any) -> None:
            """Log nothing."""

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_facts: Any) -> None:
            """Log no broken handshakes."""

    server = Quiet(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*papers.certify("server"))
    context.load_verify_locations(papers.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@spec("FED-7.1-b")
def test_mutual_tls_with_a_private_authority(
    send: Callable[..., Any], papers: Papers, encrypted: str
) -> None:
    certificate, key = papers.certify("us")
    auth = Auth(
        AuthKind.MTLS, cert_ref=f"file:{certificate}", key_ref=f"file:{key}",
        ca_ref=f"file:{papers.ca}",
    )  # fmt: skip

    found = send(Region("us", encrypted, auth=auth))

    assert (found.status, found.body) == (200, {"status": "ok"})


@spec("FED-7.1-a")
def test_certificates_are_verified(
    send: Callable[..., Any], papers: Papers, encrypted: str
) -> None:
    stranger = send(Region("us", encrypted))
    without = send(Region("us", encrypted, auth=Auth(ca_ref=f"file:{papers.ca}")))

    assert stranger.fate is Fate.NOT_SENT
    assert stranger.reason is Reason.NO_TRUST
    assert isinstance(without, Failure)


def test_files_that_are_no_certificates_are_named(papers: Papers, tmp_path: Path) -> None:
    certificate, _ = papers.certify("us")
    _, other = papers.certify("eu")
    broken = tmp_path / "broken"
    broken.write_text("no")

    for auth, field in (
        (Auth(ca_ref=f"file:{broken}"), "auth.ca_ref"),
        (Auth(ca_ref="file:/nowhere/ca.pem"), "auth.ca_ref"),
        (Auth(AuthKind.MTLS, cert_ref=f"file:{certificate}", key_ref=f"file:{other}"),
         "auth.cert_ref"),
    ):  # fmt: skip
        with pytest.raises(FederationConfigError) as refused:
            Transport([Region("us", "https://127.0.0.1", auth=auth)])
        assert refused.value.details["field"] == field
