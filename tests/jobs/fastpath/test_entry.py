"""The lean entry answers hot operations in the same way as Django's handler."""

import threading
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings
from django.urls import resolve

from jobs import connection_pool, gather
from jobs.api.base import OJSView
from jobs.api.wire.answer import Answer
from jobs.domain.wire.ids import new_id
from jobs.fastpath.application import LATER, Application
from jobs.fastpath.entry import HOT, Entry, Waiting, is_possible
from jobs.fastpath.handler import Handler
from ojs_project.hosts import refusal
from tests.factories import stored_ids

pytestmark = pytest.mark.usefixtures("store")

JOB = {"type": "email.send", "args": [1], "options": {"queue": "mail"}}
FETCH = {"queues": ["none"], "count": 1, "worker_id": "w1"}
OTHER_TIME = {"X-RateLimit-Reset"}


def environ_of(method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
    """Return the environ of a request with an id of its own."""
    raw = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
    given = {"X-Request-Id": "one", **headers}
    made: dict[str, Any] = (
        RequestFactory().generic(method, path, raw, "application/json", headers=given).environ
    )
    made.pop("HTTP_COOKIE", None)
    return made


def answered(application: Any, environ: dict[str, Any]) -> tuple[str, dict[str, str], Any]:
    """Return status, headers and body of an answer."""
    said: list[Any] = []
    body = b"".join(application(environ, lambda *head: said.extend(head)))
    status, headers = said
    shown = {name: value for name, value in headers if name not in OTHER_TIME}
    return status, shown, orjson.loads(body)


ASKED: list[tuple[str, str, Any, dict[str, str]]] = [
    ("GET", "/ojs/v1/jobs/0190a5b0-0000-7000-8000-000000000000", None, {}),
    ("POST", "/ojs/v1/jobs", b"{", {}),
    ("POST", "/ojs/v1/jobs", {"type": "no spaces", "args": []}, {}),
    ("POST", "/ojs/v1/jobs", {"type": "a", "args": [], "priority": []}, {}),
    ("POST", "/ojs/v1/jobs", JOB, {"OJS-Version": "9.0"}),
    ("POST", "/ojs/v1/jobs", JOB, {"Host": "rebound.example"}),
    ("POST", "/ojs/v1/jobs?x=%00", JOB, {}),
    ("POST", "/ojs/v1/jobs", JOB, {"Content-Encoding": "gzip"}),
    ("POST", "/ojs/v1/jobs/batch", {"jobs": []}, {}),
    ("POST", "/ojs/v1/workers/fetch", FETCH, {}),
    ("POST", "/ojs/v1/workers/fetch", FETCH, {"Accept": "application/json"}),
    ("POST", "/ojs/v1/workers/fetch", {"queues": "none"}, {}),
    ("POST", "/ojs/v1/workers/ack", {"job_id": "x"}, {}),
    ("POST", "/ojs/v1/workers/ack", {"job_id": "0190a5b0-0000-7000-8000-000000000000"}, {}),
    ("POST", "/ojs/v1/workers/ack/batch", {"acks": []}, {}),
    ("POST", "/ojs/v1/workers/nack", {"job_id": "x"}, {}),
    ("POST", "/ojs/v1/workers/nack/batch", {"nacks": []}, {}),
    ("POST", "/ojs/v1/workers/heartbeat", {"worker_id": ""}, {}),
]


@pytest.mark.parametrize(("method", "path", "body", "headers"), ASKED)
def test_answers_are_those_of_the_handler(
    method: str, path: str, body: Any, headers: dict[str, str]
) -> None:
    expected = answered(Handler(), environ_of(method, path, body, **headers))

    found = answered(Application(Entry(refusal)), environ_of(method, path, body, **headers))

    assert found == expected


def test_a_job_passes_through_all_hot_operations() -> None:
    application = Application(Entry(refusal))
    status, headers, made = answered(application, environ_of("POST", "/ojs/v1/jobs", JOB))
    job_id = made["job"]["id"]
    assert (status, headers["Location"]) == ("201 Created", f"/ojs/v1/jobs/{job_id}")

    wanted = {"queues": ["mail"], "count": 1, "worker_id": "w1"}
    fetched = answered(application, environ_of("POST", "/ojs/v1/workers/fetch", wanted))[2]
    assert [job["id"] for job in fetched["jobs"]] == [job_id]

    done = {"job_id": job_id, "result": {"ok": True}}
    assert answered(application, environ_of("POST", "/ojs/v1/workers/ack", done))[0] == "200 OK"
    again = answered(application, environ_of("POST", "/ojs/v1/workers/ack", done))
    assert (again[0], again[2]["error"]["details"]["current_state"]) == (
        "409 Conflict",
        "completed",
    )
    shown = answered(application, environ_of("GET", f"/ojs/v1/jobs/{job_id}"))[2]
    assert (shown["state"], shown["result"]) == ("completed", {"ok": True})


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "/ojs/v1/jobs", {}),
        ("GET", "/ojs/v1/jobs/no-id", {}),
        ("HEAD", "/ojs/v1/health", {}),
        ("post", "/ojs/v1/jobs", {}),
        ("GET", "/console/", {}),
        ("GET", "/ojs/v1/health", {"HTTP_COOKIE": "sessionid=x"}),
        ("GET", "/ojs/v1/health", {"SCRIPT_NAME": "/below"}),
    ],
)
def test_every_other_request_takes_the_usual_way(
    method: str, path: str, more: dict[str, str]
) -> None:
    environ = environ_of("GET", path) | {"REQUEST_METHOD": method} | more

    assert Entry(refusal).answer(environ) is None


@pytest.mark.parametrize(
    ("method", "path"),
    [(method, path) for method, paths in HOT.items() for path in paths]
    + [("GET", "/ojs/v1/jobs/0190a5b0-0000-7000-8000-000000000000")],
)
def test_hot_operations_are_declared_like_all_others(method: str, path: str) -> None:
    view: Any = resolve(path).func

    assert view.view_class.required(method) is not None


@override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": True})
def test_requests_of_one_thread_share_a_statement_and_get_their_own_answers() -> None:
    application = Application(Entry(refusal))
    (job_id,) = stored_ids(1)
    paths = [f"/ojs/v1/jobs/{one}" for one in (job_id, new_id(), job_id)]
    sent: list[tuple[str, Any]] = []

    for path in paths:
        environ = environ_of("GET", path) | {
            "ojs.send": lambda status, _headers, body: sent.append((status, orjson.loads(body)))
        }
        assert application.is_hot(environ)
        assert application(environ, lambda *_: None) is LATER
    assert sent == []
    gather.start_collected()
    connection_pool.close_idle()

    assert [status for status, _ in sent] == ["200 OK", "404 Not Found", "200 OK"]
    assert [body["id"] for _, body in (sent[0], sent[2])] == [job_id, job_id]
    assert sent[1][1]["error"]["details"]["resource_id"] == paths[1].rpartition("/")[2]


@override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": True})
def test_a_fault_in_a_view_leaves_no_request_without_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> Answer:
        raise ValueError("fault")

    monkeypatch.setattr(OJSView, "complete", fail)
    sent: list[Answer] = []
    (job_id,) = stored_ids(1)

    assert Entry(refusal).answer(environ_of("GET", f"/ojs/v1/jobs/{job_id}"), sent.append)
    gather.start_collected()
    connection_pool.close_idle()

    assert [answer.status_code for answer in sent] == [500]


@override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": True})
def test_a_server_that_cannot_send_later_gets_the_answer_at_once() -> None:
    (job_id,) = stored_ids(1)

    found = Entry(refusal).answer(environ_of("GET", f"/ojs/v1/jobs/{job_id}"))
    connection_pool.close_idle()

    assert isinstance(found, Answer)
    assert found.status_code == 200


@override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": True})
def test_acks_of_one_job_in_one_statement_complete_it_once() -> None:
    application = Application(Entry(refusal))
    stored_ids(1)
    wanted = {"queues": ["default"], "count": 1, "worker_id": "w1"}
    (job,) = answered(application, environ_of("POST", "/ojs/v1/workers/fetch", wanted))[2]["jobs"]
    statuses: list[str] = []

    for _ in range(2):
        environ = environ_of("POST", "/ojs/v1/workers/ack", {"job_id": job["id"]})
        environ["ojs.send"] = lambda status, *_: statuses.append(status)
        application(environ, lambda *_: None)
    gather.start_collected()
    connection_pool.close_idle()

    assert statuses == ["200 OK", "409 Conflict"]


def test_the_answer_waits_for_its_statement_in_no_thread() -> None:
    entry = Entry(refusal)
    (job_id,) = stored_ids(1)
    arrived = threading.Event()

    with override_settings(OJS={**settings.OJS, "GATHER_ENQUEUES": True}):
        found = entry.answer(
            environ_of("GET", f"/ojs/v1/jobs/{job_id}"), lambda _answer: arrived.set()
        )
        assert found is Waiting.FOR_STATEMENT
        assert not arrived.is_set()
        gather.start_collected()
        connection_pool.close_idle()

    assert arrived.is_set()


@pytest.mark.parametrize(
    "changed",
    [
        {"OJS": {**settings.OJS, "LEAN_ENTRY": False}},
        {"DEBUG": True},
        {"MIDDLEWARE": [*settings.MIDDLEWARE, "django.middleware.gzip.GZipMiddleware"]},
        {"SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https")},
        {"ROOT_URLCONF": "tests.jobs.fastpath.prefixed_urls"},
    ],
    ids=["setting", "debug", "middleware", "proxy-header", "prefix"],
)
def test_it_is_off_where_it_would_leave_something_out(changed: dict[str, Any]) -> None:
    assert is_possible()

    with override_settings(**changed):
        assert not is_possible()
