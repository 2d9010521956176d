"""The jobs of one request: each gets the draft that it gets alone. Spec: contract 1.1."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.server_limits import Limits
from jobs.domain.envelope import parse_job
from jobs.domain.errors import OJSError
from jobs.domain.request_parser import MOST_KNOWN, RequestParser
from tests.spec import spec

ID = "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"

ALIKE: list[dict[str, Any]] = [
    {},
    {"priority": 1},
    {"priority": 1.0},
    {"priority": True},
    {"id": ID},
    {"id": "no"},
    {"args": {}},
    {"meta": {"a": "b"}},
    {"meta": {"a b": 1}},
    {"meta": []},
    {"meta": {"a": "line\n"}},
    {"meta": {"a": "x" * 70_000}},
    {"args": ["x" * 1_100_000]},
    {"options": {"queue": "q", "metadata": {"b": 1}}},
    {"options": {"queue": "q", "tags": ["t"], "timeout_ms": 5000}},
    {"timeout": 5, "retry": {"max_attempts": 2}, "unique": {"keys": ["type"]}},
    {"scheduled_at": "+PT5M", "expires_at": "+PT1H"},
    {"rate_limit": {"key": "k", "concurrency": 1}},
    {"type": "a.b@2", "version": 3},
    {"strange": {"kept": 1}},
    {"queue": "NO"},
]


def outcome(parse: Callable[[], JobDraft]) -> object:
    """Return a draft without its new id, or the refusal."""
    try:
        draft = parse()
    except OJSError as problem:
        return type(problem), problem.message, problem.details
    return replace(draft, id=ID if draft.id_given else "")


@pytest.mark.parametrize("limits", [Limits(), Limits(takes_newlines=False, takes_unknown=False)])
@spec("contract 1.1")
def test_a_request_gives_each_job_the_draft_that_it_gets_alone(limits: Limits) -> None:
    parser = RequestParser(limits)
    jobs = [{"type": "a.b", "args": [n], **members} for members in ALIKE for n in (1, 2)]

    for job in [*jobs, *reversed(jobs)]:
        assert outcome(lambda: parser.parse(job)) == outcome(lambda: parse_job(job, limits=limits))  # noqa: B023


def test_drafts_of_a_request_share_nothing_that_changes() -> None:
    parser = RequestParser()
    meta = {"a": 1}
    first, second, third = (
        parser.parse({"type": "a", "args": [], "tags": ["t"], "meta": meta}) for _ in range(3)
    )
    first.tags.append("u")
    second.meta["b"] = 2
    second.extra["c"] = 3

    assert third == replace(first, id=third.id, tags=["t"])
    assert meta == {"a": 1}
    assert parser.parse({"type": "a", "args": [], "tags": ["t"]}).extra == {}


def test_a_request_of_many_kinds_of_jobs_is_parsed_alike() -> None:
    parser = RequestParser()

    for n in [*range(3 * MOST_KNOWN), 0]:
        assert parser.parse({"type": "a", "args": [], "priority": n}).priority == n
