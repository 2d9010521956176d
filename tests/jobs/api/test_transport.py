"""Forwarded address, transport and certificate count only from a proxy. Spec: contract 31.4."""

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.test import Client

from jobs.models import ApiKey, Audit
from jobs.services.access import api_keys
from tests.conftest import end_all, free_port, http_server, wait_until_answering
from tests.spec import spec

HEALTH = ["/health", "/healthz", "/livez", "/readyz", "/ready", "/ojs/v1/health", "/v1/health"]
SUBJECT = "CN=billing,O=Example"
PROXIED = {"TRUSTED_PROXIES": ("10.0.0.0/8",), "TLS_SUBJECT_HEADER": "X-Client-Subject"}


@pytest.fixture
def asking(settings: Any) -> Callable[..., Client]:
    """Return a function that gives a client of a server with these settings."""

    def ask(peer: str = "127.0.0.1", **ojs: Any) -> Client:
        settings.OJS = {**settings.OJS, **ojs}
        api_keys.cache.clear()
        return Client(REMOTE_ADDR=peer)

    return ask


@pytest.fixture
def guarded(spawn: Callable[..., subprocess.Popen[bytes]], store: None) -> Iterator[httpx.Client]:
    """Return a client of a real server that requires TLS and trusts this machine as a proxy."""
    port = free_port()
    server = spawn(
        *http_server(port),
        OJS_REQUIRE_TLS="true", OJS_TRUSTED_PROXIES="127.0.0.0/8, 10.0.0.0/8", OJS_AUTH="apikey",
        OJS_TLS_SUBJECT_HEADER="X-Client-Subject",
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    wait_until_answering(url)
    with httpx.Client(base_url=url) as client:
        yield client
    end_all([server])
    ApiKey.objects.all().delete()


@spec("contract 31.4")
def test_plain_http_is_refused_by_a_real_server_but_for_health(
    guarded: httpx.Client,
) -> None:
    plain = guarded.get("/ojs/v1/queues")

    assert (plain.status_code, plain.headers["content-type"]) == (
        403, "application/openjobspec+json",
    )  # fmt: skip
    error = plain.json()["error"]
    assert (error["code"], error["details"]) == ("permission_denied", {"reason": "tls_required"})
    assert plain.headers["x-request-id"] == error["request_id"]
    assert guarded.get("/console/login/").status_code == 403
    assert guarded.get("/no/such/path").status_code == 403
    assert all(guarded.get(path).status_code != 403 for path in HEALTH)
    behind = guarded.get("/ojs/v1/queues", headers={"X-Forwarded-Proto": "https"})
    assert behind.status_code == 401  # the transport check passed: the server asks for a key


@spec("contract 31.4")
@spec("contract 31.5")
def test_a_proxy_names_client_and_certificate_to_a_real_server(
    guarded: httpx.Client,
) -> None:
    api_keys.create(api_keys.NewKey("billing", ("producer",), tls_subject=SUBJECT))
    headers = {
        "X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.1, 203.0.113.9, 10.0.0.5",
        "X-Client-Subject": SUBJECT,
    }  # fmt: skip

    stored = guarded.post("/ojs/v1/jobs", json={"type": "a.b", "args": []}, headers=headers)
    refused = guarded.get("/ojs/v1/admin/audit", headers=headers)

    assert (stored.status_code, refused.status_code) == (201, 403)
    entry = Audit.objects.filter(action="auth.permission_denied").latest("at")
    assert (entry.actor, entry.address) == ("billing", "203.0.113.9")


@spec("contract 31.4")
def test_a_second_spelling_of_the_subject_is_refused(guarded: httpx.Client) -> None:
    api_keys.create(api_keys.NewKey("billing", ("admin",), tls_subject=SUBJECT))
    of_proxy = [("X-Forwarded-Proto", "https"), ("X-Client-Subject", "CN=nobody")]

    for name in ("X_Client_Subject", "X-Client_Subject", "x_client-subject", "X-Client-Subject"):
        for headers in ([*of_proxy, (name, SUBJECT)], [(name, SUBJECT), *of_proxy]):
            answer = guarded.get("/ojs/v1/queues", headers=headers)

            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "protocol", "status"),
    [
        ("10.0.0.1", "https", 200),
        ("10.0.0.1", "HTTPS", 200),
        ("10.0.0.1", "http, https", 200),
        ("10.0.0.1", "https, http", 403),  # the nearest proxy saw plain HTTP
        ("10.0.0.1", "", 403),
        ("192.0.2.1", "https", 403),  # any client can write this header
    ],
)
@spec("contract 31.4")
def test_the_transport_is_what_a_trusted_proxy_says(
    asking: Callable[..., Client], peer: str, protocol: str, status: int
) -> None:
    client = asking(peer, REQUIRE_TLS=True, TRUSTED_PROXIES=("10.0.0.0/8",))

    answer = client.get("/ojs/manifest", headers={"X-Forwarded-Proto": protocol})

    assert answer.status_code == status


@pytest.mark.django_db
@spec("contract 31.4")
def test_without_trusted_proxies_djangos_own_header_setting_counts(
    asking: Callable[..., Client], settings: Any
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    client = asking(REQUIRE_TLS=True)

    assert client.get("/ojs/manifest").status_code == 403
    assert client.get("/ojs/manifest", headers={"X-Forwarded-Proto": "https"}).status_code == 200
    assert client.get("/ojs/manifest", secure=True).status_code == 200


@pytest.mark.django_db
@spec("contract 31.4")
def test_a_certificate_counts_only_from_a_trusted_proxy_and_for_a_valid_key(
    asking: Callable[..., Client],
) -> None:
    key, _ = api_keys.create(api_keys.NewKey("billing", ("operator",), tls_subject=SUBJECT))
    named = {"X-Client-Subject": SUBJECT}
    proxied = asking("10.0.0.1", AUTH="apikey", **PROXIED)
    stranger = Client(REMOTE_ADDR="192.0.2.1")

    assert proxied.get("/ojs/v1/queues", headers=named).status_code == 200
    assert stranger.get("/ojs/v1/queues", headers=named).status_code == 401
    other = proxied.get("/ojs/v1/queues", headers={"X-Client-Subject": "CN=other"})
    assert (other.status_code, other.headers["WWW-Authenticate"]) == (401, "Bearer")
    denied = proxied.get("/ojs/v1/queues", headers={**named, "X-API-Key": "ojs_wrong"})
    assert denied.status_code == 401  # a key in the request counts alone

    api_keys.revoke(key.prefix)
    assert proxied.get("/ojs/v1/queues", headers=named).status_code == 401


@pytest.mark.django_db
@spec("contract 31.4")
def test_a_subject_stands_for_one_valid_key() -> None:
    first, _ = api_keys.create(api_keys.NewKey("one", ("admin",), tls_subject=SUBJECT))

    with pytest.raises(ValueError, match="another key has the subject"):
        api_keys.create(api_keys.NewKey("two", ("admin",), tls_subject=SUBJECT))

    api_keys.revoke(first.prefix)
    assert api_keys.create(api_keys.NewKey("two", ("admin",), tls_subject=SUBJECT))
