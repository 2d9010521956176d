"""Jobs that a version ran before its rollback, and durations of its runs.

Spec: job-versioning 10.2.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs.domain.record.latency import percentile
from jobs.models import Event, Job
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.routing import ack, act, fail, get, looked, put, redrawn, takes
from tests.versioning.wire import TYPE, push
from versioning.models import Run, Touched
from versioning.services import canaries, touched
from versioning.services.outcomes import KEPT_MS

pytestmark = pytest.mark.usefixtures("store")
SOME = 4  # jobs of a version: half of them fail
ALL_NEW = [{"version": "2.0", "weight": 1}, {"version": "1.0", "weight": 0}]


def rolled_back(number: int) -> list[str]:
    """Let a new version fail half of its jobs for good, and roll it back; return their ids."""
    put(ALL_NEW)
    sent = [push(options={"retry": {"max_attempts": 1}})["id"] for _ in range(number)]
    jobs = takes("2.0")
    fail(jobs[: number // 2])
    ack(jobs[number // 2 :])
    looked(number)
    act("rollback")
    assert {one["id"] for one in jobs} == set(sent)
    return [one["id"] for one in jobs]


def listed(query: str = "") -> list[dict[str, Any]]:
    """Return the touched jobs that the API lists."""
    found: list[dict[str, Any]] = answer(send("GET", f"admin/versions/{TYPE}/touched{query}"))[
        "items"
    ]
    return found


def ids(found: Sequence[dict[str, Any]]) -> set[str]:
    return {one["id"] for one in found}


@spec("contract 22.4")
def test_the_jobs_of_a_version_that_was_taken_back_are_listed() -> None:
    assert "touched" not in get()
    jobs = rolled_back(SOME)

    shown = get()["touched"]

    assert ids(shown) == set(jobs)
    assert [one["ended_at"] for one in shown] == sorted(
        (one["ended_at"] for one in shown), reverse=True
    )
    ended = {one["id"]: (one["attempt_ended"], one["state"]) for one in shown}
    assert [ended[job] for job in jobs] == [("failed", "discarded")] * 2 + [
        ("acked", "completed")
    ] * 2
    assert ids(listed()) == set(jobs)
    assert ids(listed("?ended=failed")) == set(jobs[:2])
    assert ids(listed("?version=2.0&ended=acked")) == set(jobs[2:])
    assert listed("?version=1.0") == []


def test_pages_of_the_list_follow_one_another() -> None:
    jobs = rolled_back(SOME)

    pages = [
        answer(send("GET", f"admin/versions/{TYPE}/touched?per_page=3&page={n}")) for n in (1, 2)
    ]

    assert [len(one["items"]) for one in pages] == [3, 1]
    assert ids(pages[0]["items"] + pages[1]["items"]) == set(jobs)
    assert pages[0]["pagination"]["total"] == SOME


def test_a_job_that_is_retried_and_done_by_another_version_stays_listed_once() -> None:
    put(ALL_NEW)
    job = push(options={"retry": {"max_attempts": 3, "initial_interval": "PT1S"}})["id"]
    fail(takes("2.0"))
    looked(1)
    act("rollback")
    redrawn()

    (one,) = listed()

    assert (one["id"], one["attempt_ended"], one["state"]) == (job, "failed", "retryable")


def test_the_stable_version_and_rules_of_one_version_note_nothing() -> None:
    put([{"version": "2.0", "weight": 0}, {"version": "1.0", "weight": 1}])
    push()
    ack(takes("1.0"))
    looked(1)
    put([{"version": "1.0", "weight": 1}], status=200)
    push()
    ack(takes("1.0"))
    looked(1)

    assert not Touched.objects.exists()


def test_what_ends_after_the_rollback_is_noted_too() -> None:
    put(ALL_NEW)
    push()
    push()
    jobs = takes("2.0")
    ack(jobs[:1])
    looked(1)
    act("rollback")
    ack(jobs[1:])
    looked(2)

    assert ids(listed()) == {one["id"] for one in jobs}


def test_a_job_that_is_gone_is_listed_without_what_it_was() -> None:
    jobs = rolled_back(SOME)
    Job.objects.filter(id=jobs[0]).delete()

    gone = next(one for one in listed() if one["id"] == jobs[0])

    assert (gone["state"], gone["queue"], gone["version"]) == (None, None, None)


def test_no_more_than_the_last_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touched, "KEPT", 1)
    rolled_back(SOME)
    canaries.watch()

    assert sorted(Touched.objects.values_list("has_failed", flat=True)) == [False, True]
    Touched.objects.update(at=F("at") - timedelta(milliseconds=touched.KEPT_MS + 1))
    canaries.watch()
    assert not Touched.objects.exists()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?version=x", "version"),
        ("?version=", "version"),
        ("?ended=x", "ended"),
        ("?page=x", "page"),
    ],
)
def test_a_wrong_query_is_named(query: str, field: str) -> None:
    found = answer(send("GET", f"admin/versions/{TYPE}/touched{query}"), 400)

    assert found["error"]["details"]["field"] == field


def test_a_type_without_rollbacks_has_an_empty_list() -> None:
    assert listed() == []
    answer(send("GET", "admin/versions/Not-A-Type/touched"), 404)


def test_run_times_of_versions_are_compared() -> None:
    put([{"version": "2.0", "weight": 50}, {"version": "1.0", "weight": 50}])
    for _ in range(20):
        push()
    new, old = takes("2.0"), takes("1.0")
    ack([*new, *old])
    for jobs, ms in ((new, 400), (old, 100)):
        Event.objects.filter(kind=4, job_id__in=[one["id"] for one in jobs]).update(took_ms=ms)
    looked(20)

    shown = {one["version"]: one for one in get()["outcomes"]}

    assert shown["2.0"]["p50_ms"] == shown["2.0"]["p95_ms"] == pytest.approx(400, rel=0.1)
    assert shown["1.0"]["p50_ms"] == pytest.approx(100, rel=0.1)
    assert sum(Run.objects.values_list("jobs", flat=True)) == 20


def test_failed_attempts_have_no_part_in_run_times_and_a_put_forgets_them() -> None:
    put(ALL_NEW)
    push()
    push()
    jobs = takes("2.0")
    fail(jobs[:1])
    looked(1)
    assert get()["outcomes"][0]["p50_ms"] is None
    ack(jobs[1:])
    looked(2)
    assert get()["outcomes"][0]["p95_ms"] > 0

    put(ALL_NEW, status=200)

    assert get()["outcomes"][0]["p50_ms"] is None
    assert not Run.objects.exists()


def test_old_run_times_are_forgotten() -> None:
    put(ALL_NEW)
    push()
    ack(takes("2.0"))
    looked(1)
    Run.objects.update(at=F("at") - timedelta(milliseconds=KEPT_MS + 60_000))

    canaries.watch()

    assert not Run.objects.exists()


def test_a_bucket_is_less_than_a_tenth_away() -> None:
    assert percentile({33: 1}, 0.5) == pytest.approx(400, rel=0.1)
