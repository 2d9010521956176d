"""Copies of federated jobs of this region. Spec: federation 5.1, contract 23.6."""

from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from federation.domain.config import Mode
from federation.domain.meta import FEDERATION_ID, REGION, REPLICATED_FROM
from federation.models import FederatedJob, ReplicationPosition
from federation.services.replication import capture as module
from federation.services.replication.capture import unread_from
from federation.services.replication.replicate import replicator
from jobs.domain.access.caller import SYSTEM
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Event
from jobs.models import Job as Row
from jobs.services.operate.operate import change_priority
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.record.unread import unread_from as kept_from
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.factories import JobFactory, error, stored
from tests.federation.replication.rig import LOCAL, capture, federate, federated, row
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


@spec("FED-5.1-a")
def test_job_is_noted_as_it_is_and_is_no_copy() -> None:
    federate()
    federation_id = new_id()
    job = federated(federation_id, queue="mail", priority=7)

    capture()

    found = row(job)
    assert str(found.federation_id) == federation_id
    assert (found.type, found.queue, found.state) == ("tests.noop", "mail", "available")
    assert (found.priority, found.attempt, found.tenant) == (7, 0, "_default")
    assert found.enqueued_at == job.created_at.replace(
        microsecond=job.created_at.microsecond // 1000 * 1000
    )
    assert (found.replicated_from, found.winner, found.payload) == (None, True, None)


@pytest.mark.parametrize("state", list(State))
@spec("federation 6")
def test_replication_every_state_is_told(state: State) -> None:
    federate()
    job = JobFactory.create(meta={FEDERATION_ID: new_id()}, state=state)

    capture()

    assert row(job).state == str(state)
    assert (row(job).completed_at is not None) == (job.finished_at is not None)


@spec("federation 6")
def test_replication_each_change_has_a_higher_revision_and_the_same_enqueued_at() -> None:
    federate()
    job = JobFactory.create(meta={FEDERATION_ID: new_id()}, state=State.ACTIVE)
    capture()
    active = row(job)

    nack([Nack(job.id, error())])
    capture()
    retried = row(job)
    cancel(job.id)
    capture()

    revisions = [active.revision, retried.revision, row(job).revision]
    assert revisions == sorted(set(revisions))
    assert (active.state, retried.state, row(job).state) == ("active", "retryable", "cancelled")
    assert retried.attempt == 1
    assert {active.enqueued_at, retried.enqueued_at} == {row(job).enqueued_at}


@spec("federation 6")
def test_replication_what_happened_together_is_one_revision() -> None:
    federate()
    jobs = [JobFactory.create(meta={FEDERATION_ID: new_id()}) for _ in range(3)]
    for job in jobs:
        cancel(job.id)

    capture()

    assert FederatedJob.objects.count() == 3
    last = ReplicationPosition.objects.get().revision
    assert {row(job).revision for job in jobs} == {last, last - 1, last - 2}


@spec("federation 6")
def test_replication_priority_is_told_a_heartbeat_is_not() -> None:
    federate()
    job = federated()
    capture()
    before = row(job).revision

    change_priority(job.id, 9, SYSTEM)
    capture()
    changed = row(job)
    heartbeat(Report("w1"))
    capture()

    assert changed.priority == 9
    assert changed.revision > before
    assert row(job).revision == changed.revision


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {FEDERATION_ID: "no-uuid"},
        {FEDERATION_ID: None},
        {FEDERATION_ID: [new_id]},
        {FEDERATION_ID: "01912e4a-7b3c-7def-8a12-abcdef123456", REPLICATED_FROM: "eu"},
        {FEDERATION_ID: "01912e4a-7b3c-7def-8a12-abcdef123456", REPLICATED_FROM: None},
    ],
)
@spec("FED-6.3-e")
def test_other_jobs_and_copies_are_not_told(meta: dict[str, Any]) -> None:
    federate()
    stored(1, meta=orjson.loads(orjson.dumps(meta, default=str)))

    assert capture() == 1

    assert FederatedJob.objects.count() == 0


@spec("FED-5.1-a")
def test_replication_is_off_unless_somebody_asks_for_it() -> None:
    federate(enabled=False)
    federated()

    assert replicator.run_once() == 0
    assert replicator.due_in_ms() is None
    assert unread_from() is None
    with CaptureQueriesContext(connection) as captured:
        replicator.run_once()

    assert (len(captured), FederatedJob.objects.count()) == (0, 0)


@spec("federation 6")
def test_replication_costs_the_transitions_nothing() -> None:
    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            federated()
        return [one["sql"] for one in captured]

    federated()
    without = statements()
    federate()
    federated()

    assert len(statements()) == len(without) == 1


@spec("federation 6")
def test_replication_record_is_read_in_batches_each_event_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    federate()
    monkeypatch.setattr(module, "BATCH", 3)
    jobs = [federated() for _ in range(10)]

    assert capture() == 10

    assert capture() == 0
    assert {str(one.job_id) for one in FederatedJob.objects.all()} == {job.id for job in jobs}


@spec("federation 6")
def test_replication_events_stay_until_they_are_read() -> None:
    federate()
    federated()

    assert kept_from() == 0
    capture()

    assert kept_from() == int(
        Event.objects.order_by("-stamp", "-seq").values_list("stamp", flat=True)[0]
    )


@spec("federation 6")
def test_replication_end_of_a_job_that_is_gone_is_told() -> None:
    federate()
    job = JobFactory.create(meta={FEDERATION_ID: new_id()}, state=State.ACTIVE)
    capture()
    ack([Ack(job.id)])
    Row.objects.filter(id=job.id).delete()

    capture()

    assert (row(job).state, row(job).completed_at is not None) == ("completed", True)


@spec("federation 6")
def test_replication_jobs_from_before_are_told_once_it_is_enabled() -> None:
    job = federated()
    federate()

    capture()

    assert row(job).state == "available"


@spec("federation 6")
def test_replication_revisions_rise_though_the_database_was_lost() -> None:
    federate()
    job = federated()
    capture()
    before = row(job).revision
    FederatedJob.objects.all().delete()
    ReplicationPosition.objects.all().delete()

    capture()

    assert row(job).revision > before


@spec("federation 6")
def test_replication_revisions_rise_though_the_clock_was_set_back() -> None:
    federate()
    job = federated()
    capture()
    ahead = row(job).revision + 10**12
    ReplicationPosition.objects.update(revision=ahead)

    cancel(job.id)
    capture()

    assert row(job).revision == ahead + 1


# --- mode -----------------------------------------------------------------------------------------


@spec("federation 6")
def test_replication_full_tells_what_another_region_needs_while_the_job_lives() -> None:
    federate(mode=Mode.FULL)
    job = federated(
        args=[{"n": 10**30}], tags=["a"], timeout_ms=5000, scheduled_at="2099-01-01T00:00:00Z"
    )

    capture()
    payload = row(job).payload
    cancel(job.id)
    capture()

    assert payload is not None
    assert payload["args"] == [{"n": 10**30}]
    assert payload["meta"] == orjson.loads(job.meta)
    assert payload["envelope"]["tags"] == ["a"]
    assert payload["envelope"]["scheduled_at"] == "2099-01-01T00:00:00Z"
    assert row(job).payload is None


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("allowed", [False, True])
@spec("FED-7.2-a")
def test_arguments_of_a_pinned_job_stay_in_its_region(mode: Mode, allowed: bool) -> None:
    federate(mode=mode, replicate_pinned_payload=allowed)
    job = federated(meta={REGION: LOCAL}, args=["secret"])

    capture()

    assert row(job).bound_to == "region"
    assert (row(job).payload is not None) == (allowed and mode is Mode.FULL)


@spec("federation 6")
def test_replication_job_that_is_followed_here_is_told_without_its_arguments() -> None:
    federate(mode=Mode.FULL)
    job = federated()
    Row.objects.filter(id=job.id).update(watched=True)

    capture()

    assert (row(job).bound_to, row(job).payload) == ("extension", None)
