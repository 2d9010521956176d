"""Durations, times, priorities, versions and methods: a shared parser for each, on every route.

For any value, a route either accepts it or names the member in its refusal. It never fails. Spec:
contract 3.1, 4.3, 5.2, 24.1, D9, D25.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.domain.states import State
from tests.effort import examples
from tests.factories import JobFactory
from tests.jobs.api.routes import views

OJS = "application/openjobspec+json"
JOB = {"type": "tests.noop", "args": []}
fuzzed = settings(
    max_examples=examples(15),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


ODD: tuple[st.SearchStrategy[Any], ...] = (
    st.text(max_size=30), st.integers(-(2**63), 2**63), st.floats(), st.booleans(), st.just([]),
    st.just({}),
)  # fmt: skip


class Place(NamedTuple):
    """A member of a request: how to send a value there, and its name in a refusal."""

    name: str
    method: str
    path: str
    field: str
    body: Callable[[Any], Any] | None = None  # None: the value goes into the path, at {}
    iso_only: bool = False


def _send(api: Client, place: Place, value: Any) -> Any:
    path = place.path
    if "{}" in path:
        path = path.format(quote(str(value), safe=""))
    body = b"" if place.body is None else orjson.dumps(place.body(value))
    return api.generic(place.method, f"/ojs/v1/{path}", body, OJS)


def _check_refusal(answer: Any, place: Place) -> None:
    """Check for a 400 or 422 that names the member, or for an unstorable body."""
    assert answer.status_code in (400, 422), (place.name, answer.content)
    error = answer.json()["error"]
    if error["code"] == "invalid_payload":
        return
    details = error["details"]
    named = [str(one.get("field", one.get("path"))) for one in details.get("errors", ())]
    named += [one["path"] for one in details.get("validation_errors", ()) if isinstance(one, dict)]
    named.append(str(details.get("field")))
    assert any(one == place.field or one.endswith(f".{place.field}") for one in named), details


def _job(**members: Any) -> dict[str, Any]:
    return {**JOB, **members}


@pytest.fixture(autouse=True)
def known_queue(api: Client) -> None:
    """Create the queue that the requests name."""
    api.generic("POST", "/ojs/v1/queues/q/pause", b"", OJS)


# --- durations ------------------------------------------------------------------------------------

RULES = [{"version": "1.0", "weight": 1}, {"version": "2.0", "weight": 1}]
GUARD = {"error_rate_threshold": 0.5}
DURATIONS = [
    Place("retry", "POST", "jobs", "retry.initial_interval",
          lambda v: _job(retry={"initial_interval": v}), iso_only=True),
    Place("retry cap", "POST", "jobs", "retry.max_interval",
          lambda v: _job(retry={"max_interval": v}), iso_only=True),
    Place("default retry", "PUT", "queues/q/config", "retry.initial_interval",
          lambda v: {"default_retry": {"initial_interval": v}}, iso_only=True),
    Place("unique period", "POST", "jobs", "unique.period",
          lambda v: _job(unique={"period": v, "on_conflict": "ignore"})),
    Place("unique within", "POST", "jobs", "unique.within",
          lambda v: _job(unique={"within": v, "on_conflict": "ignore"})),
    Place("rate limit of a job", "POST", "jobs", "rate_limit.period",
          lambda v: _job(rate_limit={"key": "k", "limit": 1, "period": v})),
    Place("rate limit of a queue", "PUT", "admin/queues/q/rate-limit", "rate_limit.period",
          lambda v: {"limit": 3, "period": v}),
    Place("retention", "PUT", "admin/queues/q/config", "retention.completed",
          lambda v: {"retention": {"completed": v}}),
    Place("purge", "DELETE", "admin/queues/q/jobs", "older_than",
          lambda v: {"older_than": v, "confirm": True}),
    Place("bulk", "POST", "jobs/bulk/cancel", "older_than",
          lambda v: {"filter": {"older_than": v}}),
    Place("dead letter", "POST", "dead-letter/purge?older_than={}", "older_than"),
    Place("maintenance", "POST", "admin/maintenance", "duration",
          lambda v: {"enabled": True, "duration": v}),
    Place("replay rule", "PUT", "admin/dead-letter/rules", "delay",
          lambda v: {"rules": [{"name": "r", "delay": v}]}),
    Place("since", "GET", "admin/jobs?since={}", "since"),
    Place("events since", "GET", "events?since={}", "since"),
    Place("pool", "PUT", "admin/pools/p", "starvation_prevention.rotation_interval",
          lambda v: {"queues": ["a"], "starvation_prevention": {"rotation_interval": v}}),
    Place("stats window", "GET", "admin/scheduling/stats?window={}", "window"),
    Place("tenant rate", "PUT", "admin/tenants/blue", "limits.max_enqueue_rate.period",
          lambda v: {"limits": {"max_enqueue_rate": {"limit": 1, "period": v}}}),
    Place("evaluation window", "PUT", "admin/routing/a.b", "auto_rollback.evaluation_window",
          lambda v: {"rules": RULES, "auto_rollback": {**GUARD, "evaluation_window": v}}),
    Place("fallback", "PUT", "admin/routing/a.b", "fallback_after",
          lambda v: {"rules": RULES, "on_no_worker": "fallback", "fallback_after": v}),
]  # fmt: skip
by_name = pytest.mark.parametrize("place", DURATIONS, ids=lambda one: one.name)
WRONG_DURATIONS = [
    "5",
    "P",
    "PT",
    "PT5",
    "5 m",
    "-5m",
    "-PT5M",
    "5M",
    "1.5h",
    "PT5M ",
    "soon",
    "\u0665m",
]


@by_name
def test_d25_both_forms_of_a_duration_are_taken_where_one_is(api: Client, place: Place) -> None:
    assert _send(api, place, "PT5M").status_code in (200, 201)
    short = _send(api, place, "5m")
    if place.iso_only:
        _check_refusal(short, place)
    else:
        assert short.status_code in (200, 201), short.content


@by_name
def test_both_forms_of_a_duration_mean_the_same(api: Client, place: Place) -> None:
    if place.iso_only or place.method not in ("PUT", "POST"):
        return
    iso, short = _send(api, place, "PT300S"), _send(api, place, "300s")

    assert "300s" not in short.content.decode()
    assert ("PT5M" in iso.content.decode()) == ("PT5M" in short.content.decode())


@by_name
@pytest.mark.parametrize("wrong", WRONG_DURATIONS)
def test_a_wrong_duration_is_refused_with_its_name(api: Client, place: Place, wrong: str) -> None:
    _check_refusal(_send(api, place, wrong), place)


@by_name
@fuzzed
@given(value=st.one_of(
    st.from_regex(r"P?(\d{1,12}[YMWDHS]|T|\d{1,3}[.,]\d+S)*", fullmatch=True),
    st.from_regex(r"-?\d{0,12}(ms|[smhdwy])?", fullmatch=True),
    *ODD,
))  # fmt: skip
def test_any_duration_is_taken_or_named(api: Client, place: Place, value: Any) -> None:
    answer = _send(api, place, value)

    if answer.status_code not in (200, 201):
        _check_refusal(answer, place)


# --- times ----------------------------------------------------------------------------------------

TIMES = [
    Place("scheduled_at", "POST", "jobs", "scheduled_at", lambda v: _job(scheduled_at=v)),
    Place("delay_until", "POST", "jobs", "delay_until", lambda v: _job(options={"delay_until": v})),
    Place("expires_at", "POST", "jobs", "expires_at", lambda v: _job(expires_at=v)),
    Place("batch", "POST", "jobs/batch", "scheduled_at",
          lambda v: {"jobs": [_job(scheduled_at=v)]}),
    Place("bulk filter", "POST", "jobs/bulk/cancel", "enqueued_after",
          lambda v: {"filter": {"enqueued_after": v}}),
    Place("workflow", "POST", "workflows", "scheduled_at",
          lambda v: {"type": "chain", "steps": [_job(scheduled_at=v)]}),
    Place("started_at", "POST", "workers/heartbeat", "started_at",
          lambda v: {"worker_id": "w", "started_at": v}),
    Place("admin jobs", "GET", "admin/jobs?until={}", "until"),
    Place("dead letter", "GET", "dead-letter?since={}", "since"),
    Place("history", "GET", "admin/stats/history?period=1d&since={}", "since"),
    Place("events", "GET", "events?since={}", "since"),
]  # fmt: skip
by_time = pytest.mark.parametrize("place", TIMES, ids=lambda one: one.name)
WRONG_TIMES = [
    "2036-05-04T09:00:00+00:99", "2036-05-04T09:00:00+24:00", "2036-05-04T09:00:00-00:60",
    "2036-05-04T09:00:00", "2036-05-04", "2036-02-30T09:00:00Z", "2036-05-04T24:00:00Z",
    "2036-05-04T09:00:60Z", "2036-05-04T09:00:00+0200", "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59", "tomorrow",
]  # fmt: skip


@by_time
@pytest.mark.parametrize("wrong", WRONG_TIMES)
def test_a_wrong_time_is_refused_with_its_name(api: Client, place: Place, wrong: str) -> None:
    _check_refusal(_send(api, place, wrong), place)


@by_time
@fuzzed
@given(value=st.one_of(
    st.from_regex(
        r"20\d\d-[01]\d-[0-3]\d[Tt ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,12})?([Zz]|[+-]\d\d:\d\d)?",
        fullmatch=True,
    ),
    *ODD,
))  # fmt: skip
def test_any_time_is_taken_or_named(api: Client, place: Place, value: Any) -> None:
    answer = _send(api, place, value)

    if answer.status_code not in (200, 201):
        _check_refusal(answer, place)


# --- priorities -----------------------------------------------------------------------------------

PRIORITIES = [
    Place("push", "POST", "jobs", "priority", lambda v: _job(priority=v)),
    Place("options", "POST", "jobs", "priority", lambda v: _job(options={"priority": v})),
    Place("batch", "POST", "jobs/batch", "priority", lambda v: {"jobs": [_job(priority=v)]}),
    Place("bulk enqueue", "POST", "jobs/bulk", "priority",
          lambda v: {"jobs": [_job(priority=v)], "atomicity": "atomic"}),
    Place("cron", "POST", "cron", "priority",
          lambda v: {"name": "c", "expression": "0 3 * * *", **JOB, "options": {"priority": v}}),
    Place("workflow", "POST", "workflows", "priority",
          lambda v: {"type": "chain", "steps": [_job(priority=v)]}),
    Place("bulk filter", "POST", "jobs/bulk/cancel", "priority",
          lambda v: {"filter": {"priority": v}}),
    Place("admin bulk filter", "POST", "admin/jobs/bulk/cancel", "priority",
          lambda v: {"filter": {"priority": v}, "confirm": True}),
    Place("change", "PATCH", "jobs/{job}", "priority", lambda v: {"priority": v}),
    Place("admin change", "PATCH", "admin/jobs/{job}", "priority", lambda v: {"priority": v}),
    Place("override", "POST", "admin/jobs/{dead}/retry", "priority",
          lambda v: {"override": {"priority": v}}),
]  # fmt: skip
by_rank = pytest.mark.parametrize("place", PRIORITIES, ids=lambda one: one.name)


def _on_a_job(place: Place) -> Place:
    """Put the id of a new job into a path that needs it."""
    if "{job}" in place.path:
        job_id = str(JobFactory.create().id)
        return place._replace(path=place.path.replace("{job}", job_id))
    if "{dead}" in place.path:
        job_id = str(JobFactory.create(state=State.DISCARDED).id)
        return place._replace(path=place.path.replace("{dead}", job_id))
    return place


@by_rank
@pytest.mark.parametrize("named", ["HIGH", "NORMAL", "LOW", "high", "Low", 7, 7.0])
def test_d9_a_priority_may_be_named_wherever_one_is_taken(
    api: Client, place: Place, named: Any
) -> None:
    answer = _send(api, _on_a_job(place), named)

    assert answer.status_code in (200, 201), answer.content


@by_rank
@pytest.mark.parametrize("wrong", ["URGENT", "10", "", 101, -101, 1.5, True, [], {}])
def test_a_wrong_priority_is_refused_with_its_name(api: Client, place: Place, wrong: Any) -> None:
    answer = _send(api, _on_a_job(place), wrong)

    if place.name == "bulk enqueue":  # each job has its own answer
        assert answer.status_code in (207, 422)
    else:
        _check_refusal(answer, place)


# --- versions -------------------------------------------------------------------------------------

SCHEMA = {"schema": {"type": "array"}}
VERSIONS = [
    Place("push", "POST", "jobs", "version", lambda v: _job(version=v)),
    Place("options", "POST", "jobs", "options.version", lambda v: _job(options={"version": v})),
    Place("type", "POST", "jobs", "type", lambda v: _job(type=f"tests.noop@{v}")),
    Place("rules", "PUT", "admin/routing/a.b", "rules[0].version",
          lambda v: {"rules": [{"version": v, "weight": 1}]}),
    Place("schema path", "PUT", "admin/schemas/a.b/{}", "version", lambda _: SCHEMA),
    Place("schema", "POST", "schemas", "version",
          lambda v: {"job_type": "a.c", "version": v, **SCHEMA}),
    Place("handlers", "POST", "workers/heartbeat", "handlers[0].versions",
          lambda v: {"worker_id": "w", "handlers": [{"type": "a.b", "versions": v}]}),
]  # fmt: skip
by_version = pytest.mark.parametrize("place", VERSIONS, ids=lambda one: one.name)
WRONG_VERSIONS = [
    "abc",
    "v1",
    "1.x",
    "1.0.0-rc",
    "-1",
    "+1",
    "01.0",
    "1.2.3.4",
    "1e5",
    "1_0",
    "\u0661.0",
]


@by_version
@pytest.mark.parametrize("wrong", WRONG_VERSIONS)
def test_a_wrong_version_is_refused_with_its_name(api: Client, place: Place, wrong: str) -> None:
    _check_refusal(_send(api, place, wrong), place)


@pytest.mark.parametrize("word", ["versions", "validate", "diff"])
def test_a_schema_cannot_be_put_where_no_version_stands(api: Client, word: str) -> None:
    answer = api.generic("PUT", f"/ojs/v1/admin/schemas/a.b/{word}", orjson.dumps(SCHEMA), OJS)

    assert answer.status_code == 405
    assert "PUT" not in answer.headers["Allow"]


@by_version
@fuzzed
@given(value=st.one_of(
    st.from_regex(r"[v+-]?\d{0,12}(\.\d{0,12}){0,3}(-\w{1,4})?", fullmatch=True),
    st.text(max_size=12),
))  # fmt: skip
def test_any_version_is_taken_or_named(api: Client, place: Place, value: str) -> None:
    answer = _send(api, place, value)

    if place.name == "schema path" and ("/" in value or not value.strip(".")):
        assert answer.status_code in (404, 405, 422)  # the router finds no version in this path
    elif answer.status_code not in (200, 201, 409):
        _check_refusal(answer, place)


# --- methods and schemas --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "method"),
    [
        (path, name)
        for path, view in views()
        for name in sorted(set(view().allowed_methods) - {"OPTIONS", "HEAD"})
    ],
)
def test_methods_are_case_sensitive(api: Client, path: str, method: str) -> None:
    filled = path.replace("{job_id}", "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55").replace("{", "")

    for spelled in (method.lower(), method.capitalize()):
        answer = api.generic(spelled, f"/{filled.replace('}', '')}", b"{}", OJS)
        assert answer.status_code in (404, 405)
        if answer.status_code == 405:
            assert method in answer.headers["Allow"]


@pytest.mark.parametrize("name", ["type", "job_type"])
def test_a_schema_needs_no_uri(api: Client, name: str) -> None:
    body = {name: "a.b", "version": "1.0", **SCHEMA}

    answer = api.generic("POST", "/ojs/v1/schemas", orjson.dumps(body), OJS)

    assert answer.status_code == 201
    assert answer.json()["schema"]["job_type"] == "a.b"
