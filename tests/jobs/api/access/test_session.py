"""Staff sessions on the API. Spec: contract 24.5, 31."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.api.wire.media import OJS_TYPE

JOB = {"type": "mail.send", "args": []}
JOBS, QUEUES = "/ojs/v1/jobs", "/ojs/v1/queues"
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def log_in(with_keys: None) -> Iterator[Callable[..., Client]]:
    """Return a function that logs in a new user; its client enforces CSRF checks."""

    def make(*permissions: str, **facts: Any) -> Client:
        user = User.objects.create_user("ada", **{"is_staff": True, **facts})
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client = Client(enforce_csrf_checks=True)
        client.force_login(user)
        return client

    yield make
    User.objects.all().delete()


def _push(client: Client, kind: str = OJS_TYPE, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(JOBS, JOB, content_type=kind, headers=named)


def test_session_of_a_superuser_may_read_and_enqueue(log_in: Callable[..., Client]) -> None:
    client = log_in(is_superuser=True)

    assert client.get(QUEUES).status_code == 200
    assert _push(client, **OWN_PAGE).status_code == 201


@pytest.mark.parametrize(
    ("permission", "method", "path", "status"),
    [
        ("view_job", "get", QUEUES, 200),
        ("view_job", "post", f"{QUEUES}/mail/pause", 403),
        ("change_job", "post", f"{QUEUES}/mail/pause", 403),
        ("change_queue", "post", f"{QUEUES}/mail/pause", 200),
        ("change_job", "get", QUEUES, 403),
        ("add_job", "get", QUEUES, 403),
        ("view_looptick", "get", "/metrics", 200),
        ("view_job", "get", "/metrics", 403),
        ("change_worker", "post", "/ojs/v1/admin/workers/w1/quiet", 404),
        ("change_job", "post", "/ojs/v1/admin/workers/w1/quiet", 403),
        ("delete_job", "post", "/ojs/v1/admin/reset", 403),
        ("change_job", "post", "/ojs/v1/admin/reset", 403),
    ],
)
def test_session_may_what_the_permissions_of_its_user_say(
    log_in: Callable[..., Client], permission: str, method: str, path: str, status: int
) -> None:
    client = log_in(permission)

    answer = client.generic(method.upper(), path, headers=OWN_PAGE, CONTENT_TYPE=OJS_TYPE)

    assert answer.status_code == status


@pytest.mark.parametrize("facts", [{"is_staff": False}, {"is_staff": False, "is_superuser": True}])
def test_session_of_others_than_staff_is_refused(
    log_in: Callable[..., Client], facts: dict[str, bool]
) -> None:
    client = log_in("view_job", **facts)

    assert client.get(QUEUES).status_code == 403


def test_session_of_a_user_who_was_locked_counts_as_none(log_in: Callable[..., Client]) -> None:
    client = log_in(is_superuser=True)
    User.objects.update(is_active=False)

    assert client.get(QUEUES).status_code == 401


def test_session_that_is_unknown_counts_as_none(with_keys: None) -> None:
    client = Client()
    client.cookies["sessionid"] = "x" * 32

    assert client.get(QUEUES).status_code == 401


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        (OJS_TYPE, {}),
        (OJS_TYPE, {"Sec_Fetch_Site": "cross-site", "Origin": "http://testserver"}),
        (OJS_TYPE, {"Sec_Fetch_Site": "same-site"}),
        (OJS_TYPE, {"Origin": "https://evil.example"}),
        (OJS_TYPE, {"Origin": "null"}),
        ("text/plain", OWN_PAGE),
        ("application/x-www-form-urlencoded", OWN_PAGE),
        ("multipart/form-data; boundary=x", OWN_PAGE),
    ],
)
def test_session_changes_nothing_for_pages_of_others(
    log_in: Callable[..., Client], kind: str, headers: dict[str, str]
) -> None:
    client = log_in(is_superuser=True)
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    answer = client.generic("POST", JOBS, b"{}", content_type=kind, headers=named)

    assert answer.status_code == 403
    assert answer.json()["error"]["details"] == {"reason": "csrf_failed"}


@pytest.mark.parametrize(
    "headers", [OWN_PAGE, {"Origin": "http://testserver"}, {"Origin": "https://testserver"}]
)
def test_session_changes_things_for_own_pages(
    log_in: Callable[..., Client], headers: dict[str, str]
) -> None:
    assert _push(log_in(is_superuser=True), **headers).status_code == 201


def test_session_changes_things_with_the_csrf_token(log_in: Callable[..., Client]) -> None:
    client = log_in(is_superuser=True)
    client.cookies["csrftoken"] = "t" * 32

    assert _push(client, X_CSRFToken="t" * 32).status_code == 201
    assert _push(client, X_CSRFToken="u" * 32).status_code == 403
    pausing = client.generic(
        "POST", f"{QUEUES}/mail/pause", headers={"X-CSRFToken": "t" * 32}
    )  # without a content type, as it has no body
    assert pausing.status_code == 200


def test_key_counts_before_the_session(
    log_in: Callable[..., Client], new_key: Callable[..., dict[str, str]]
) -> None:
    client = log_in(is_superuser=True)

    assert client.get(QUEUES, headers=new_key("producer")).status_code == 403
    assert client.get(QUEUES, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert _push(client, **new_key("producer")).status_code == 201  # exempt from CSRF


def test_key_costs_no_look_at_the_session(
    log_in: Callable[..., Client], new_key: Callable[..., dict[str, str]]
) -> None:
    client, key = log_in(is_superuser=True), new_key("admin")
    client.get("/ojs/v1/openapi.json", headers=key)

    with CaptureQueriesContext(connection) as captured:
        client.get("/ojs/v1/openapi.json", headers=key)

    assert captured.captured_queries == []


def test_docs_page_opens_for_who_is_logged_in(log_in: Callable[..., Client]) -> None:
    assert log_in("view_job").get("/ojs/v1/docs", HTTP_ACCEPT="text/html").status_code == 200
