"""Loops that rest while there is nothing for them. Spec: architecture, background loops."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection, transaction

from jobs import loops, pulse, queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.extensions import Loop
from jobs.loops import LoopRunner
from jobs.models import Event, FoldPosition, Later, LoopTick, Ready
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import configuration
from jobs.services.outcome.promote import due_in_ms, promote
from jobs.services.record.aggregate import aggregate_unread
from tests.concurrency import until
from tests.factories import JobFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")


class Counted:
    """A loop body that counts its runs."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.runs = 0
        self._work = work

    def __call__(self) -> int:
        self.runs += 1
        return self._work()


Started = Callable[..., Counted]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """Return a function that starts a loop which, once at rest, rests until it is woken."""
    monkeypatch.setattr(pulse, "REST_S", 600.0)
    monkeypatch.setattr(pulse, "LOOK_S", 0.005)
    monkeypatch.setattr(pulse, "FACTS_S", 0.0)
    runners: list[LoopRunner] = []

    def start(work: Callable[[], int] = lambda: 0, **options: object) -> Counted:
        body = Counted(work)
        runner = LoopRunner([Loop("turns", body, 1, **options)])  # type: ignore[arg-type]
        runners.append(runner)
        runner.start()
        return body

    yield start
    for runner in runners:
        runner.stop()
    LoopTick.objects.filter(name="turns").delete()


def rests(body: Counted, least: int = 2) -> int:
    """Return the number of runs, at least `least`, after which many looks led to no further run."""
    looks = 0
    seen = -1

    def is_still() -> bool:
        nonlocal looks, seen
        looks = looks + 1 if body.runs == seen else 0
        seen = body.runs
        queries.now()  # time passes by statements
        return body.runs >= least and looks > 300

    until(is_still)
    return seen


def unread() -> bool:
    """Return whether an event is not aggregated, also above the horizon."""
    place = FoldPosition.objects.get(id=1).stamp
    return Event.objects.filter(stamp__gte=place).exists()


def test_a_loop_of_empty_tables_rests_until_they_have_a_row(started: Started) -> None:
    body = started(while_rows_of=("ojs_lease", "ojs_ready"))
    before = rests(body)

    stored_ids(1)

    until(lambda: body.runs > before + 10)  # it runs at each interval again


def test_a_loop_of_events_rests_until_one_is_recorded(started: Started) -> None:
    body = started(reads_events=True)
    before = rests(body)

    stored_ids(1)
    until(lambda: body.runs > before)
    before = rests(body)

    with transaction.atomic():
        configuration.change()
    until(lambda: body.runs > before)


def test_a_loop_of_events_and_tables_rests_until_both_are_there(started: Started) -> None:
    body = started(reads_events=True, while_rows_of=("ojs_lease",))
    before = rests(body)

    stored_ids(1)  # an event, but no row
    assert rests(body) == before

    fetch(FetchRequest(("default",)))
    until(lambda: body.runs > before)


def test_a_loop_with_due_times_rests_until_the_next_one(started: Started) -> None:
    left = [600_000]  # milliseconds
    body = started(due_in_ms=lambda: left[0])
    before = rests(body, least=1)

    left[0] = 0
    stored_ids(1)
    until(lambda: body.runs > before + 10)  # what is due stays due


def test_the_look_has_the_due_times_of_the_core(started: Started) -> None:
    waits = started(promote, due_in_ms=due_in_ms, due_in_look="due_ms")
    before = rests(waits, least=1)
    JobFactory.create(state=State.SCHEDULED)
    assert rests(waits, least=1) == before, "nothing is due"

    Later.objects.update(due_at=queries.ago(1000))

    until(Ready.objects.exists)


@pytest.mark.parametrize("name", ["promote", "reap", "expire"])
def test_the_look_agrees_with_the_statement_of_the_loop(name: str) -> None:
    loop = next(loop for loop in loops.CORE if loop.name == name)
    assert loop.due_in_ms is not None
    assert loop.due_in_ms() is getattr(queries.look(), loop.due_in_look) is None

    for state in (State.SCHEDULED, State.ACTIVE, State.AVAILABLE):
        JobFactory.create(state=state)
    Ready.objects.update(expires_at=queries.ago(-60_000))

    assert loop.due_in_ms() == pytest.approx(getattr(queries.look(), loop.due_in_look), abs=5_000)


def test_other_writes_count_as_no_event() -> None:
    stored_ids(1)
    looking = pulse.Pulse(600.0)

    def is_settled() -> bool:
        looking._look()
        return not looking._until

    until(is_settled)
    before = looking.seen.events
    LoopTick.objects.update_or_create(name="turns", defaults={"ticked_at": queries.now()})
    looking._look()
    assert looking.seen.events == before

    stored_ids(1)
    looking._look()
    assert looking.seen.events > before
    LoopTick.objects.filter(name="turns").delete()


def test_an_event_behind_the_first_write_of_the_only_transaction_is_read(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "NOTE_S", 600.0)  # no other transaction has an id
    rests(started(aggregate_unread, reads_events=True))

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()")
        stored_ids(1)

    until(lambda: sum(queries.depths().get("default", {}).values()) == 1 and not unread())


def test_a_loop_without_a_condition_runs_at_each_interval(started: Started) -> None:
    body = started()

    until(lambda: body.runs > 50)
