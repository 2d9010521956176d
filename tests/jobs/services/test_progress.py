"""Progress of running attempts. Spec: contract 3.3, 29."""

import pytest

from jobs.domain.claim import FetchRequest
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.states import State
from jobs.models import Lease
from jobs.services.ack import Ack, ack
from jobs.services.dead_letter import retry
from jobs.services.fetch import fetch
from jobs.services.nack import Nack, nack
from jobs.services.progress import Progress, progress_of, report
from jobs.services.show import show
from tests.factories import JobFactory, error

pytestmark = pytest.mark.usefixtures("store")


def shown(job_id: str) -> tuple[float | None, str | None, object]:
    """Return progress, message and data as a reader sees them."""
    found = progress_of(show(job_id))
    return found.fraction, found.message, found.data


def claimed(job_id: str) -> None:
    """Claim the only job there is."""
    assert [job.id for job in fetch(FetchRequest(("default",))).jobs] == [job_id]


def test_nothing_reported_yet_is_none() -> None:
    assert shown(JobFactory.create(state=State.ACTIVE).id) == (None, None, None)


@pytest.mark.parametrize(("sent", "kept"), [(1.5, 1.0), (-1.0, 0.0), (0.4, 0.4)])
def test_pr_2_report_is_clamped(sent: float, kept: float) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    assert report(job.id, Progress(sent, "m", {"rows": 1}))

    assert shown(job.id) == (kept, "m", {"rows": 1})


def test_pr_3_report_of_less_keeps_the_number_and_stores_the_rest() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.8, "far"))

    report(job.id, Progress(0.3, "back", [1]))
    assert shown(job.id) == (0.8, "back", [1])

    report(job.id, Progress(None, "only text"))
    assert shown(job.id) == (0.8, "only text", None)


@pytest.mark.parametrize("state", sorted(set(State) - {State.ACTIVE}))
def test_pr_4_report_for_a_job_that_does_not_run_stores_nothing(state: State) -> None:
    job = JobFactory.create(state=state)

    assert not report(job.id, Progress(0.5))

    assert shown(job.id) == (None, None, None)


def test_pr_5_report_extends_the_lease_and_never_shortens_it() -> None:
    job = JobFactory.create(state=State.ACTIVE, visibility_timeout_ms=60_000)
    before = Lease.objects.get().lease_until

    report(job.id, Progress(0.5))
    extended = Lease.objects.get().lease_until
    Lease.objects.update(lease_ms=1000)
    report(job.id, Progress(0.6))

    assert extended > before
    assert Lease.objects.get().lease_until == extended


def test_pr_6_ack_completes_the_progress_and_a_failure_keeps_it() -> None:
    first, second = (JobFactory.create(state=State.ACTIVE) for _ in range(2))
    report(first.id, Progress(0.5))
    report(second.id, Progress(0.5))

    ack([Ack(first.id)])
    nack([Nack(second.id, error())])

    assert shown(first.id)[0] == 1.0
    assert shown(second.id)[0] == 0.5


def test_pr_7_a_new_attempt_after_a_requeue_starts_empty() -> None:
    job = JobFactory.create(state=State.ACTIVE)
    report(job.id, Progress(0.8, "first holder"))

    nack([Nack(job.id, None, requeue=True)])
    claimed(job.id)

    assert shown(job.id) == (None, None, None)


def test_pr_7_a_new_attempt_after_a_manual_retry_starts_empty() -> None:
    job = JobFactory.create(state=State.ACTIVE, retry={"max_attempts": 1})
    report(job.id, Progress(0.8))
    nack([Nack(job.id, error())])

    retry(job.id)
    claimed(job.id)
    assert shown(job.id) == (None, None, None)

    report(job.id, Progress(0.1))
    assert shown(job.id)[0] == 0.1


def test_pr_12_report_by_another_worker_is_refused() -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")

    with pytest.raises(Conflict) as refused:
        report(job.id, Progress(0.5), worker_id="w2")

    assert refused.value.details["reason"] == "lease_lost"
    assert report(job.id, Progress(0.5), worker_id="w1")


def test_pr_10_report_for_an_unknown_job_with_a_worker_is_refused() -> None:
    with pytest.raises(NotFound):
        report("01234567-89ab-7def-8123-456789abcdef", Progress(0.5), worker_id="w1")
