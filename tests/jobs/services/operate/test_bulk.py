"""Verbs on many jobs. Spec: contract 11.2, 24.1."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import loops
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.outcome.bulk import ALLOWED, DEFAULTS, JobFilter, Verb
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import BulkAnswer, Event, Job, Ready, Unique
from jobs.queries import ago, now
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.idempotency import KEEP_MS, Reply, Ticket, once
from jobs.services.operate import bulk
from jobs.services.operate.bulk import Place, act_on, begin, by_id, run, step
from jobs.services.read.show import show
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.asserts import assert_state, assert_store_is_sound, state
from tests.factories import JobFactory, stored, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

DEAD = {"max_attempts": 1, "on_exhaustion": "dead_letter"}


def one_per_state(**envelope: Any) -> dict[State, str]:
    """Store a job in each state."""
    return {
        one: JobFactory.create(state=one, queue=f"q-{one}", worker_id="w1", **envelope).id
        for one in State
    }


@pytest.mark.parametrize("verb", Verb)
@spec("contract 11.2")
def test_a_verb_moves_only_jobs_whose_state_allows_it(verb: Verb) -> None:
    ids = one_per_state()

    done = act_on(verb, list(ids.values()), "tester")

    assert done == {ids[one] for one in ALLOWED[verb]}
    after = {
        Verb.CANCEL: State.CANCELLED,
        Verb.RETRY: State.AVAILABLE,
        Verb.DELETE: None,
    }[verb]
    for one, job_id in ids.items():
        if one not in ALLOWED[verb]:
            assert state(job_id) is one
        elif after is not None:
            assert state(job_id) is after
        else:
            assert not Job.objects.filter(id=job_id).exists()
    assert_store_is_sound()


@pytest.mark.parametrize("verb", Verb)
@spec("contract 11.2")
def test_a_filter_without_states_takes_the_verbs_own(verb: Verb) -> None:
    ids = one_per_state()

    report = run(verb, JobFilter(), "tester", most=100)

    assert set(report.done) == {ids[one] for one in DEFAULTS[verb]}
    assert (report.matched, report.skipped, report.is_truncated) == (len(DEFAULTS[verb]), [], False)
    assert_store_is_sound()


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize("asked", list(State))
@spec("contract 11.2")
def test_a_named_state_is_taken_if_the_verb_allows_it(verb: Verb, asked: State) -> None:
    ids = one_per_state()

    report = run(verb, JobFilter(states=(asked, asked)), "tester", most=100)

    assert report.done == ([ids[asked]] if asked in ALLOWED[verb] else [])


FILTERS: list[tuple[dict[str, Any], JobFilter]] = [
    ({"queue": "mail"}, JobFilter(queue="mail")),
    ({"type": "mail.send"}, JobFilter(type="mail.send")),
    ({"type": "mail.send"}, JobFilter(type="mail.*")),
    ({"priority": 7}, JobFilter(priority=7)),
    ({"meta": {"a": {"b": 1}, "c": 2}}, JobFilter(meta={"a": {"b": 1}})),
]


@pytest.mark.parametrize(("envelope", "wanted"), FILTERS)
@pytest.mark.parametrize("one", [State.AVAILABLE, State.SCHEDULED, State.RETRYABLE, State.ACTIVE])
@spec("contract 11.2")
def test_a_filter_is_the_and_of_its_members(
    envelope: dict[str, Any], wanted: JobFilter, one: State
) -> None:
    other = JobFactory.create(state=one)
    meant = JobFactory.create(state=one, **({"queue": "filtered"} | envelope))
    wanted = JobFilter(**{**_members(wanted), "states": (one,)})

    report = run(Verb.CANCEL, wanted, "tester", most=100)

    assert report.done == [meant.id]
    assert_state(one, other.id)


@pytest.mark.parametrize(("envelope", "wanted"), FILTERS)
@spec("contract 11.2")
def test_ended_jobs_are_filtered_alike(envelope: dict[str, Any], wanted: JobFilter) -> None:
    other = JobFactory.create(state=State.DISCARDED)
    meant = JobFactory.create(state=State.DISCARDED, **({"queue": "filtered"} | envelope))

    assert run(Verb.DELETE, wanted, "tester", most=100).done == [meant.id]
    assert_state(State.DISCARDED, other.id)


def _members(wanted: JobFilter) -> dict[str, Any]:
    return {name: getattr(wanted, name) for name in JobFilter.__dataclass_fields__}


@spec("contract 24.1")
def test_error_type_and_dead_letter_narrow_what_is_retried() -> None:
    plain, dead = (
        JobFactory.create(state=State.DISCARDED, queue=queue, retry=retry)
        for queue, retry in (("a", {"max_attempts": 1}), ("b", DEAD))
    )
    Job.objects.filter(id=plain.id).update(error={"type": "Broken"})

    assert run(Verb.RETRY, JobFilter(error_type="Broken"), "t", most=9).done == [plain.id]
    assert run(Verb.RETRY, JobFilter(dead=True), "t", most=9).done == [dead.id]
    assert run(Verb.RETRY, JobFilter(), "t", most=9).matched == 0


@spec("contract 11.2")
def test_times_are_those_of_the_latest_enqueue() -> None:
    old, new = stored_ids(2)
    Ready.objects.filter(id=old).update(enqueued_at=ago(7_200_000))
    hour_ago = now() - timedelta(hours=1)

    assert run(Verb.CANCEL, JobFilter(until=hour_ago), "t", most=9).done == [old]
    assert run(Verb.CANCEL, JobFilter(older_than_ms=3_600_000), "t", most=9).done == []
    assert run(Verb.CANCEL, JobFilter(since=hour_ago), "t", most=9).done == [new]


@pytest.mark.parametrize("one", [State.AVAILABLE, State.SCHEDULED, State.DISCARDED])
@spec("contract 11.2")
def test_a_walk_goes_on_where_a_step_ended(one: State) -> None:
    for n in range(3):
        for job in range(3):
            JobFactory.create(state=one, queue=f"q{n}", priority=job)
    verb = Verb.DELETE if one is State.DISCARDED else Verb.CANCEL
    place: Place | None = begin()
    done: list[str] = []
    while place is not None:
        taken = step(verb, JobFilter(states=(one,)), place, "t", most=2)
        assert len(taken.matched) <= 2
        done += taken.matched
        place = taken.place

    assert len(done) == len(set(done)) == 9
    assert_store_is_sound()


@pytest.mark.parametrize("one", [State.AVAILABLE, State.SCHEDULED, State.DISCARDED])
@spec("contract 11.2")
def test_a_rare_match_is_found_behind_many_others(
    one: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "LOOKED", 3)
    ids = [
        JobFactory.create(state=one, type="rare" if n == 4 else "other", queue=f"q{n % 2}").id
        for n in range(10)
    ]
    verb = Verb.DELETE if one is State.DISCARDED else Verb.CANCEL

    assert run(verb, JobFilter(type="rare"), "t", most=100).done == [ids[4]]


@spec("contract 11.2")
def test_what_comes_after_the_start_is_not_touched() -> None:
    place = begin()
    ids = [JobFactory.create(state=one, queue=one.value).id for one in DEFAULTS[Verb.CANCEL]]

    taken = step(Verb.CANCEL, JobFilter(), place, "t")
    assert taken.place is not None
    again = step(Verb.CANCEL, JobFilter(), taken.place, "t")

    assert (taken.matched, again.matched, again.place) == ([], [], None)
    assert {state(job_id) for job_id in ids} == set(DEFAULTS[Verb.CANCEL])


@spec("contract 11.2")
def test_a_filter_does_not_cancel_a_job_that_was_claimed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (first, second) = stored_ids(2)
    act = bulk.act_on

    def later(*args: Any, **kwargs: Any) -> set[str]:
        fetch(FetchRequest(("default",)))
        return act(*args, **kwargs)

    monkeypatch.setattr(bulk, "act_on", later)
    report = run(Verb.CANCEL, JobFilter(), "t", most=9)

    assert (report.done, report.skipped) == ([second], [first])
    assert_state(State.ACTIVE, first)
    assert_store_is_sound()


@spec("contract 11.2")
def test_by_id_tells_why_a_job_was_skipped() -> None:
    (live,) = stored_ids(1)
    ended = JobFactory.create(state=State.CANCELLED).id
    unknown = new_id()

    report, why = by_id(Verb.CANCEL, [live, ended, unknown, "x", live], "t", tenant=None)

    assert (report.done, report.matched) == ([live], 2)
    assert why == {ended: "cancelled", unknown: "not_found", "x": "not_found"}
    assert report.skipped == [ended, unknown, "x"]


@spec("contract 31.2")
def test_other_tenants_jobs_are_not_found() -> None:
    (job,) = stored(1)

    assert by_id(Verb.CANCEL, [job.id], "t", tenant="other")[1] == {job.id: "not_found"}
    assert run(Verb.CANCEL, JobFilter(tenant="other"), "t", most=9).matched == 0


@spec("contract 2.7")
def test_workers_are_told_and_retried_jobs_start_anew() -> None:
    active = JobFactory.create(state=State.ACTIVE, worker_id="w1").id
    failed = JobFactory.create(state=State.RETRYABLE, queue="a").id
    dead = JobFactory.create(state=State.DISCARDED, queue="b", priority=3).id

    act_on(Verb.CANCEL, [active], "t")
    act_on(Verb.RETRY, [failed, dead], "t")

    assert heartbeat(Report("w1", active_ids=(active,))).cancelled == [active]
    assert (show(failed).attempt, show(dead).attempt) == (1, 0)
    claimed = fetch(FetchRequest(("a", "b"), count=2)).jobs
    assert [(job.id, job.attempt) for job in claimed] == [(failed, 2), (dead, 1)]
    assert_store_is_sound()


@spec("contract 11.2")
def test_a_deleted_job_leaves_nothing_but_its_events() -> None:
    gone = JobFactory.create(state=State.COMPLETED, unique={}).id

    act_on(Verb.DELETE, [gone], "t")

    assert not Job.objects.exists()
    assert not Unique.objects.exists()
    assert Event.objects.filter(job_id=gone, kind=101).exists()
    assert_store_is_sound()


@pytest.mark.parametrize(("verb", "most"), [(Verb.CANCEL, 1), (Verb.DELETE, 2), (Verb.RETRY, 3)])
@pytest.mark.parametrize("number", [1, 400])
def test_a_batch_takes_a_constant_number_of_statements(verb: Verb, most: int, number: int) -> None:
    ids = stored_ids(number)
    if verb is not Verb.CANCEL:
        act_on(Verb.CANCEL, ids, "t")

    with CaptureQueriesContext(connection) as captured:
        act_on(verb, ids, "t")

    assert len(captured) <= most


@spec("contract 24.1")
def test_a_walk_stops_at_its_bound_and_says_so() -> None:
    stored_ids(7)

    report = run(Verb.CANCEL, JobFilter(), "t", most=5)

    assert (report.matched, report.is_truncated) == (5, True)
    assert run(Verb.CANCEL, JobFilter(), "t", most=5).is_truncated is False


# --- idempotency keys -----------------------------------------------------------------------------


def ticket(body: bytes = b"{}", *, key: str = "k", is_atomic: bool = True, **facts: Any) -> Ticket:
    return Ticket(**{"operation": "op", "tenant": None} | facts, key=key, body=body,
                  is_atomic=is_atomic)  # fmt: skip


@pytest.mark.parametrize("is_atomic", [True, False])
@spec("contract 11.2")
def test_a_repeated_request_gets_the_first_answer(is_atomic: bool) -> None:
    asked = ticket(is_atomic=is_atomic)

    first = once(asked, lambda: Reply(201, b"first"))
    second = once(asked, lambda: Reply(201, b"second"))

    assert (first.body, first.is_repeated) == (b"first", False)
    assert (second.status, second.body, second.is_repeated) == (201, b"first", True)


@spec("contract 11.2")
def test_keys_are_kept_apart_by_operation_and_tenant() -> None:
    some: tuple[dict[str, Any], ...] = (
        {}, {"operation": "other"}, {"tenant": "a"}, {"tenant": "b"},
    )  # fmt: skip
    for facts in some:
        assert not once(ticket(**facts), lambda: Reply(200, b"")).is_repeated


@spec("contract 11.2")
def test_answers_of_a_day_ago_are_forgotten() -> None:
    once(ticket(), lambda: Reply(200, b"first"))
    once(ticket(key="young"), lambda: Reply(200, b"first"))
    BulkAnswer.objects.filter(key="k").update(created_at=ago(KEEP_MS + 1))

    assert once(ticket(b"other"), lambda: Reply(200, b"second")).body == b"second"
    BulkAnswer.objects.filter(key="k").update(created_at=ago(KEEP_MS + 1))
    assert loops.run_once(["forget_answers"]) == 1
    assert BulkAnswer.objects.get().key == "young"


@pytest.mark.parametrize("is_atomic", [True, False])
@spec("contract 11.2")
def test_a_failed_request_leaves_its_key_free(is_atomic: bool) -> None:
    asked = ticket(is_atomic=is_atomic)

    with pytest.raises(ZeroDivisionError):
        once(asked, lambda: Reply(1 // 0, b""))
    once(asked, lambda: Reply(422, b"refused"))

    assert once(asked, lambda: Reply(200, b"done")).body == b"done"
