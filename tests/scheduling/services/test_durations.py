"""Tenants that are charged by run time. Spec: contract 20.4 (`cost`: `duration`)."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.models import Charge, Event, Lane, Lease
from jobs.models import Job as JobRow
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import charge as core
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.upkeep.reset import reset
from scheduling.domain.pool_request import parse_pool
from scheduling.extension import FairScheduling
from scheduling.services import pools
from scheduling.services.durations import charge_durations
from tests.concurrency import at_once, wait_until_complete
from tests.effort import examples
from tests.factories import DraftFactory, error
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

COMPLETED, FAILED = 4, 5


def put(cost: str = "duration", **more: object) -> None:
    """Define a pool that charges run time, and let the loop `charge` read it."""
    fairness = {"cost": cost, **more}
    pools.put(parse_pool("p", {"queues": ["q"], "tenant_fairness": fairness}))
    charge_durations()


def store(tenant: str, number: int) -> None:
    """Store jobs of a tenant."""
    enqueue([replace(DraftFactory.create(queue="q"), tenant=tenant) for _ in range(number)])


def take(count: int = 1) -> list[Job]:
    return fetch(FetchRequest((), count, pool="p")).jobs


def end(job: Job, seconds: float) -> None:
    """Complete a job that ran for this time."""
    Lease.objects.filter(id=job.id).update(started_at=F("started_at") - timedelta(seconds=seconds))
    ack([Ack(job.id)])


def charged() -> int:
    """Charge the attempts that ended; return their number."""
    wait_until_complete()
    return charge_durations()


def times() -> dict[str, float]:
    """Return the virtual times of the tenants."""
    return dict(Lane.objects.values_list("tenant", "vt"))


def took() -> dict[str, list[int]]:
    """Return the durations of ended attempts by tenant, in order."""
    found: dict[str, list[int]] = {}
    ended = Event.objects.filter(kind__in=[COMPLETED, FAILED]).order_by("stamp", "seq")
    for tenant, ms in ended.values_list("tenant", "took_ms"):
        found.setdefault(str(tenant), []).append(int(ms or 0))
    return found


@spec("FS-9.2-a")
def test_jobs_that_run_longer_cost_their_tenant_more() -> None:
    put()
    store("long", 150)
    store("short", 300)
    spent: Counter[str] = Counter()
    for _ in range(150):
        (job,) = take()
        seconds = 9 if job.tenant == "long" else 1
        spent[job.tenant] += seconds
        end(job, seconds)
        charged()

    assert abs(spent["long"] - spent["short"]) <= 3 * 9


@spec("FS-9.2-a")
def test_weights_are_of_time_then() -> None:
    put(weights={"long": 3})
    store("long", 150)
    store("short", 300)
    spent: Counter[str] = Counter()
    for _ in range(120):
        (job,) = take()
        seconds = 6 if job.tenant == "long" else 2
        spent[job.tenant] += seconds
        end(job, seconds)
        charged()

    assert abs(spent["long"] / 3 - spent["short"]) <= 3 * 6


def test_a_duration_counts_once_by_the_mean_of_the_batch_it_is_in() -> None:
    put(weights={"A": 2})
    store("A", 4)
    store("B", 4)
    for job in take(6):
        end(job, 8 if job.tenant == "A" else 2)
    before = times()

    assert charged() == 6
    assert charged() == 0

    found = took()
    mean = (sum(map(sum, found.values())) + 3) / 6
    for tenant, weight in (("A", 2), ("B", 1)):
        owed = sum((ms + 0.5) / mean - 1 for ms in found[tenant])
        assert times()[tenant] == pytest.approx(before[tenant] + owed / weight)
    assert Charge.objects.get().mean_ms == pytest.approx(mean)


def test_an_attempt_that_failed_counts_too() -> None:
    put()
    store("A", 2)
    store("B", 2)
    before = {}
    for job in take(4):
        Lease.objects.filter(id=job.id).update(
            started_at=F("started_at") - timedelta(seconds=3 if job.tenant == "A" else 1)
        )
        nack([Nack(job.id, error())])
    before = times()

    assert charged() == 4
    assert times()["A"] > before["A"]
    assert times()["B"] < before["B"]


def test_a_job_that_was_removed_meanwhile_is_charged_to_its_tenant() -> None:
    put()
    store("A", 3)
    store("B", 3)
    for job in take(4):
        end(job, 9 if job.tenant == "A" else 1)
    JobRow.objects.exclude(state=None).delete()
    before = times()

    assert charged() == 4
    assert times()["A"] > before["A"]


def test_nothing_is_charged_where_a_dispatch_costs_the_same() -> None:
    put("dispatch")
    store("A", 3)
    store("B", 3)
    for job in take(4):
        end(job, 9 if job.tenant == "A" else 1)
    before = times()

    assert charged() == 0
    assert times() == before
    assert not Charge.objects.exists()
    assert core.unread_from() is None


def test_what_ended_before_the_switch_is_not_charged_and_after_it_no_more() -> None:
    put("dispatch")
    store("A", 9)
    store("B", 9)
    first, second, third = take(4), take(4), take(4)
    for job in first:
        end(job, 9)
    put()
    assert charged() == 0
    assert FairScheduling().unread_from() is not None
    for job in second:
        end(job, 2)
    assert charged() == 4

    put(enabled=False)
    for job in third:
        end(job, 9)
    assert charged() == 0
    assert not Charge.objects.exists()


@pytest.mark.parametrize("tenant", [None, "B"])
def test_a_tenant_that_is_served_alone_gathers_no_credit(tenant: str | None) -> None:
    put()
    store("A", 30)
    for job in take(8):
        end(job, 60)
    charged()
    if tenant is None:
        take(30)
    store("B", 20)
    start = times()["B"]

    for _ in range(3):
        for job in fetch(FetchRequest((), 5, pool="p", tenant=tenant)).jobs:
            end(job, 1)
        charged()

    assert times()["B"] >= start


def test_loops_that_charge_at_once_charge_each_attempt_once() -> None:
    put()
    store("A", 40)
    store("B", 40)
    for job in take(60):
        end(job, 5 if job.tenant == "A" else 1)
    wait_until_complete()
    before = times()

    assert sum(at_once([charge_durations] * 4)) == 60

    found, mean = took(), Charge.objects.get().mean_ms
    for tenant, known in before.items():
        owed = sum((ms + 0.5) / mean - 1 for ms in found[tenant])
        assert times()[tenant] == pytest.approx(known + owed)


def test_batches_of_the_record_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    put()
    store("A", 9)
    store("B", 9)
    for job in take(18):
        end(job, 5)
    wait_until_complete()
    monkeypatch.setattr(core, "BATCH", 4)

    assert charge_durations() >= 4
    while charge_durations():
        pass
    assert Charge.objects.get().jobs == 18


class Model:
    """Model of the virtual times: each attempt costs its run time divided by the mean."""

    def __init__(self, weights: tuple[int, ...]) -> None:
        self.weights = dict(zip("AB", weights, strict=True))
        self.vts = {"A": 0.0, "B": 0.0}
        self.jobs, self.mean, self.seen = 0, 0.0, 0

    def take(self, tenant: str) -> None:
        assert self.vts[tenant] <= min(self.vts.values()) + 1e-9
        self.vts[tenant] += 1 / self.weights[tenant]

    def charge(self) -> None:
        ended = Event.objects.filter(kind=COMPLETED).order_by("stamp", "seq")[self.seen :]
        batch = [(str(one.tenant), (one.took_ms or 0) + 0.5) for one in ended]
        self.seen += len(batch)
        total = self.jobs * self.mean + sum(ms for _, ms in batch)
        self.jobs += len(batch)
        self.mean = total / max(self.jobs, 1)
        for tenant, ms in batch:
            self.vts[tenant] += (ms / self.mean - 1) / self.weights[tenant]


@spec("FS-9.2-a")
def test_property_the_tenant_that_has_cost_least_for_its_weight_is_next() -> None:
    @settings(
        max_examples=examples(12),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        weights=st.tuples(*[st.sampled_from([1, 2, 5])] * 2),
        steps=st.lists(
            st.tuples(st.integers(1, 3), st.lists(st.sampled_from([0, 1, 3, 20]), max_size=3)),
            min_size=4,
            max_size=20,
        ),
    )
    def check(weights: tuple[int, ...], steps: list[tuple[int, list[int]]]) -> None:
        reset()
        put(weights={"A": weights[0], "B": weights[1]})
        for tenant in "AB":
            store(tenant, 70)
        model, running = Model(weights), list[Job]()
        for number, seconds in steps:
            for _ in range(number):
                running += take()
                model.take(running[-1].tenant)
            for long in seconds:
                if running:
                    end(running.pop(0), long)
            charged()
            model.charge()
            assert times() == pytest.approx(model.vts)

    check()
