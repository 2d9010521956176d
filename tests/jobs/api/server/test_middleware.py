"""Middleware chains: order, names, outcomes, settings. Spec: contract 12.1, 12.2, 24.7."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.checks import check_settings
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import RateLimited, ValidationFailed
from jobs.domain.states import State
from jobs.middleware import Chain, Link, enqueue_chain, execution_chain
from jobs.models import Job
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.dead_letter import retry
from tests.factories import DraftFactory, EnvelopeFactory, JobFactory
from tests.spec import spec

Following = Callable[[JobDraft], JobDraft | None]
seen: list[str] = []


def outer(draft: JobDraft, following: Following) -> JobDraft | None:
    """Record each draft that passes."""
    seen.append(f"outer {draft.meta}")
    return following(replace(draft, meta={**draft.meta, "by": "outer"}))


def inner(draft: JobDraft, following: Following) -> JobDraft | None:
    """Send the job to another queue."""
    seen.append(f"inner {draft.meta}")
    return following(replace(draft, queue="elsewhere", priority=9))


def dropping(draft: JobDraft, following: Following) -> JobDraft | None:
    return None if draft.args == ["drop"] else following(draft)


def refusing(draft: JobDraft, following: Following) -> JobDraft | None:
    if draft.args == ["refuse"]:
        raise RateLimited("not today", headers={"Retry-After": "5"})
    return following(draft)


def breaking(draft: JobDraft, following: Following) -> JobDraft | None:
    if draft.args == ["break"]:
        raise ZeroDivisionError
    return following(draft)


def renaming(draft: JobDraft, following: Following) -> JobDraft | None:
    if draft.args == ["rename"]:
        draft.id = "01900000-0000-7000-8000-000000000000"
    return following(draft)


def forgetting(draft: JobDraft, following: Following) -> Any:
    following(draft)
    return "nothing of use" if draft.args == ["forget"] else draft


no_middleware = 5


@pytest.fixture
def configured(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that configures the enqueue chain by names of this module."""
    monkeypatch.setitem(sys.modules, "middleware_of_tests", sys.modules[__name__])
    seen.clear()

    def configure(*entries: str, setting: str = "ENQUEUE_MIDDLEWARE") -> None:
        paths = [
            f"{name}={path}" if name else path
            for name, _, path in (
                entry.replace("~", "middleware_of_tests.").rpartition("=") for entry in entries
            )
        ]
        settings.OJS = {**settings.OJS, setting: paths}

    return configure


def names(chain: Chain) -> list[str]:
    return [link.name for link in chain]


# --- 12.1: outcomes -------------------------------------------------------------------------------


@pytest.mark.usefixtures("store")
@spec("contract 12.1")
def test_each_sees_what_those_outside_changed_and_the_row_sees_all(
    configured: Callable[..., None],
) -> None:
    configured("~outer", "~inner")

    (job,) = enqueue([DraftFactory.create(meta={"a": 1})])

    assert seen == ["outer {'a': 1}", "inner {'a': 1, 'by': 'outer'}"]
    assert job is not None
    assert (job.queue, job.priority) == ("elsewhere", 9)
    assert Job.objects.get().meta == {"a": 1, "by": "outer"}


@pytest.mark.parametrize(
    ("word", "status", "code"),
    [("refuse", 429, "rate_limited"), ("break", 500, "backend_error"),
     ("rename", 500, "backend_error"), ("forget", 500, "backend_error")],
)  # fmt: skip
@pytest.mark.parametrize("path", ["jobs", "jobs/batch"])
@spec("contract 12.1")
def test_what_refuses_or_fails_stores_nothing(
    api: Client, configured: Callable[..., None], path: str, word: str, status: int, code: str
) -> None:
    configured("~refusing", "~breaking", "~renaming", "~forgetting")
    jobs = [EnvelopeFactory.create(), EnvelopeFactory.create(args=[word])]
    body = jobs[1] if path == "jobs" else {"jobs": jobs}

    answer = api.post(f"/ojs/v1/{path}", orjson.dumps(body), content_type=OJS_TYPE)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not Job.objects.exists()
    if path != "jobs" and status == 429:
        assert answer.json()["error"]["details"]["index"] == 1


@spec("contract 12.1")
def test_what_is_dropped_is_told(api: Client, configured: Callable[..., None]) -> None:
    configured("~dropping")
    jobs = [EnvelopeFactory.create(args=args) for args in (["drop"], [], ["drop"])]

    one = api.post("/ojs/v1/jobs", orjson.dumps(jobs[0]), content_type=OJS_TYPE)
    many, bulk = (
        api.post(f"/ojs/v1/jobs/{path}", orjson.dumps({"jobs": jobs}), content_type=OJS_TYPE)
        for path in ("batch", "bulk")
    )

    assert (one.status_code, one.json()) == (200, {"job": None, "dropped": True})
    assert (many.status_code, many.json()["dropped"], many.json()["count"]) == (201, [0, 2], 1)
    assert bulk.status_code == 200
    assert [item["status"] for item in bulk.json()["items"]] == ["dropped", "created", "dropped"]


@spec("contract 12.1")
def test_in_a_partial_request_each_job_is_refused_by_itself(
    api: Client, configured: Callable[..., None]
) -> None:
    configured("~refusing")
    jobs = [EnvelopeFactory.create(args=args) for args in ([], ["refuse"])]

    answer = api.post("/ojs/v1/jobs/bulk", orjson.dumps({"jobs": jobs}), content_type=OJS_TYPE)

    assert answer.status_code == 207
    assert [item["status"] for item in answer.json()["items"]] == ["created", "failed"]


@pytest.mark.usefixtures("store")
@spec("contract 12.1")
def test_a_manual_retry_passes_no_middleware(configured: Callable[..., None]) -> None:
    job = JobFactory.create(state=State.DISCARDED)
    configured("~outer")

    retry(job.id)

    assert seen == []


# --- 24.7 -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("store")
@spec("contract 24.7")
def test_ojs_validate_refuses_a_job_without_arguments() -> None:
    with pytest.raises(ValidationFailed) as caught:
        enqueue([DraftFactory.create(meta={"ojs_validate": True})])

    problem = caught.value
    assert (problem.status, problem.code, problem.type) == (422, *["validation_error"] * 2)
    assert problem.details["field"] == "args"
    assert not Job.objects.exists()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("meta", "args"),
    [({"ojs_validate": True}, [None]), ({"ojs_validate": False}, []), ({"ojs_validate": 1}, []),
     ({"ojs_validate": "true"}, []), ({}, [])],
)  # fmt: skip
@spec("contract 24.7")
def test_ojs_validate_lets_everything_else_pass(meta: dict[str, Any], args: list[Any]) -> None:
    assert enqueue([DraftFactory.create(meta=meta, args=args)]) != [None]


@spec("contract 24.5")
def test_the_listing_shows_the_chains_in_order(
    api: Client, configured: Callable[..., None]
) -> None:
    configured("~outer", "second=~inner")
    configured("~outer", setting="EXECUTION_MIDDLEWARE")

    answer = api.get("/ojs/v1/middleware").json()

    assert [step["name"] for step in answer["enqueue"]][:13] == [
        "request-id", "auth", "envelope-validation", "middleware_of_tests.outer", "second",
        "ojs_validate", "federation.extension.Federation.prepare",
        "versioning.extension.Versioning.prepare",
        "tenancy.extension.Tenancy.prepare", "durable.extension.Durable.prepare", "unique",
        "tenancy.extension.Tenancy.admit", "insert",
    ]  # fmt: skip
    assert [step["order"] for step in answer["enqueue"]] == [*range(1, len(answer["enqueue"]) + 1)]
    assert answer["enqueue"][3] == {
        "name": "middleware_of_tests.outer", "phase": "enqueue", "origin": "middleware", "order": 4,
        "description": "Record each draft that passes.",
    }  # fmt: skip
    assert [step["name"] for step in answer["execution"]] == [
        "middleware_of_tests.outer", "handler",
    ]  # fmt: skip


# --- chains ---------------------------------------------------------------------------------------


def nothing(passing: Any, following: Callable[[Any], Any]) -> Any:
    return following(passing)


def chain(*given: str) -> Chain:
    return Chain(Link(name, nothing) for name in given)


@spec("contract 12.1")
def test_chain_operations_work_by_name() -> None:
    found = chain("b")
    found.add("d", nothing)
    found.prepend("a", nothing)
    found.insert_before("d", "c", nothing)
    found.insert_after("d", "e", nothing)
    assert names(found) == ["a", "b", "c", "d", "e"]

    found.remove("c")

    assert names(found) == ["a", "b", "d", "e"]


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        (lambda c: c.add("a", nothing), ValueError),
        (lambda c: c.remove("z"), LookupError),
        (lambda c: c.insert_before("z", "n", nothing), LookupError),
        (lambda c: c.insert_after("z", "n", nothing), LookupError),
        (lambda c: c.prepend("n", None), TypeError),
    ],
)
@spec("contract 12.1")
def test_wrong_operations_change_nothing(
    operation: Callable[[Chain], None], problem: type[Exception]
) -> None:
    found = chain("a", "b")

    with pytest.raises(problem):
        operation(found)

    assert names(found) == ["a", "b"]


@spec("contract 12.1")
def test_a_chain_in_use_is_fixed() -> None:
    found = chain("a")
    found.fix()

    with pytest.raises(RuntimeError):
        found.remove("a")


@pytest.mark.usefixtures("store")
@spec("contract 12.1")
def test_an_app_changes_the_chain_before_the_first_job(
    configured: Callable[..., None],
) -> None:
    configured("first=~outer")
    enqueue_chain().insert_before("ojs_validate", "second", inner)
    enqueue_chain().remove("first")

    enqueue([DraftFactory.create()])

    assert seen == ["inner {}"]
    with pytest.raises(RuntimeError):
        enqueue_chain().prepend("late", inner)


@pytest.mark.parametrize("setting", ["ENQUEUE_MIDDLEWARE", "EXECUTION_MIDDLEWARE"])
@pytest.mark.parametrize(
    "wrong", ["nowhere.at_all", "~nothing_there", "~no_middleware", "", "twice=~outer"]
)
def test_a_wrong_setting_is_found_by_the_checks(
    configured: Callable[..., None], setting: str, wrong: str
) -> None:
    configured("twice=~inner", wrong, setting=setting)

    found = [problem for problem in check_settings() if problem.id == "ojs.E007"]

    assert len(found) == 1
    assert f"OJS['{setting}']" in found[0].msg


def test_an_empty_execution_chain_is_legal() -> None:
    assert names(execution_chain()) == []
