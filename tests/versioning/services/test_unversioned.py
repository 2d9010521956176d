"""Workers that refuse jobs without a version, or take only declared types.

Spec: D-VER-6; job-versioning 8.2.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.models import Event, LaneKey, Later, Ready
from jobs.services.dispatch.fetch import planned
from jobs.services.upkeep.reset import clear_caches
from ojs_tasks import job, registry
from ojs_tasks.testing import run_available
from tests.alerts import alerts_of
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.routing import fail, join, put, redrawn
from tests.versioning.wire import TYPE, beat, fetched, push, versions_of
from versioning.domain.declaration import declared
from versioning.models import Apart, Held, Route
from versioning.services import held

pytestmark = pytest.mark.usefixtures("store")

OTHER = "mail.send"


@pytest.fixture(autouse=True)
def together(store: None) -> Iterator[None]:
    join()
    yield
    join()


def of(versions: str = "*", /, *, accepts: bool = False, name: str = TYPE) -> list[dict[str, Any]]:
    """Return the declaration of a worker that accepts or refuses jobs without a version."""
    return [{"type": name, "versions": versions, "accept_unversioned": accepts}]


def types_of(jobs: list[dict[str, Any]]) -> list[str]:
    return sorted(one["type"] for one in jobs)


def parted() -> None:
    """Move all waiting jobs, also jobs that need a second look."""
    redrawn()
    Apart.objects.update(starts_at=Now())
    redrawn()
    assert not Apart.objects.filter(is_done=False).exists()


@pytest.mark.parametrize("declares", ["fetch", "heartbeat", "registration"])
@spec("D-VER-6")
def test_a_worker_that_refuses_gets_no_job_without_a_version(declares: str) -> None:
    push()  # before the worker declares
    push("1.0")
    more: dict[str, Any] = {}
    if declares == "fetch":
        more = {"handlers": of()}
    elif declares == "heartbeat":
        beat("w1", of())
    else:
        answer(send("POST", "workers/register", {"worker_id": "w1", "handlers": of()}))

    assert versions_of(fetched("w1", **more)) == ["1.0"]
    push()
    parted()
    push()
    push("1.0")
    clear_caches()  # as a process that has just started

    assert versions_of(fetched("w1", **more)) == ["1.0"]
    assert versions_of(fetched(handlers=of("1.0", accepts=True))) == [None] * 3


@spec("D-VER-6")
def test_others_get_both_routes_while_jobs_are_moved_and_after() -> None:
    push()
    fetched(handlers=of())
    push()

    assert Ready.objects.count() == 2
    assert len(fetched(count=1)) == len(fetched(handlers=of("1.0", accepts=True), count=1)) == 1
    push()
    parted()
    push()
    assert len(fetched(count=1)) == len(fetched(handlers=of("1.0", accepts=True), count=1)) == 1
    push()
    assert len(fetched(handlers=[{"type": OTHER, "versions": "1.0"}])) == 1


@spec("D-VER-6")
def test_until_the_move_has_ended_nothing_is_taken_from_where_they_were() -> None:
    push()
    push(type=OTHER)

    assert fetched(handlers=of()) == []
    parted()
    assert types_of(fetched(handlers=of())) == [OTHER]


@spec("D-VER-6")
def test_jobs_of_later_are_moved_too() -> None:
    push(scheduled_at="+PT1H")
    push(scheduled_at="+PT1H", type=OTHER)
    fetched(handlers=of())
    parted()

    lanes = dict(LaneKey.objects.values_list("id", "route"))
    found = {lanes[row.lane_id] for row in Later.objects.all()}
    assert found == {0, Apart.objects.get(type=TYPE).route}


@spec("D-VER-6")
def test_a_retry_of_what_ran_before_comes_back_to_nobody_that_refuses() -> None:
    push(retry={"max_attempts": 5, "initial_interval": "PT1S"})
    running = fetched()
    fetched(handlers=of())
    parted()
    push(type=OTHER)
    nack = {"job_id": running[0]["id"], "requeue": True}
    answer(send("POST", "workers/nack", nack))  # back to its old lane

    first = fetched("w1", handlers=of())
    assert TYPE not in types_of(first)
    # that claim found the job, so the move starts again
    assert not Apart.objects.get(type=TYPE).is_done
    parted()
    assert types_of(first + fetched("w1", handlers=of())) == [OTHER]

    again = fetched("w2")
    assert [(one["id"], one["attempt"]) for one in again] == [(running[0]["id"], 1)]


@spec("D-VER-6")
def test_a_claim_that_meets_only_what_it_refuses_goes_on_to_what_it_accepts() -> None:
    push(priority=9)
    running = fetched()
    fetched(handlers=of())
    parted()
    push("1.0")
    answer(send("POST", "workers/nack", {"job_id": running[0]["id"], "requeue": True}))

    assert versions_of(fetched(handlers=of(), count=1)) == ["1.0"]


@spec("contract 22.3")
def test_an_exclusive_worker_gets_no_type_that_it_does_not_name() -> None:
    push()
    push(type=OTHER)
    push("1.0", type=OTHER)
    more: dict[str, Any] = {"handlers": of("1.0", accepts=True), "handlers_exclusive": True}

    assert fetched(**more) == []
    parted()
    assert types_of(fetched(**more)) == [TYPE]
    assert fetched(**more) == []
    assert types_of(fetched()) == [OTHER, OTHER]


@spec("contract 22.3")
def test_an_exclusive_worker_may_refuse_them_of_what_it_names() -> None:
    push()
    push("1.0")
    more: dict[str, Any] = {"handlers": of(), "handlers_exclusive": True}
    parted()

    assert versions_of(fetched(**more)) == ["1.0"]
    parted()
    assert fetched(**more) == []


@spec("contract 22.3")
def test_entries_of_a_type_add_up() -> None:
    push()

    assert len(fetched(handlers=[*of("2.0"), *of("1.0", accepts=True)])) == 1


@pytest.mark.parametrize("mode", ["compatible", "override"])
@spec("contract 22.4")
def test_rules_send_them_to_nobody_that_refuses(mode: str) -> None:
    push()
    fetched(handlers=of())
    put([{"version": "2.0", "weight": 1}, {"version": "1.0", "weight": 1}], mode=mode)
    push()
    parted()

    assert fetched(handlers=of()) == []
    assert len(fetched(handlers=of("*", accepts=True))) == 2


@spec("D-VER-6")
def test_undeclared_workers_get_them_where_a_declaration_is_required(
    settings: Any,
) -> None:
    settings.OJS_VERSIONING = {**settings.OJS_VERSIONING, "REQUIRE_DECLARATION": True}
    fetched(handlers=of())
    push()
    push("1.0")

    assert versions_of(fetched()) == [None]


def test_types_that_nobody_refuses_keep_one_route() -> None:
    fetched(handlers=of("1.0", accepts=True))
    push()

    assert not Route.objects.filter(major=None).exists()
    assert not Apart.objects.exists()


def test_a_type_is_told_apart_once() -> None:
    wanted = FetchRequest(("default",), declaration=declared(of(), is_exclusive=False))
    before = planned(wanted, 1).config_version

    assert planned(wanted, 1).config_version == before
    fetched(handlers=of("2.0"))
    assert Apart.objects.count() == Route.objects.filter(major=None).count() == 1


# --- held jobs ------------------------------------------------------------------------------------


def gates(one: dict[str, Any]) -> list[dict[str, Any]]:
    found = answer(send("GET", f"admin/jobs/{one['id']}/explain"))["gates"]
    return [gate for gate in found if gate["gate"] == "version"]


@spec("D-VER-6")
def test_the_explanation_says_that_every_worker_refuses() -> None:
    before = push()
    beat("w1", of())
    assert gates(before)[0]["state"] == "closed"
    fetched("w1")
    after = push()

    for one in (before, after):
        (gate,) = gates(one)
        assert gate["state"] == "closed"
        assert f"waiting for a worker that accepts {TYPE} without a version" in gate["message"]
    beat("w2")
    assert gates(after)[0]["state"] == "open"
    beat("w1", of(accepts=True))
    assert gates(after) == gates(before) == []


@spec("D-VER-6")
def test_an_exclusive_worker_is_told_of_jobs_of_other_types() -> None:
    beat("w1", of(accepts=True), handlers_exclusive=True)

    assert gates(push(type=OTHER))[0]["state"] == "closed"
    assert gates(push()) == []


@spec("D-VER-6")
def test_jobs_that_every_worker_refuses_are_told_counted_and_warned_of() -> None:
    push()
    beat("w1", of())
    fetched("w1")
    parted()
    push()
    assert held.watch() == 0
    Held.objects.update(since=F("since") - timedelta(seconds=31))

    assert held.watch() == 1
    (event,) = Event.objects.filter(kind=Kind.VERSION_HELD)
    assert (event.type, event.queue) == (TYPE, "default")
    assert event.data == {"version": None, "count": 2}
    (alert,) = alerts_of("version_held")
    assert f"2 jobs of {TYPE} without a version wait" in alert.text
    found = answer(send("GET", f"admin/versions/{TYPE}"))
    assert (found["held"], found["unversioned"]["workers"]) == (2, 0)

    beat("w2")
    held.watch()
    assert not Held.objects.exists()
    assert answer(send("GET", f"admin/versions/{TYPE}"))["held"] == 0


@spec("D-VER-6")
def test_where_no_worker_runs_nothing_is_told_of_them() -> None:
    fetched(handlers=of())
    push()

    held.watch()

    assert not Held.objects.exists()


# --- handlers in Python ---------------------------------------------------------------------------


@spec("D-VER-6")
def test_handlers_refuse_jobs_without_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})

    @job(TYPE, versions=">=2.0", accept_unversioned=False)
    def second() -> str:
        return "second"

    second.enqueue()
    second.options(version="2.0").enqueue()
    assert [run.result for run in run_available()] == ["second"]

    @job(TYPE, versions="<2.0")
    def first() -> str:
        return "first"

    assert [run.result for run in run_available()] == ["first"]


def test_a_wrong_answer_names_the_field() -> None:
    problem = beat("w1", [{"type": TYPE, "accept_unversioned": "no"}], status=422)

    assert problem["error"]["details"]["field"] == "handlers[0].accept_unversioned"


def test_what_failed_comes_back_by_its_own_route() -> None:
    fetched(handlers=of())
    push(retry={"max_attempts": 5, "initial_interval": "PT1S"})
    fail(fetched("w2"))

    assert {row.lane_id for row in Later.objects.all()} == set(
        LaneKey.objects.filter(route=Apart.objects.get().route).values_list("id", flat=True)
    )
