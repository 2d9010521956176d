"""Undo of operators' changes of jobs: each state comes back, and what went on stays."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import JSONField, Value

from jobs import loops, queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.outcome.bulk import ALLOWED, JobFilter, Verb
from jobs.domain.outcome.undo import Outcome
from jobs.domain.states import State
from jobs.models import Audit, Finished, Job, Later, Progress, Ready, Replay, Undo, UndoJob, Unique
from jobs.queries import ago
from jobs.services.audit import undo_log
from jobs.services.audit.undo_log import HEADER, undoable_steps
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import bulk, operate, undo
from jobs.services.operate.queue_move import move_waiting
from jobs.services.operate.queue_removal import purge
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.revive import Override
from jobs.services.read.show import show
from tests.asserts import assert_state, assert_store_is_sound, state
from tests.factories import JobFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")
TABLES = (Job, Ready, Later, Finished, Unique, Progress, Replay)


def one_per_state(**envelope: Any) -> dict[State, str]:
    return {
        one: JobFactory.create(state=one, queue=f"q-{one}", worker_id="w1", **envelope).id
        for one in State
    }


def rows() -> dict[str, list[dict[str, Any]]]:
    return {
        table.__name__: sorted((dict(row) for row in table.objects.values()), key=repr)
        for table in TABLES
    }


def undone(who: Caller) -> Undo:
    found = undo.undo(int(who.answer_headers[HEADER]), who)
    assert found.state == "undone"
    return found


def reasons(operation: Undo) -> dict[str, Outcome]:
    return dict(undo.left_out(operation.pk, limit=100))


UNIQUE = {"unique": {"keys": ["type", "queue"]}}


@pytest.mark.parametrize("verb", Verb)
def test_every_row_of_a_job_comes_back(verb: Verb) -> None:
    ids = one_per_state(**UNIQUE)
    before = rows()
    who = Caller("ann")

    operate.many(verb, list(ids.values()), who)
    assert rows() != before
    operation = undone(who)

    assert_store_is_sound()
    was_running = verb is Verb.CANCEL
    assert reasons(operation) == ({ids[State.ACTIVE]: Outcome.WAS_RUNNING} if was_running else {})
    after = rows()
    if was_running:
        for found in (before, after):
            found["Job"] = [r for r in found["Job"] if str(r["id"]) != ids[State.ACTIVE]]
            found["Finished"] = [r for r in found["Finished"] if str(r["id"]) != ids[State.ACTIVE]]
    assert after == before
    assert operation.restored == len(ALLOWED[verb]) - was_running


def test_a_filter_of_many_slices_is_undone_whole() -> None:
    ids = stored_ids(1200, queue="mail")
    who = Caller("ann")
    operate.matching(Verb.CANCEL, JobFilter(queue="mail"), who, most=10_000)

    operation = undone(who)

    assert (operation.jobs, operation.restored, operation.left_out) == (1200, 1200, 0)
    claimed = [job.id for _ in range(2) for job in fetch(FetchRequest(("mail",), count=600)).jobs]
    assert claimed == ids, "the jobs wait in their former order"
    assert_store_is_sound()


def purged(ids: dict[State, str], who: Caller) -> None:
    with undoable_steps(who, "queue.purged", "mail"):
        for one in set(State) - {State.ACTIVE}:
            purge(f"q-{one}", list(set(State) - {State.ACTIVE}), who.name)


def test_a_purge_is_undone() -> None:
    ids = one_per_state()
    before, who = rows(), Caller("ann")
    purged(ids, who)
    assert Job.objects.count() == 1

    undone(who)

    assert rows() == before
    assert_store_is_sound()


def test_a_move_is_undone_at_the_former_positions() -> None:
    ids = stored_ids(3, queue="old", priority=2)
    later = JobFactory.create(state=State.SCHEDULED, queue="old").id
    JobFactory.create(queue="new")
    before, who = rows(), Caller("ann")
    with undoable_steps(who, "queue.moved", "old"):
        move_waiting("old", "new", most=10)
    taken = fetch(FetchRequest(("new",))).jobs[0].id

    operation = undone(who)

    assert reasons(operation) == {ids[0]: Outcome.RUNNING}
    assert taken == ids[0]
    assert {show(one).queue for one in (*ids[1:], later)} == {"old"}
    kept = [row for row in before["Ready"] if str(row["id"]) in ids[1:]]
    assert sorted(Ready.objects.filter(id__in=ids[1:]).values(), key=repr) == kept
    assert_store_is_sound()


@pytest.mark.parametrize("one", [State.AVAILABLE, State.SCHEDULED, State.PENDING])
def test_a_priority_comes_back(one: State) -> None:
    job_id = JobFactory.create(state=one, priority=3).id
    before, who = rows(), Caller("ann")
    operate.change_priority(job_id, 9, who)

    undone(who)

    assert rows() == before
    assert_store_is_sound()


def test_a_retry_with_changes_is_undone_while_it_waits() -> None:
    job_id = JobFactory.create(state=State.DISCARDED, queue="old", args=[1]).id
    before, who = rows(), Caller("ann")
    operate.retry_job(job_id, Override(queue="new", args=[2], priority=4), who)

    undone(who)

    assert rows() == before
    assert_store_is_sound()


def run_once(queue: str) -> None:
    for job in fetch(FetchRequest((queue,), count=10)).jobs:
        ack([Ack(job.id)])


GONE_ON: list[tuple[Verb, State, Callable[[str, Caller], object], Outcome]] = [
    (Verb.RETRY, State.DISCARDED, lambda _i, _w: run_once("q"), Outcome.RAN),
    (Verb.RETRY, State.DISCARDED, lambda _i, _w: fetch(FetchRequest(("q",))), Outcome.RUNNING),
    (Verb.CANCEL, State.AVAILABLE, operate.delete_job, Outcome.DELETED),
    (
        Verb.CANCEL,
        State.AVAILABLE,
        lambda i, w: run_once(operate.retry_job(i, None, w).queue),
        Outcome.RAN,
    ),
    (Verb.CANCEL, State.SCHEDULED, lambda i, w: operate.retry_job(i, None, w), Outcome.CHANGED),
    (Verb.DELETE, State.COMPLETED, lambda i, _w: JobFactory.create(id=i), Outcome.ID_IN_USE),
]


@pytest.mark.parametrize(("verb", "one", "go_on", "why"), GONE_ON)
def test_what_went_on_since_stays_and_is_named(
    verb: Verb, one: State, go_on: Callable[[str, Caller], object], why: Outcome
) -> None:
    job_id = JobFactory.create(state=one, queue="q").id
    who = Caller("ann")
    operate.many(verb, [job_id], who)
    number = int(who.answer_headers[HEADER])
    go_on(job_id, Caller("ben"))
    before = rows()

    operation = undo.undo(number, who)

    assert reasons(operation) == {job_id: why}
    assert (operation.restored, operation.left_out) == (0, 1)
    assert rows() == before
    assert_store_is_sound()


def test_a_unique_job_that_took_the_place_stays_the_only_one() -> None:
    first = JobFactory.create(**UNIQUE).id
    who = Caller("ann")
    operate.cancel_job(first, who)
    second = JobFactory.create(**UNIQUE).id

    operation = undone(who)

    assert reasons(operation) == {first: Outcome.DUPLICATE}
    assert_state(State.AVAILABLE, second)


def test_an_expired_job_does_not_wait_again() -> None:
    job_id = JobFactory.create(expires_at="2099-01-01T00:00:00Z").id
    who = Caller("ann")
    operate.cancel_job(job_id, who)
    Job.objects.filter(id=job_id).update(expires_at=ago(1))
    UndoJob.objects.update(expires_at=ago(1))

    assert reasons(undone(who)) == {job_id: Outcome.EXPIRED}


@pytest.mark.parametrize("verb", [Verb.DELETE, Verb.RETRY])
def test_a_null_result_stays_one(verb: Verb) -> None:
    one = State.COMPLETED if verb is Verb.DELETE else State.DISCARDED
    job_id = JobFactory.create(state=one).id
    Job.objects.filter(id=job_id).update(result=Value(None, JSONField()))
    before, who = rows(), Caller("ann")
    operate.many(verb, [job_id], who)

    undone(who)

    assert Job.objects.filter(id=job_id, result__isnull=False).exists()
    assert rows() == before


def test_an_operation_is_undone_once_and_its_undo_is_audited() -> None:
    job_id = JobFactory.create().id
    who = Caller("ann")
    operate.cancel_job(job_id, who)
    operation = undone(who)

    with pytest.raises(Conflict):
        undo.undo(operation.pk, who)
    actions = Audit.objects.filter(target=f"operation {operation.pk}").order_by("id")
    assert list(actions.values_list("action", "actor")) == [
        ("operation.undo_started", "ann"), ("operation.undone", "ann"),
    ]  # fmt: skip


def test_a_tenant_undoes_only_its_own_operations() -> None:
    job_id = JobFactory.create().id
    who = Caller("ann")
    operate.cancel_job(job_id, who)

    with pytest.raises(NotFound):
        undo.undo(int(who.answer_headers[HEADER]), Caller("ben", tenant="acme"))
    assert state(job_id) is State.CANCELLED


def test_an_operation_that_changed_nothing_is_not_kept() -> None:
    who = Caller("ann")
    operate.many(Verb.CANCEL, [], who)

    assert not Undo.objects.exists()
    assert HEADER not in who.answer_headers


def test_an_undo_stops_an_operation_that_still_runs() -> None:
    ids = stored_ids(2)
    who = Caller("ann")
    number = undo_log.begin(who, "jobs.bulk_cancelled", "jobs")
    with queries.keeping(number):
        bulk.act_on(Verb.CANCEL, ids[:1], "ann")
        undo.undo(number, who)
        with pytest.raises(Conflict):
            bulk.act_on(Verb.CANCEL, ids[1:], "ann")

    assert_state(State.AVAILABLE, *ids)


def test_an_undo_that_a_crash_interrupted_is_continued_by_the_loop() -> None:
    stored_ids(500, queue="mail")
    who = Caller("ann")
    operate.matching(Verb.CANCEL, JobFilter(queue="mail"), who, most=1000)
    Undo.objects.update(state="undoing", undone_by="ann")
    undo.go_on(Undo.objects.get().pk)
    assert 0 < Ready.objects.count() < 500

    loops.run_once(["undo"])

    assert Ready.objects.count() == 500
    assert Undo.objects.get().state == "undone"
    assert_store_is_sound()


def test_records_are_bounded_and_the_rest_is_said_not_to_come_back(settings: Any) -> None:
    settings.OJS = {**settings.OJS, "UNDO_JOBS": 500}
    stored_ids(700, queue="mail")
    who = Caller("ann")
    operate.matching(Verb.CANCEL, JobFilter(queue="mail"), who, most=1000)

    operation = undone(who)

    assert (operation.jobs, operation.is_cut) == (500, True)
    assert Ready.objects.count() == 500
    assert_store_is_sound()


def test_records_are_forgotten_after_a_day() -> None:
    stored_ids(3, queue="mail")
    who = Caller("ann")
    operate.matching(Verb.CANCEL, JobFilter(queue="mail"), who, most=10)
    Undo.objects.update(until=ago(1))

    with pytest.raises(NotFound):
        undo.undo(int(who.answer_headers[HEADER]), who)
    assert loops.run_once(["forget_undos"]) == 4
    assert not UndoJob.objects.exists()


def test_changes_without_an_operator_leave_no_records() -> None:
    JobFactory.create()

    assert bulk.run(Verb.CANCEL, JobFilter(), "system", most=10).done
    assert not UndoJob.objects.exists()
