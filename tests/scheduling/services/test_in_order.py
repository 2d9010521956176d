"""Queues in order of age, compared with a model: a list. Spec: contract 20.4, FS-9."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.domain.dispatch.claim import FetchRequest
from jobs.models import Job, Lane, Ready
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.upkeep.reset import reset
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tests.asserts import assert_store_is_sound
from tests.effort import examples
from tests.factories import DraftFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

FAIR, IN_ORDER = {"weights": {"t1": 3}}, {"enabled": False}


class Store:
    """The queue and its model: expected waiting jobs by priority, oldest first."""

    def __init__(self) -> None:
        reset()
        self.order: list[tuple[int, int, str, str]] = []  # negated priority, number, id, tenant
        self.active: list[tuple[int, int, str, str]] = []
        self.number = 0
        self.share(IN_ORDER)

    def share(self, fairness: Mapping[str, object]) -> None:
        pools.put(parse_pool("p", {"queues": ["q"], "tenant_fairness": fairness}))

    def append(self, rank: int, job_id: str, tenant: str) -> None:
        self.number += 1
        self.order.append((rank, self.number, job_id, tenant))

    def store(self, tenants: list[int], priority: int) -> None:
        drafts = [
            replace(DraftFactory.create(queue="q", priority=priority), tenant=f"t{n}")
            for n in tenants
        ]
        for job in enqueue(drafts):
            assert job is not None
            self.append(-priority, job.id, job.tenant)

    def claim(self, count: int, tenant: int | None = None) -> None:
        bound = None if tenant is None else f"t{tenant}"
        expected = [one for one in sorted(self.order) if bound in (None, one[3])][:count]

        found = fetch(FetchRequest((), count, pool="p", tenant=bound)).jobs

        assert [job.id for job in found] == [one[2] for one in expected]
        self.order = [one for one in self.order if one not in expected]
        self.active += expected

    def give_back(self, at: int) -> None:
        """Requeue an active job: it becomes available again at its old place."""
        if self.active:
            given = self.active.pop(at % len(self.active))
            nack([Nack(given[2], None, requeue=True)])
            self.order.append(given)

    def end(self, at: int) -> None:
        if self.active:
            ack([Ack(self.active.pop(at % len(self.active))[2])])

    def cancel(self, at: int) -> None:
        if self.order:
            cancel(self.order.pop(at % len(self.order))[2])

    def expire(self, at: int) -> None:
        if self.order:
            job_id = self.order.pop(at % len(self.order))[2]
            for model in (Job, Ready):
                model.objects.filter(id=job_id).update(expires_at=ago(1000))

    def switch(self, fairness: Mapping[str, object], count: int) -> None:
        """Let tenants share for the next jobs, then return to the order of age.

        The model accepts any job while tenants share.
        """
        self.share(fairness)
        for job in fetch(FetchRequest((), count, pool="p")).jobs:
            (one,) = (one for one in self.order if one[2] == job.id)
            self.order.remove(one)
            self.active.append(one)
        self.share(IN_ORDER)


number = st.integers(0, 9)
STEPS: st.SearchStrategy[Callable[[Store], None]] = st.one_of(
    *[st.builds(lambda t, p: lambda s: s.store(t, p),
                st.lists(st.integers(0, 12), min_size=1, max_size=9),
                st.sampled_from([0, 0, 0, 7]))] * 3,
    *[st.builds(lambda n: lambda s: s.claim(n), st.integers(1, 12))] * 3,
    st.builds(lambda n, t: lambda s: s.claim(n, t), st.integers(1, 4), st.integers(0, 3)),
    st.builds(lambda n: lambda s: s.give_back(n), number),
    st.builds(lambda n: lambda s: s.end(n), number),
    st.builds(lambda n: lambda s: s.cancel(n), number),
    st.builds(lambda n: lambda s: s.expire(n), number),
    st.builds(lambda n: lambda s: s.switch(FAIR, n), st.integers(1, 6)),
)  # fmt: skip


@spec("FS-9.1-a")
def test_whatever_happens_the_oldest_job_is_next() -> None:
    @settings(
        max_examples=examples(25),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(STEPS, min_size=5, max_size=30))
    def check(steps: list[Callable[[Store], None]]) -> None:
        store = Store()
        for step in steps:
            step(store)
        store.claim(500)
        assert not store.order
        assert_store_is_sound()

    check()


def test_an_order_is_kept_where_many_lanes_lag_behind_their_jobs() -> None:
    store = Store()
    store.store(list(range(300)), 0)
    store.store([400, 401], 0)
    store.store(list(range(300)), 0)
    for _ in range(300):
        store.cancel(0)

    store.claim(1)
    store.claim(30)
    store.claim(1)
    store.claim(500)


def test_lanes_that_ran_empty_leave_the_index() -> None:
    store = Store()
    store.store(list(range(20)), 0)
    store.claim(20)
    store.claim(1)

    assert not Lane.objects.filter(active=True).exists()
