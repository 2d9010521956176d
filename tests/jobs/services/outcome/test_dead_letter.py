"""The dead letter: list, count, retry, bulk, rules. Spec: contract 2.4, 28."""

from datetime import timedelta

import orjson
import pytest
from django.db.models.functions import Now

from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.states import State
from jobs.models import Audit, Event, Finished, Job, Progress, Replay, ReplayRule
from jobs.services.dispatch.fetch import fetch
from jobs.services.operate import operate
from jobs.services.outcome import dead_letter
from jobs.services.outcome.dead_letter import DeadLetterFilter, dead_letters
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.replay import replace_rules, replay
from jobs.services.outcome.revive import Override
from jobs.services.read.show import show
from tests.asserts import assert_depths_equal_recount, assert_state, assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import JobFactory, error, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

WHO = Caller("tester", request_id="req-1", address="10.0.0.1")


def dead(number: int = 1, *, kind: str = "handler_error", **envelope: object) -> list[str]:
    """Store jobs that failed for good and are in the dead letter."""
    ids = stored_ids(number, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"}, **envelope)
    queue = str(envelope.get("queue", "default"))
    fetch(FetchRequest((queue,), count=number))
    nack([Nack(job_id, error(code=kind, type=kind)) for job_id in ids])
    return ids


@spec("contract 28.1")
def test_only_flagged_jobs_are_listed_unless_all_are_asked_for() -> None:
    flagged = dead()[0]
    other = JobFactory.create(state=State.DISCARDED, queue="other").id

    listed, total = dead_letters(DeadLetterFilter(), limit=10, offset=0)
    everything, _ = dead_letters(DeadLetterFilter(is_all=True), limit=10, offset=0)

    assert ([job.id for job in listed], total) == ([flagged], 1)
    assert {job.id for job in everything} == {flagged, other}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (DeadLetterFilter(queue="a"), {0}),
        (DeadLetterFilter(type="mail.*"), {0, 1}),
        (DeadLetterFilter(type="mail"), set()),
        (DeadLetterFilter(error_type="Broken"), {1}),
        (DeadLetterFilter(text="SEND"), {0}),
        (DeadLetterFilter(text="it broke"), {0, 1}),
        (DeadLetterFilter(text="100%"), set()),
    ],
)
@spec("contract 28.2")
def test_list_is_filtered(wanted: DeadLetterFilter, found: set[int]) -> None:
    ids = [*dead(queue="a", type="mail.send"), *dead(queue="b", type="mail.x", kind="Broken")]

    listed, total = dead_letters(wanted, limit=10, offset=0)

    assert {ids.index(job.id) for job in listed} == found
    assert total == len(found)


@spec("contract 28.2")
def test_stats_count_by_queue_type_and_error() -> None:
    dead(2, queue="a", type="mail.send")
    dead(1, queue="b", type="mail.x", kind="Broken")

    found = dead_letter.dead_letter_stats()

    assert found.total == 3
    assert found.by_queue == {"a": 2, "b": 1}
    assert found.by_type == {"mail.send": 2, "mail.x": 1}
    assert found.by_error_type == {"handler_error": 2, "Broken": 1}
    assert found.oldest_at is not None
    assert found.newest_at is not None
    assert found.oldest_at <= found.newest_at
    assert not found.is_partial


@spec("contract 28.2")
def test_stats_of_a_tenant_count_its_own_alone() -> None:
    dead(queue="a", meta={"tenant_id": "x"})
    job_id = dead(queue="a")[0]
    Job.objects.filter(id=job_id).update(tenant="north")

    found = dead_letter.dead_letter_stats("north")

    assert (found.total, found.by_queue) == (1, {"a": 1})


@spec("contract 28.2")
def test_stats_say_when_they_do_not_tell_all_apart() -> None:
    dead(3)

    found = dead_letter.dead_letter_stats(looked=2)

    assert found.total == 3
    assert sum(found.by_type.values()) == 2
    assert found.is_partial


@spec("contract 28.2")
def test_retry_starts_anew_keeps_history_and_counts_replays() -> None:
    job_id = dead()[0]
    before = show(job_id)

    dead_letter.retry(job_id)
    claimed = fetch(FetchRequest(("default",))).jobs[0]

    assert (claimed.id, claimed.attempt) == (job_id, 1)
    assert claimed.errors == before.errors
    assert orjson.loads(claimed.meta) == orjson.loads(before.meta)  # the producer's meta
    kept = Replay.objects.get()
    assert (str(kept.job_id), kept.replays, kept.rule) == (job_id, 1, None)
    assert_store_is_sound()


@spec("contract 28.2")
def test_retry_of_a_job_that_is_not_discarded_is_a_conflict() -> None:
    job = JobFactory.create(state=State.COMPLETED)

    with pytest.raises(Conflict) as refused:
        dead_letter.retry(job.id)

    assert refused.value.details["current_state"] == "completed"


@spec("contract 28.2")
def test_override_changes_what_it_names() -> None:
    job_id = dead(meta={"a": 1})[0]

    job = dead_letter.retry(job_id, Override(queue="other", priority=7, args=[1]))

    assert (job.queue, job.priority, orjson.loads(job.args)) == ("other", 7, [1])
    assert orjson.loads(job.meta) == {"a": 1}
    assert_depths_equal_recount()


@spec("contract 28.5")
def test_two_parallel_retries_give_one_job_and_one_conflict() -> None:
    for job_id in dead(8):

        def retry(job_id: str = job_id) -> str:
            try:
                dead_letter.retry(job_id)
            except Conflict:
                return "conflict"
            return "ok"

        assert sorted(at_once([retry, retry])) == ["conflict", "ok"]
    assert Replay.objects.filter(replays=1).count() == 8
    assert_store_is_sound()


@spec("contract 28.5")
def test_retry_and_delete_at_once_leave_one_winner() -> None:
    ids = dead(20)

    def retried() -> set[str]:
        return {i for i in ids if not isinstance(_try(dead_letter.retry, i), Exception)}

    def deleted() -> set[str]:
        return {i for i in ids[::-1] if not isinstance(_try(dead_letter.delete, i), Exception)}

    kept, gone = at_once([retried, deleted])

    assert kept | gone == set(ids)
    assert not kept & gone
    assert {str(i) for i in Job.objects.values_list("id", flat=True)} == kept
    assert_store_is_sound()


def _try(verb: object, job_id: str) -> object:
    try:
        return verb(job_id)  # type: ignore[operator]  # a service
    except (Conflict, NotFound) as problem:
        return problem


@spec("contract 28.2")
def test_bulk_retry_takes_what_matches_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letter, "SLICE", 2)
    ids, others = dead(5, queue="a"), dead(2, queue="b")

    swept = operate.retry_dead_letters(DeadLetterFilter(queue="a"), WHO)

    assert (swept.matched, swept.succeeded, swept.is_truncated) == (5, 5, False)
    assert_state(State.AVAILABLE, *ids)
    assert_state(State.DISCARDED, *others)
    entry = Audit.objects.get(action="dead_letter.bulk_retried")
    assert entry.data == {"matched": 5, "succeeded": 5, "filter": {"queue": "a"}}
    assert_store_is_sound()


@spec("contract 28.2")
def test_bulk_stops_at_its_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letter, "MOST", 3)
    dead(5)

    swept = operate.purge_dead_letters(DeadLetterFilter(), WHO)

    assert (swept.matched, swept.succeeded, swept.is_truncated) == (3, 3, True)
    assert Job.objects.count() == 2
    assert_store_is_sound()


@spec("contract 28.2")
def test_deleted_jobs_leave_nothing_behind() -> None:
    job_id = dead()[0]
    dead_letter.retry(job_id)
    fetch(FetchRequest(("default",)))
    nack([Nack(job_id, error())])
    Progress.objects.create(job_id=job_id, attempt=1)

    dead_letter.delete(job_id)

    assert not Job.objects.exists()
    assert not Finished.objects.exists()
    assert not Progress.objects.exists()
    assert not Replay.objects.exists()


# --- replay rules ---------------------------------------------------------------------------------


def rule(**facts: object) -> ReplayRule:
    chosen = {"name": "r", "position": 0, "delay_ms": 0, "max_replays": 3, **facts}
    return ReplayRule(**chosen)


@spec("contract 28.4")
def test_rule_replays_what_matches_after_its_delay() -> None:
    young, old = dead(queue="a")[0], dead(queue="a")[0]
    other = dead(queue="b")[0]
    Finished.objects.filter(id=old).update(finished_at=Now() - timedelta(hours=2))
    Job.objects.filter(id=old).update(
        finished_at=Finished.objects.filter(id=old).values("finished_at")
    )
    replace_rules([rule(queue="a", delay_ms=3_600_000)], WHO)

    assert replay() == 1

    assert_state(State.AVAILABLE, old)
    assert_state(State.DISCARDED, young, other)
    assert Replay.objects.get().by_rule == {"r": 1}


@spec("contract 28.4")
def test_rule_replays_a_job_at_most_so_often() -> None:
    job_id = dead()[0]
    replace_rules([rule(max_replays=2)], WHO)
    seen = []
    for _ in range(4):
        seen.append(replay())
        fetch(FetchRequest(("default",)))
        nack([Nack(job_id, error())])

    assert seen == [1, 1, 0, 0]
    assert Replay.objects.get().replays == 2


@pytest.mark.parametrize(
    ("facts", "matched"),
    [
        ({"type": "tests.*"}, 1),
        ({"type": "other"}, 0),
        ({"error_type": "Broken"}, 1),
        ({"error_type": "Other"}, 0),
        ({"tenant": "north"}, 0),
        ({"enabled": False}, 0),
    ],
)
@spec("contract 28.4")
def test_rule_matches_by_its_filter(facts: dict[str, object], matched: int) -> None:
    dead(kind="Broken")
    replace_rules([rule(**facts)], WHO)

    assert replay() == matched


@spec("contract 28.4")
def test_two_loops_replay_each_job_once() -> None:
    ids = dead(50)
    replace_rules([rule()], WHO)

    replayed = at_once([replay, replay, replay])

    assert sum(replayed) == len(ids)
    assert set(Replay.objects.values_list("replays", flat=True)) == {1}
    assert_store_is_sound()


@spec("contract 28.4")
def test_rules_are_replaced_as_a_whole() -> None:
    replace_rules([rule(name="a"), rule(name="b", position=1)], WHO)
    replace_rules([rule(name="b")], WHO)

    assert [one.name for one in ReplayRule.objects.all()] == ["b"]
    assert Audit.objects.filter(action="dead_letter.rules_changed").count() == 2


@spec("contract 31.5")
def test_what_fails_is_not_recorded() -> None:
    job = JobFactory.create(state=State.COMPLETED)

    with pytest.raises(Conflict):
        operate.retry_job(job.id, None, WHO)

    assert not Audit.objects.exists()


@spec("contract 31.5")
def test_record_says_who_what_when_and_where_from() -> None:
    job_id = dead()[0]

    operate.retry_dead_letter(job_id, Override(priority=3), WHO)

    entry = Audit.objects.get()
    assert (entry.actor, entry.action, entry.target) == ("tester", "dead_letter.retried", job_id)
    assert (entry.request_id, entry.address) == ("req-1", "10.0.0.1")
    assert entry.data == {"override": ["priority"]}
    assert Event.objects.filter(job_id=job_id, kind=1).count() == 2
