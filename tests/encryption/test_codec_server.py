"""The codec server as a process, its tokens, and the page that uses it. Spec: contract 35."""

import base64
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from encryption import tokens
from encryption.tokens import Decoding, TokenRefused, issue
from jobs.models import Audit
from ojs_tasks.codecs import Encryption, Gzip, Key, KeyRing
from ojs_tasks.codecs.coding import Coding
from tests.conftest import end_all, free_port, http_server, wait_until_answering
from tests.console.conftest import log_in
from tests.factories import JobFactory
from tests.processes import until
from tests.spec import spec

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEY = Key("2026-11", b"n" * 32)
SECRET = "4111 1111 1111 1111"  # noqa: S105 - a card number of tests
REASON = "customer 7 asked"


class Both(NamedTuple):
    """The addresses of a console and of its codec server."""

    console: str
    codec: str


@pytest.fixture(scope="module")
def both(spawn: Callable[..., subprocess.Popen[bytes]]) -> Iterator[Both]:
    """Start a console that knows a codec server, and the codec server, which alone has keys."""
    console, codec = free_port(), free_port()
    found = Both(f"http://127.0.0.1:{console}", f"http://127.0.0.1:{codec}")
    keys = f"{KEY.id}={base64.b64encode(KEY.secret).decode()}"
    processes = [
        spawn(*http_server(console), OJS_CODEC_SERVER_URL=found.codec),
        spawn(
            "manage.py", "codecserver", "--bind", f"127.0.0.1:{codec}", "--origin", found.console,
            OJS_CODEC_SERVER_URL=found.codec, OJS_CODEC_KEYS=keys,
        ),
    ]  # fmt: skip
    wait_until_answering(found.console)
    until(lambda: _answers(found.codec), "an answer of the codec server")
    yield found
    end_all(processes)


def _answers(url: str) -> bool:
    try:
        return httpx.options(f"{url}/codec/decode").status_code == 204
    except httpx.HTTPError:
        return False


@pytest.fixture
def admin(store: None) -> Iterator[User]:
    """Return a superuser."""
    user = User.objects.create(username="root", is_staff=True, is_superuser=True)
    yield user
    User.objects.all().delete()


@pytest.fixture
def ask(both: Both, admin: User, settings: Any) -> Callable[..., httpx.Response]:
    """Return a function that sends a body to the codec server, with a token of the user."""
    settings.OJS_ENCRYPTION = {"CODEC_SERVER_URL": both.codec}

    def send(body: Any, direction: str = "decode", **changes: Any) -> httpx.Response:
        token = changes.get("token") or issue(Decoding(admin.pk, "job-1", REASON))
        headers = {"Authorization": f"Bearer {token}", "Origin": both.console}
        return httpx.post(f"{both.codec}/codec/{direction}", json=body, headers=headers)

    return send


def payload(value: Any) -> dict[str, Any]:
    """Return a value as the codec server takes it."""
    draft = Coding([Gzip(), Encryption(KeyRing.of(KEY))]).draft({"type": "a.b", "args": value})
    (encoded,) = draft["args"]
    metadata = {"encoding": encoded["encoding"], "encryption_key_id": KEY.id, "job_type": "a.b"}
    return {"data": encoded["data"], "metadata": metadata}


@spec("contract 35")
def test_a_decode_is_answered_and_recorded(ask: Callable[..., httpx.Response], both: Both) -> None:
    answer = ask({"payloads": [payload([SECRET]), payload(["b"])]})

    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == both.console
    texts = [base64.b64decode(one["data"]).decode() for one in answer.json()["payloads"]]
    assert texts == [f'["{SECRET}"]', '["b"]']
    entry = Audit.objects.get(action="job.arguments_decoded")
    assert (entry.actor, entry.target, entry.reason) == ("console:root", "job-1", REASON)
    assert entry.data == {"values": 2}


@spec("contract 35")
def test_what_is_encoded_can_be_decoded(ask: Callable[..., httpx.Response]) -> None:
    plain = {"data": base64.b64encode(b'["a"]').decode(), "metadata": {}}

    encoded = ask({"payloads": [plain]}, "encode").json()["payloads"][0]
    again = ask({"payloads": [encoded]}).json()["payloads"][0]

    assert encoded["metadata"] == {"encoding": "binary/encrypted", "encryption_key_id": KEY.id}
    assert again["data"] == plain["data"]


@spec("contract 35")
def test_no_token_no_plaintext(
    ask: Callable[..., httpx.Response], admin: User, both: Both, settings: Any
) -> None:
    body = {"payloads": [payload([SECRET])]}
    plain = User.objects.create(username="plain", is_staff=True)
    of_plain = issue(Decoding(plain.pk, "job-1", REASON))
    settings.OJS_ENCRYPTION = {"CODEC_SERVER_URL": "https://elsewhere.example.org"}
    elsewhere = issue(Decoding(admin.pk, "job-1", REASON))

    assert ask(body, token="nonsense").status_code == 401  # noqa: S106 - no token
    assert ask(body, token=elsewhere).status_code == 401
    assert ask(body, token=of_plain).status_code == 403
    User.objects.filter(pk=admin.pk).update(is_active=False)
    settings.OJS_ENCRYPTION = {"CODEC_SERVER_URL": both.codec}
    assert ask(body).status_code == 403
    assert httpx.get(f"{both.codec}/codec/decode").status_code == 405
    assert not Audit.objects.filter(action="job.arguments_decoded").exists()


def test_a_token_ends(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OJS_ENCRYPTION = {"CODEC_SERVER_URL": "https://codec.example.org", "TOKEN_S": 60}
    token = issue(Decoding(1, "job-1", REASON))

    assert tokens.read(token) == Decoding(1, "job-1", REASON)
    now = tokens.signing.time.time()
    monkeypatch.setattr(tokens.signing.time, "time", lambda: now + 61)
    with pytest.raises(TokenRefused):
        tokens.read(token)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ([], 400, "invalid_request"),
        ({"payloads": []}, 400, "invalid_request"),
        ({"payloads": [{}] * 101}, 400, "invalid_request"),
        ({"payloads": [{"data": 7}]}, 400, "invalid_request"),
        ({"payloads": [{"data": "%", "metadata": {}}]}, 400, "invalid_request"),
        ({"payloads": [{"data": "", "metadata": {"encoding": 7}}]}, 400, "invalid_request"),
        ({"payloads": [{"data": "", "metadata": {"encoding": "a+" * 9}}]}, 400, "invalid_request"),
        ({"payloads": [{"data": "AQ==", "metadata": {"encoding": "a/b"}}]}, 422,
         "codec_key_unknown"),
        ({"payloads": [{"data": "AQ==", "metadata": {"encoding": "gzip/plain"}}]}, 422,
         "codec_failed"),
        ({"payloads": [{"data": "A" * 5_000_000, "metadata": {}}]}, 413, "payload_too_large"),
    ],
)  # fmt: skip
def test_wrong_requests_are_refused(
    ask: Callable[..., httpx.Response], body: Any, status: int, code: str
) -> None:
    answer = ask(body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_pages_of_other_origins_may_not_read(both: Both) -> None:
    answer = httpx.options(f"{both.codec}/codec/decode", headers={"Origin": "https://evil.test"})

    assert "Access-Control-Allow-Origin" not in answer.headers


@spec("contract 35")
def test_an_operator_decodes_in_the_browser(both: Both, admin: User, browser: "Browser") -> None:
    coding = Coding([Gzip(), Encryption(KeyRing.of(KEY))])
    draft = coding.draft({"type": "card.charge", "args": [{"number": SECRET}]})
    job = JobFactory.create(type="card.charge", args=draft["args"], meta=draft["meta"])
    context = browser.new_context()
    log_in(context, both.console, admin)
    page = context.new_page()
    page.goto(both.console + reverse("ojs_console:job", args=[job.id]))
    page.get_by_role("link", name="Decode").click()
    assert SECRET not in page.content()

    page.get_by_role("textbox", name="Reason", exact=True).fill(REASON)
    page.get_by_role("button", name="Decode").click()
    page.get_by_text("Decoded in this browser").wait_for()

    assert SECRET in page.locator("pre").inner_text()
    entry = Audit.objects.get(action="job.arguments_decoded")
    assert (entry.actor, entry.target, entry.reason) == ("console:root", job.id, REASON)
    context.close()


def test_the_page_needs_the_permission(admin: User) -> None:
    operator = User.objects.create(username="operator", is_staff=True)
    operator.user_permissions.add(Permission.objects.get(codename="view_job"))
    job = JobFactory.create()
    client = Client()
    client.force_login(operator)

    assert client.get(reverse("ojs_console:job_decode", args=[job.id])).status_code == 403
