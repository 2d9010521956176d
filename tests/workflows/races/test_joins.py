"""Consequences of the last of many ends happen exactly once. Spec: contract 8.2, 8.4, 8.6."""

from collections.abc import Callable
from random import Random

import pytest

from jobs.domain.errors import Conflict, OJSError
from jobs.domain.job import Job
from jobs.models import Event, Lease
from jobs.queries import ago
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel as cancel_job
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.reap import reap
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once, threads
from tests.factories import error
from tests.spec import spec
from tests.workflows.flows import batch, chain, claimed, created, graph, group, job, run, seen
from workflows.models import Step, Workflow
from workflows.services.cancel import cancel

pytestmark = pytest.mark.usefixtures("store")

THREADS = 16


def share(jobs: list[Job], number: int = THREADS) -> list[list[Job]]:
    """Deal jobs out, so that neighbours end in different threads."""
    return [part for n in range(number) if (part := jobs[n::number])]


def ack_each(jobs: list[Job]) -> Callable[[], object]:
    return lambda: [ack([Ack(one.id)]) for one in jobs]


def ack_all(jobs: list[Job]) -> Callable[[], object]:
    return lambda: ack([Ack(one.id) for one in jobs])


def jobs_of(kind: str) -> int:
    """Count the jobs of a type that were ever stored."""
    return Event.objects.filter(kind=1, type=kind).count()


@pytest.mark.parametrize("members", [THREADS, 200])
@pytest.mark.parametrize("end", [ack_each, ack_all])
@spec("contract 8.4")
def test_callbacks_fire_once_when_siblings_end_at_once(
    members: int, end: Callable[[list[Job]], Callable[[], object]]
) -> None:
    flow = created(
        batch(*[job() for _ in range(members)], on_complete=job("all"), on_success=job("good"))
    )
    jobs = claimed(count=members)

    at_once(end(part) for part in share(jobs))

    assert (jobs_of("all"), jobs_of("good")) == (1, 1)
    assert seen(flow)["jobs_completed"] == members
    run()
    assert seen(flow)["state"] == "completed"
    assert_store_is_sound()


@pytest.mark.parametrize("members", [THREADS, 200])
@spec("contract 8.2")
def test_a_join_begins_once_when_all_before_it_end_at_once(members: int) -> None:
    before = {f"s{n}": "" for n in range(members)}
    flow = created(graph(**before, join=" ".join(before)))
    jobs = claimed(count=members)

    at_once(ack_each(part) for part in share(jobs))

    assert jobs_of("flow.join") == 1
    assert run() == ["flow.join"]
    assert seen(flow)["state"] == "completed"
    assert Event.objects.filter(kind=52).count() == 1


@spec("contract 8.2")
def test_a_diamond_of_many_workflows_in_shared_batches_neither_hangs_nor_repeats() -> None:
    flows = [created(graph(a="", b="", c="a b", d="a b", e="c d")) for _ in range(12)]
    chance = Random(7)  # noqa: S311 - an order, no secret
    while jobs := claimed(count=100):
        chance.shuffle(jobs)
        at_once(ack_all(part) for part in share(jobs, 6))

    assert {seen(flow)["state"] for flow in flows} == {"completed"}
    assert all(jobs_of(f"flow.{name}") == len(flows) for name in "abcde")
    assert_store_is_sound()


@spec("contract 8.2")
def test_nested_workflows_ending_at_once_move_the_outer_one_on_once() -> None:
    inner = [group(*[job("in") for _ in range(8)]) for _ in range(8)]
    flows = [created(chain(group(*inner), job("then"))) for _ in range(3)]
    jobs = claimed(count=100) + claimed(count=100)
    assert len(jobs) == 192
    chance = Random(3)  # noqa: S311 - an order, no secret
    chance.shuffle(jobs)

    at_once(ack_all(part) for part in share(jobs))

    assert jobs_of("then") == len(flows)
    assert run() == ["then"] * len(flows)
    assert {seen(flow)["state"] for flow in flows} == {"completed"}
    assert_store_is_sound()


@spec("contract 8.2")
def test_ends_of_every_kind_at_once_are_each_counted_once() -> None:
    members = 96
    flow = created(batch(*[job(retry={"max_attempts": 1}) for _ in range(members)],
                         on_failure=job("bad"), on_success=job("good")))  # fmt: skip
    jobs = claimed(count=members)
    Lease.objects.filter(id__in=[one.id for one in jobs[::4]]).update(lease_until=ago(1))

    def reap_some() -> None:
        for _ in range(members):
            reap(3)

    def nack_some() -> None:
        nack([Nack(one.id, error(retryable=False)) for one in jobs])

    def cancel_some() -> None:
        for one in reversed(jobs):
            try:
                cancel_job(one.id)
            except Conflict:
                continue

    at_once([reap_some, nack_some, cancel_some, *[ack_each(part) for part in share(jobs, 6)]])

    shown = seen(flow)
    assert shown["jobs_completed"] + shown["jobs_failed"] == members
    assert Workflow.objects.get(id=flow).open == 0
    assert jobs_of("bad") + jobs_of("good") == 1
    assert_store_is_sound()


@spec("contract 8.6")
def test_a_cancel_among_ends_leaves_nothing_that_waits() -> None:
    for round_ in range(6):
        flows = [created(chain(*[job() for _ in range(30)])) for _ in range(4)]

        def work() -> None:
            for _ in range(60):
                for one in claimed(count=3):
                    ack([Ack(one.id)])

        def stop(flow: str) -> None:
            try:
                cancel(flow)
            except OJSError as problem:
                assert isinstance(problem, Conflict)  # noqa: PT017 - which comes first is chance

        with threads(8) as start:
            working = [start(work) for _ in range(4)]
            stopping = [start(lambda flow=flow: stop(flow)) for flow in flows]  # type: ignore[misc]
            for one in [*working, *stopping]:
                one.result()

        assert {seen(flow)["state"] for flow in flows} <= {"completed", "cancelled"}
        assert run() == [], f"round {round_}: a job of a workflow that is over waits"
        live = Step.objects.filter(state__in=(0, 1, 2))
        assert not live.exists(), list(live)
    assert_store_is_sound()


@spec("contract 8.6")
def test_single_cancels_and_a_cancel_of_all_do_not_wait_for_each_other() -> None:
    flow = created(group(*[job() for _ in range(200)]))
    ids = [str(one) for one in Step.objects.values_list("job_id", flat=True)]

    def one_by_one() -> None:
        for job_id in reversed(ids):
            try:
                cancel_job(job_id)
            except Conflict:
                continue

    at_once([one_by_one, one_by_one, lambda: cancel(flow) and None])

    assert seen(flow)["state"] in {"cancelled", "failed"}
    assert_store_is_sound()


@spec("contract 2.4")
def test_revivals_and_ends_at_once_keep_the_numbers() -> None:
    flow = created(group(*[job(retry={"max_attempts": 1}) for _ in range(100)]))
    jobs = claimed(count=100)
    nack([Nack(one.id, error()) for one in jobs[:40]])

    def revive() -> None:
        for one in jobs[:40]:
            retry(one.id)

    at_once([revive, *[ack_each(part) for part in share(jobs[40:99], 6)]])

    assert Workflow.objects.get(id=flow).state == 1
    assert (seen(flow)["jobs_completed"], seen(flow)["jobs_failed"]) == (59, 0)
    assert len(run()) == 40
    ack([Ack(jobs[99].id)])
    assert seen(flow)["state"] == "completed"
    assert_store_is_sound()
