"""Progress of active attempts. Spec: contract 3.3, 29."""

import orjson
import pytest

from jobs import queries
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.record.events import Kind
from jobs.domain.states import State
from jobs.models import Event, Later, Lease, Worker
from jobs.models import Progress as Row
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress, progress_of, report
from jobs.services.outcome.reap import reap
from jobs.services.outcome.revive import Override
from jobs.services.outcome.stall import stall
from jobs.services.read.show import show
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.concurrency import at_once
from tests.factories import JobFactory, error
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def shown(job_id: str) -> tuple[float | None, str | None, object]:
    """Return progress, message and data as a reader sees them."""
    found = progress_of(show(job_id))
    return found.fraction, found.message, found.data


def claimed(job_id: str) -> None:
    """Claim the only job."""
    assert [job.id for job in fetch(FetchRequest(("default",))).jobs] == [job_id]


def test_nothing_reported_yet_is_none() -> None:
    assert shown(JobFactory.create(state=State.ACTIVE).id) == (None, None, None)


@pytest.mark.parametrize(("sent", "kept"), [(1.5, 1.0), (-1.0, 0.0), (0.4, 0.4)])
@spec("PR-2")
def test_report_is_clamped(sent: float, kept: float) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    assert report(job.id, Progress(sent, "m", {"rows": 1}))

    assert shown(job.id) == (kept, "m", {"rows": 1})


@spec("PR-3")
def test_report_of_less_keeps_the_number_and_stores_the_rest() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.8, "far"))

    report(job.id, Progress(0.3, "back", [1]))
    assert shown(job.id) == (0.8, "back", [1])

    report(job.id, Progress(None, "only text"))
    assert shown(job.id) == (0.8, "only text", None)


@pytest.mark.parametrize("state", sorted(set(State) - {State.ACTIVE}))
@spec("PR-4")
def test_report_for_a_job_that_does_not_run_stores_nothing(state: State) -> None:
    job = JobFactory.create(state=state)

    assert not report(job.id, Progress(0.5))

    assert shown(job.id) == (None, None, None)


@spec("PR-5")
def test_report_extends_the_lease_and_never_shortens_it() -> None:
    job = JobFactory.create(state=State.ACTIVE, visibility_timeout_ms=60_000)
    whole = Lease.objects.get().lease_until

    report(job.id, Progress(0.5))
    assert Lease.objects.get().lease_until == whole  # unchanged while more than two thirds remain

    Lease.objects.update(lease_until=ago(-30_000))
    report(job.id, Progress(0.6))
    extended = Lease.objects.get().lease_until
    assert extended > whole

    Lease.objects.update(lease_ms=1000)
    report(job.id, Progress(0.7))
    assert Lease.objects.get().lease_until == extended


@spec("PR-6")
def test_ack_completes_the_progress_and_a_failure_keeps_it() -> None:
    first, second = (JobFactory.create(state=State.ACTIVE) for _ in range(2))
    report(first.id, Progress(0.5))
    report(second.id, Progress(0.5))

    ack([Ack(first.id)])
    nack([Nack(second.id, error())])

    assert shown(first.id)[0] == 1.0
    assert shown(second.id)[0] == 0.5


@spec("PR-7")
def test_a_new_attempt_after_a_requeue_starts_empty() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.8, "first holder"))

    nack([Nack(job.id, None, requeue=True)])
    claimed(job.id)

    assert shown(job.id) == (None, None, None)


@spec("PR-7")
def test_a_new_attempt_after_a_manual_retry_starts_empty() -> None:
    job = JobFactory.create(state=State.ACTIVE, retry={"max_attempts": 1})
    report(job.id, Progress(0.8))
    nack([Nack(job.id, error())])

    retry(job.id)
    claimed(job.id)
    assert shown(job.id) == (None, None, None)

    report(job.id, Progress(0.1))
    assert shown(job.id)[0] == 0.1


@spec("PR-12")
def test_report_by_another_worker_is_refused() -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    with pytest.raises(Conflict) as refused:
        report(job.id, Progress(0.5), worker_id="w2")

    assert refused.value.details["reason"] == "lease_lost"
    assert report(job.id, Progress(0.5), worker_id="w1")


@spec("PR-10")
def test_report_for_an_unknown_job_with_a_worker_is_refused() -> None:
    with pytest.raises(NotFound):
        report("01234567-89ab-7def-8123-456789abcdef", Progress(0.5), worker_id="w1")


@spec("PR-7")
def test_the_last_report_of_an_earlier_attempt_is_kept() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.8, "first", {"rows": 1}))
    nack([Nack(job.id, error())])
    Later.objects.update(due_at=ago(1000))
    claimed(job.id)

    before = progress_of(show(job.id)).history
    report(job.id, Progress(0.1))
    after = progress_of(show(job.id)).history

    assert [(one["attempt"], one["progress"], one["message"], one["data"]) for one in before] == [
        (1, 0.8, "first", {"rows": 1})
    ]
    assert before == after


@spec("PR-7")
def test_a_requeue_keeps_the_history_of_the_attempts_before() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.8))
    nack([Nack(job.id, error())])
    for number in (0.3, 0.4):
        Later.objects.update(due_at=ago(1000))
        claimed(job.id)
        report(job.id, Progress(number))
        nack([Nack(job.id, None, requeue=True)])

    claimed(job.id)

    assert shown(job.id) == (None, None, None)
    assert [one["progress"] for one in progress_of(show(job.id)).history] == [0.8]


@spec("PR-8")
def test_many_reports_keep_the_newest_and_tell_once_a_second() -> None:
    job = JobFactory.create(state=State.ACTIVE)

    for n in range(50):
        report(job.id, Progress(n / 100, str(n)))
    Row.objects.update(told_at=ago(1000))
    report(job.id, Progress(0.6))

    assert shown(job.id)[0] == 0.6
    assert Event.objects.filter(kind=Kind.PROGRESS).count() == 2


@spec("contract 29")
def test_reaching_the_end_is_told_once() -> None:
    job = JobFactory.create(state=State.ACTIVE)

    for number in (0.5, 1.0, 1.0):
        report(job.id, Progress(number))

    assert Event.objects.filter(kind=Kind.PROGRESS_COMPLETED).count() == 1


@pytest.mark.parametrize("end", ["fail", "requeue", "lease"])
@spec("PR-9")
def test_checkpoint_is_in_the_next_fetch(end: str) -> None:
    job = JobFactory.create(state=State.ACTIVE, x_other=1)
    report(job.id, Progress(0.5, checkpoint={"row": 5}))
    report(job.id, Progress(0.6))  # keeps the checkpoint
    if end == "lease":
        Lease.objects.update(lease_until=ago(1))
        reap()
    else:
        nack([Nack(job.id, None if end == "requeue" else error(), requeue=end == "requeue")])
        Later.objects.update(due_at=ago(1000))

    again = fetch(FetchRequest(("default",))).jobs[0]

    attributes = orjson.loads(again.attributes)
    assert (attributes["last_checkpoint"], attributes["x_other"]) == ({"row": 5}, 1)


@spec("PR-9")
def test_checkpoint_survives_an_attempt_without_one_and_ends_with_completion() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(checkpoint=[1]))
    for _ in range(2):
        nack([Nack(job.id, None, requeue=True)])
        again = fetch(FetchRequest(("default",))).jobs[0]
        assert orjson.loads(again.attributes)["last_checkpoint"] == [1]

    ack([Ack(job.id)])

    assert "last_checkpoint" not in orjson.loads(show(job.id).attributes)


@spec("PR-9")
def test_retry_by_hand_keeps_the_checkpoint_as_long_as_the_args() -> None:
    dead = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    ids = [JobFactory.create(state=State.ACTIVE, retry=dead).id for _ in range(2)]
    for job_id in ids:
        report(job_id, Progress(checkpoint=7))
        nack([Nack(job_id, error())])

    retry(ids[0])
    retry(ids[1], Override(args=[2]))

    same, other = fetch(FetchRequest(("default",), count=2)).jobs
    assert orjson.loads(same.attributes)["last_checkpoint"] == 7
    assert "last_checkpoint" not in orjson.loads(other.attributes)


@spec("PR-9")
def test_producer_cannot_set_a_checkpoint() -> None:
    job = JobFactory.create(last_checkpoint={"row": 1}, progress=0.5)

    assert not {"last_checkpoint", "progress"} & orjson.loads(job.attributes).keys()


@spec("PR-5")
def test_report_is_a_sign_of_life_of_a_worker_that_heartbeats() -> None:
    heartbeat(Report("w1"))
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    Worker.objects.update(last_heartbeat_at=ago(20_000))

    report(job.id, Progress(0.5), worker_id="w1")

    assert Worker.objects.filter(last_heartbeat_at__gt=ago(10_000)).exists()


@spec("PR-5")
def test_heartbeats_and_reports_at_once_do_not_wait_for_each_other() -> None:
    heartbeat(Report("w1"))
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    def reports() -> None:
        for n in range(60):
            Worker.objects.update(last_heartbeat_at=ago(20_000))
            report(job.id, Progress(n / 100), worker_id="w1")

    def beats() -> None:
        for _ in range(60):
            heartbeat(Report("w1", active_ids=(job.id,)))

    at_once([reports, beats, beats])

    assert shown(job.id)[0] == 0.59


@spec("contract 29")
def test_job_that_stops_reporting_is_told_once_until_it_reports_again() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.5))
    assert stall() == 0

    for _ in range(2):
        Row.objects.update(updated_at=ago(400_000), told_at=ago(400_000))
        stall()
        stall()

    assert Event.objects.filter(kind=Kind.PROGRESS_STALLED).count() == 1
    assert queries.stalled(10) == {("default", "_default"): 1}
    report(job.id, Progress(0.6))
    assert queries.stalled(10) == {}


@spec("contract 29")
def test_job_that_ended_does_not_stall() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.5))
    ack([Ack(job.id)])
    Row.objects.update(updated_at=ago(400_000), told_at=ago(400_000))

    assert stall() == 1
    assert stall() == 0  # each job is examined once

    assert not Event.objects.filter(kind=Kind.PROGRESS_STALLED).exists()
