"""Uniqueness at PUSH and in batches, with the database. Spec: contract 6.3, 11.1, 27."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import Duplicate, InvalidRequest, OJSError, RateLimited
from jobs.domain.job import Job
from jobs.domain.states import CODES, State
from jobs.extensions import EnqueueHooks
from jobs.models import Event, Finished, Unique
from jobs.models import Job as Row
from jobs.queries import ago
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.outcome.dead_letter import delete, retry
from jobs.services.workers.heartbeat import Report, heartbeat
from ojs_tasks import job, registry
from tests.asserts import assert_state, assert_store_is_sound, state
from tests.factories import DraftFactory, JobFactory, stored_ids
from tests.installing import installing
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def push(**unique: Any) -> Job:
    """Enqueue a job with a unique policy; `job` has further members of the envelope."""
    envelope = unique.pop("job", {})
    (stored,) = enqueue([DraftFactory.create(unique=unique, **envelope)])
    assert stored is not None
    return stored


def batch(*policies: dict[str, Any] | None) -> list[Job | None]:
    """Enqueue equal jobs with these policies."""
    return enqueue([DraftFactory.create(unique=policy) for policy in policies])


# --- hits -----------------------------------------------------------------------------------------


@spec("contract 6.3")
def test_a_refusal_names_the_job_and_stores_nothing() -> None:
    first = push()

    with pytest.raises(Duplicate) as caught:
        push()

    details = caught.value.details
    assert details.pop("unique_key") == bytes(Unique.objects.get().fingerprint).hex()
    assert details == {"existing_job_id": first.id, "existing_job_state": "available"}
    assert Row.objects.count() == Event.objects.count() == Unique.objects.count() == 1


@pytest.mark.parametrize("found", list(State))
@pytest.mark.parametrize("asked", list(State))
@spec("contract 6.3")
def test_only_the_states_of_the_new_job_are_hits(found: State, asked: State) -> None:
    stored = JobFactory.create(state=found, unique={})

    answer = push(states=[asked.value], on_conflict="ignore")

    assert (answer.id == stored.id) == (found == asked)
    assert answer.deduplicated == (found == asked)


@spec("contract 6.3")
def test_the_newest_hit_is_the_answer_whatever_its_state() -> None:
    ended = [JobFactory.create(state=State.CANCELLED, unique={}) for _ in range(3)]
    states = ["available", "cancelled"]

    assert push(on_conflict="ignore", states=states).id == ended[-1].id
    live = push()
    assert push(on_conflict="ignore", states=states).id == live.id
    Unique.objects.filter(job_id=ended[0].id).update(created_at=ago(-60_000))
    assert push(on_conflict="ignore", states=states).id == ended[0].id


@spec("contract 6.3")
def test_the_period_is_the_new_jobs() -> None:
    first = push(period="PT1S")
    Unique.objects.update(created_at=ago(30_000))

    assert push(period="PT29S").id != first.id
    assert push(period="PT1M", on_conflict="ignore").deduplicated
    assert push(on_conflict="ignore").deduplicated


@spec("contract 6.3")
def test_jobs_without_policy_neither_block_nor_are_blocked() -> None:
    stored_ids(2)
    first = push()
    stored_ids(2)

    assert push(on_conflict="ignore").id == first.id


@spec("D-MT-13")
def test_tenants_do_not_block_each_other() -> None:
    policy = {"on_conflict": "ignore"}
    jobs = [
        enqueue([DraftFactory.create(unique=policy)], Caller(tenant=tenant))[0]
        for tenant in ("a", "b", "a")
    ]

    assert [one.deduplicated for one in jobs if one] == [False, False, True]


@spec("contract 6.3")
def test_ignore_answers_with_the_job_as_it_is() -> None:
    first = JobFactory.create(state=State.ACTIVE, worker_id="w1", unique={}, priority=5)

    answer = push(on_conflict="ignore")

    assert answer.deduplicated
    assert (answer.id, answer.worker_id, answer.priority) == (first.id, "w1", 5)
    assert Row.objects.count() == 1


@pytest.mark.parametrize("on_conflict", ["replace", "replace_except_schedule"])
@pytest.mark.parametrize(
    "found", [State.AVAILABLE, State.SCHEDULED, State.PENDING, State.RETRYABLE, State.ACTIVE]
)
@spec("contract 6.3")
def test_replace_cancels_what_it_hits(found: State, on_conflict: str) -> None:
    first = JobFactory.create(state=found, worker_id="w1", unique={})

    second = push(on_conflict=on_conflict)

    assert_state(State.CANCELLED, first.id)
    keeps = on_conflict == "replace_except_schedule" and found is State.SCHEDULED
    assert_state(State.SCHEDULED if keeps else State.AVAILABLE, second.id)
    assert second.scheduled_at == (first.scheduled_at if keeps else None)
    data: dict[str, Any] = Event.objects.get(kind=9).data or {}
    assert data["cancelled_by"] == "system"
    assert "same fingerprint" in data["reason"]
    if found is State.ACTIVE:  # contract 2.7: the heartbeat's answer names the job
        assert heartbeat(Report("w1", active_ids=(first.id,))).cancelled == [first.id]
    assert_store_is_sound()


@spec("contract 6.3")
def test_replace_cancels_all_hits_and_leaves_ended_ones() -> None:
    ended = JobFactory.create(state=State.DISCARDED, unique={})
    live = [push(states=["completed"]) for _ in range(3)]

    push(on_conflict="replace", states=["available", "discarded"])

    assert_state(State.CANCELLED, *[one.id for one in live])
    assert_state(State.DISCARDED, ended.id)
    assert_store_is_sound()


@spec("contract 6.3")
def test_promotion_and_manual_retry_check_nothing_and_the_retried_job_is_a_hit_again() -> None:
    first = JobFactory.create(state=State.DISCARDED, unique={})
    push()

    retry(first.id)

    assert_state(State.AVAILABLE, first.id)
    Row.objects.exclude(id=first.id).delete()
    assert push(on_conflict="ignore").id == first.id


@spec("contract 6.3")
def test_an_id_that_is_taken_is_refused_after_the_fingerprint() -> None:
    first = push()

    assert push(on_conflict="ignore", job={"id": first.id}).deduplicated
    for policy in ({"states": ["completed"]}, {"on_conflict": "replace"}):
        with pytest.raises(Duplicate) as caught:
            push(**policy, job={"id": first.id})
        assert caught.value.details["existing_job_id"] == first.id
    assert_state(State.AVAILABLE, first.id)
    assert Unique.objects.count() == 1


def test_a_removed_job_is_no_hit_and_leaves_no_fingerprint() -> None:
    gone = JobFactory.create(state=State.DISCARDED, unique={})

    delete(gone.id)

    assert not Unique.objects.exists()
    assert not push(states=["discarded"], on_conflict="ignore").deduplicated


# --- fingerprints that are marked as ended --------------------------------------------------------


def ended(number: int, state: State = State.CANCELLED) -> list[str]:
    return [JobFactory.create(state=state, unique={}).id for _ in range(number)]


def test_ended_jobs_of_a_fingerprint_are_noted_once_there_are_many() -> None:
    ids = ended(8)
    assert not Unique.objects.exclude(ended=None).exists()
    ids += ended(2)

    push()

    assert Unique.objects.filter(ended=CODES[State.CANCELLED]).count() == len(ids) - 1
    assert push(states=["cancelled"], on_conflict="ignore").id == ids[-1]


def test_a_noted_job_that_is_retried_is_a_live_hit_again() -> None:
    ids = ended(10, State.DISCARDED)
    push(states=["completed"])
    assert Unique.objects.filter(ended=CODES[State.DISCARDED]).count() == len(ids) - 1

    retry(ids[0])

    assert Unique.objects.get(job_id=ids[0]).ended is None
    Unique.objects.filter(job_id=ids[0]).update(created_at=ago(-60_000))
    assert push(on_conflict="ignore").id == ids[0]


# --- 11.1: batches --------------------------------------------------------------------------------


@spec("contract 11.1")
def test_a_hit_inside_the_batch_is_refused_with_its_index() -> None:
    with pytest.raises(Duplicate) as caught:
        batch(None, {}, None, {})

    assert caught.value.details["index"] == 3
    assert caught.value.details["existing_job_state"] == "available"
    assert not Row.objects.exists()


@spec("contract 11.1")
def test_the_index_counts_what_middleware_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop(draft: JobDraft, following: Any) -> JobDraft | None:
        kept: JobDraft | None = None if draft.meta.get("drop") else following(draft)
        return kept

    monkeypatch.setattr("jobs.services.enqueue.enqueue.enqueue_wrappers", lambda: (drop,))
    push()
    drafts = [DraftFactory.create(meta={"drop": True}), DraftFactory.create(unique={})]

    with pytest.raises(Duplicate) as caught:
        enqueue(drafts)

    assert caught.value.details["index"] == 1


@spec("contract 11.1")
def test_ignored_positions_hold_the_job_that_was_hit() -> None:
    ignore = {"on_conflict": "ignore"}
    first = push()
    other = DraftFactory.create(type="other", unique=ignore)

    jobs = enqueue([DraftFactory.create(unique=ignore), other, DraftFactory.create()])
    again = enqueue([DraftFactory.create(type="third", unique=ignore) for _ in range(2)])

    assert [(one.id, one.deduplicated) for one in jobs if one][:2] == [
        (first.id, True), (other.id, False),
    ]  # fmt: skip
    assert len({one.id for one in again if one}) == 1
    assert [one.deduplicated for one in again if one] == [False, True]
    assert Row.objects.count() == 4
    assert_store_is_sound()


@spec("contract 11.1")
def test_a_job_may_replace_an_earlier_one_of_its_batch() -> None:
    first = push()

    jobs = batch({"on_conflict": "replace"}, {"on_conflict": "replace"})

    assert [one and one.state for one in jobs] == [7, 3]
    assert_state(State.CANCELLED, first.id)
    assert Event.objects.filter(kind=9).count() == 2
    assert_store_is_sound()


@spec("contract 11.1")
def test_a_batch_takes_the_schedule_of_an_earlier_relative_one() -> None:
    draft = DraftFactory.create(scheduled_at="+PT1H", unique={})
    later = DraftFactory.create(unique={"on_conflict": "replace_except_schedule"})

    first, second = enqueue([draft, later])

    assert first is not None
    assert second is not None
    assert first.scheduled_at == second.scheduled_at is not None


@spec("contract 6.2")
def test_missing_arguments_are_listed_for_the_whole_batch() -> None:
    some: tuple[list[Any], ...] = ([{"to": 1}], [{}], [])
    drafts = [DraftFactory.create(args=args, unique={"args_keys": ["to"]}) for args in some]

    with pytest.raises(InvalidRequest) as caught:
        enqueue(drafts)

    assert (caught.value.details["index"], caught.value.details["field"]) == (1, "unique.args_keys")
    assert [error["index"] for error in caught.value.details["errors"]] == [1, 2]


@spec("contract 11.2")
def test_each_job_of_a_partial_request_fares_by_itself() -> None:
    taken = push()
    drafts = [
        DraftFactory.create(unique={}),  # a hit
        DraftFactory.create(type="other", unique={}),
        DraftFactory.create(type="other", unique={}),  # a hit of the job before it
        DraftFactory.create(id=taken.id),
        DraftFactory.create(args=[], unique={"args_keys": ["to"]}),
        DraftFactory.create(unique={"on_conflict": "ignore"}),
        DraftFactory.create(),
    ]

    answers = enqueue_each(drafts)

    assert [type(answer).__name__ for answer in answers] == [
        "Duplicate", "Job", "Duplicate", "Duplicate", "InvalidRequest", "Job", "Job",
    ]  # fmt: skip
    assert all("index" not in a.details for a in answers if isinstance(a, OJSError))
    assert Row.objects.count() == 3
    assert_store_is_sound()


# --- order with limits ----------------------------------------------------------------------------


class Bound(EnqueueHooks):
    """Extension that admits jobs while fewer than `most` are stored."""

    most = 0

    def needs_admission(
        self, drafts: Sequence[JobDraft], caller: Caller, config_version: int
    ) -> bool:
        return True

    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        if Row.objects.filter(state=None).count() + len(drafts) > self.most:
            raise RateLimited("full")


@pytest.fixture
def bound() -> Iterator[Bound]:
    found = Bound()
    with installing(found):
        yield found


@spec("contract 27")
def test_a_duplicate_never_yields_429(bound: Bound) -> None:
    bound.most = 1
    first = push()

    assert push(on_conflict="ignore").id == first.id
    with pytest.raises(Duplicate):
        push()
    assert push(on_conflict="replace").state == CODES[State.AVAILABLE]
    with pytest.raises(RateLimited):
        push(job={"type": "other"})
    assert_store_is_sound()


@spec("contract 27")
def test_a_refused_limit_undoes_what_was_replaced(bound: Bound) -> None:
    bound.most = 1
    first = push()
    bound.most = 0

    with pytest.raises(RateLimited):
        push(on_conflict="replace")

    assert_state(State.AVAILABLE, first.id)


@spec("contract 11.2")
def test_a_partial_request_stores_as_many_as_a_limit_lets_through(bound: Bound) -> None:
    bound.most = 5

    answers = enqueue_each([DraftFactory.create() for _ in range(40)])

    assert [isinstance(answer, Job) for answer in answers] == [True] * 5 + [False] * 35
    assert Row.objects.count() == 5


# --- transactions, statements ---------------------------------------------------------------------


def test_a_hosts_transaction_takes_the_fingerprint_back() -> None:
    with transaction.atomic():
        first = push()
        assert push(on_conflict="ignore").id == first.id
        with pytest.raises(Duplicate):
            push()
        transaction.set_rollback(True)

    assert not Unique.objects.exists()
    assert not push(on_conflict="ignore").deduplicated


def test_handlers_enqueue_unique_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})

    @job("report.render", unique={"args_keys": ["0"], "on_conflict": "ignore"})
    def render(month: str, pages: int) -> None: ...

    first, second, third = (
        render.enqueue("05", 1),
        render.enqueue("05", 2),
        render.enqueue("06", 1),
    )

    assert first is not None and second is not None and third is not None  # noqa: PT018
    assert first.id == second.id != third.id


def statements(drafts: list[JobDraft]) -> tuple[int, int]:
    """Return the numbers of statements and of transaction commands that the enqueue takes."""
    with CaptureQueriesContext(connection) as captured, suppress(Duplicate):
        enqueue(drafts)
    control = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
    ran = [query["sql"] for query in captured.captured_queries]
    done = [sql for sql in ran if not sql.startswith(control)]
    return len(done), len(ran) - len(done)


def unlike(number: int, start: int = 0, **policy: Any) -> list[JobDraft]:
    """Return drafts with different fingerprints."""
    return [DraftFactory.create(args=[start + n], unique=policy) for n in range(number)]


@pytest.mark.parametrize("number", [1, 10, 10_000])
def test_unique_jobs_take_one_statement_whatever_their_number(number: int) -> None:
    stored_ids(1)

    assert statements(unlike(number)) == (1, 0)
    assert Unique.objects.count() == number


@pytest.mark.parametrize(
    ("policy", "cost"),
    [
        ({}, (1, 0)),
        ({"on_conflict": "ignore"}, (2, 0)),  # the second statement reads the hit job
        # attempt; check, lock hits, cancel, store; after the commit, wake the lane
        ({"on_conflict": "replace"}, (6, 4)),
    ],
)
@pytest.mark.parametrize("number", [1, 500])
def test_hits_take_a_constant_number_of_statements(
    policy: dict[str, Any], cost: tuple[int, int], number: int
) -> None:
    enqueue(unlike(number))

    assert statements(unlike(number, **policy)) == cost


def test_equal_jobs_in_a_batch_take_a_constant_number_of_statements() -> None:
    stored_ids(1)
    costs = {
        statements([*unlike(number, number), *unlike(number, number, on_conflict="ignore")])
        for number in (1, 500)
    }

    assert len(costs) == 1


def test_a_thousand_unique_jobs_are_found_again() -> None:
    enqueue(unlike(1000))

    answers = enqueue(unlike(1500, on_conflict="ignore"))

    assert sum(one.deduplicated for one in answers if one) == 1000
    assert {state(one.id) for one in answers[:3] if one} == {State.AVAILABLE}
    assert Finished.objects.count() == 0
