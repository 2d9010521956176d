"""A move that is killed at any statement is completed by the same command."""

from collections import Counter
from collections.abc import Callable

import pytest

from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import Audit, Move, MovingJob
from jobs.services.cells import moving_jobs
from jobs.services.record.reconcile import reconcile
from scheduling.models import CronEntry
from tenancy.models import Tenant
from tests.scheduling.conftest import registered
from tests.tenancy.moves.cells import DEAD, TENANT, Cells, Killed, acme, run_all

STATEMENTS = 400  # more than a move takes


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_jobs, "SIZE", 2)


def test_a_move_that_is_killed_at_every_statement_loses_and_doubles_no_job(cells: Cells) -> None:
    made = [acme().id for _ in range(4)]
    later = {
        acme(state=State.SCHEDULED).id: "scheduled",
        acme(state=State.RETRYABLE, queue="r").id: "retryable",
        acme(state=State.DISCARDED, queue="d", **DEAD).id: "discarded",
    }
    registered("nightly", Caller("test", tenant=TENANT), expression="@every 1h")
    expected = {**dict.fromkeys(made, "available"), **later}

    for number in range(1, STATEMENTS):
        try:
            with cells.dying_at(number):
                cells.move()
        except Killed:
            _check_between(cells, expected)
        else:
            break

    assert number > 60, "a killed move got to its end at once"
    assert cells.states() == ({}, expected)
    assert not CronEntry.objects.exists()
    assert reconcile() == []
    assert Move.objects.get().step == "done"
    with cells.other.inside():
        assert run_all() == made
        assert reconcile() == []
        assert CronEntry.objects.count() == 1
        assert Tenant.objects.get(id=TENANT).state == "active"
        assert Audit.objects.filter(action="tenant.moved_in").count() == 1


def _check_between(cells: Cells, expected: dict[str, str]) -> None:
    """Check that each job is in exactly one cell, or on its way, and can start nowhere else."""
    old, new = cells.states()
    packed = {
        str(row.job_id)
        for row in MovingJob.objects.filter(batch__isnull=False)
        if str(row.job_id) not in new
    }
    found = Counter([*old, *new, *packed])
    assert found == Counter(expected.keys())


@pytest.mark.parametrize("step", ["pack", "store", "forget"])
def test_a_move_that_is_killed_after_a_step_of_a_batch_goes_on(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    made = [acme().id for _ in range(3)]
    real: Callable[..., object] = getattr(moving_jobs, step)

    def once(*arguments: object) -> None:
        real(*arguments)
        monkeypatch.setattr(moving_jobs, step, real)
        raise Killed

    monkeypatch.setattr(moving_jobs, step, once)
    with pytest.raises(Killed):
        cells.move()

    cells.move()

    with cells.other.inside():
        assert run_all() == made


def test_a_batch_that_arrives_twice_is_stored_once(cells: Cells) -> None:
    made = acme().id
    cells.move()
    with cells.other.inside():
        move = Move.objects.get()
        assert run_all() == [made]

        moving_jobs.store(TENANT, move.move_id, move.batch, [])

        assert run_all() == []


def test_a_move_that_is_complete_is_not_repeated(cells: Cells) -> None:
    made = acme().id
    first = cells.move()
    with cells.other.inside():
        assert run_all() == [made]

    again = cells.move()

    assert (again.jobs, again.notes) == (first.jobs, ["it had moved before"])
    with cells.other.inside():
        assert Tenant.objects.get(id=TENANT).state == "active"
        assert Audit.objects.filter(action="tenant.moved_in").count() == 1


def test_a_completed_move_changes_nothing_when_its_last_step_is_repeated(cells: Cells) -> None:
    made = acme().id
    cells.move()
    Move.objects.update(step="copying")  # killed before the last step in the old cell

    cells.move()

    assert cells.states() == ({}, {made: "available"})
    with cells.other.inside():
        assert Audit.objects.filter(action="tenant.moved_in").count() == 1
