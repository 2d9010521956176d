"""The isolation models, decided by several processes. Spec: MT 6, 7.3."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from tests.concurrency import at_once
from tests.spec import spec
from tests.tenancy.served.conftest import Served, owners

MODELS = ("namespace", "hybrid", "namespace", "shared") * 3


@spec("MT-6.1-a")
def test_two_namespaces_see_nothing_of_each_other(served: Served) -> None:
    for tenant, number in (("acme", 4), ("beta", 2)):
        served.put(tenant, isolation="namespace")
        served.push(tenant, number)
    served.push(None, 3)

    for tenant, number in (("acme", 4), ("beta", 2)):
        shown = served.send("GET", "queues/default/stats", tenant=tenant)
        assert shown["stats"]["available"] == number
    assert owners(served.fetch()) == [None] * 3
    assert owners(served.fetch(tenant="beta")) == ["beta"] * 2
    assert owners(served.fetch("acme:default")) == ["acme"] * 4


@spec("MT-6.2-a")
def test_a_shared_queue_is_interleaved(served: Served) -> None:
    for tenant, number in (("acme", 300), ("beta", 10)):
        served.put(tenant, isolation="shared")
        for _ in range(number // 10):
            served.push(tenant, 10)

    assert Counter(owners(served.fetch(count=20))) == {"acme": 10, "beta": 10}


@spec("MT-6.3-a")
def test_shards_are_interleaved_and_limited_apart(served: Served) -> None:
    served.put("acme", isolation="hybrid", limits={"max_concurrency": 3})
    served.push("acme", 50)
    served.push("beta", 50)

    assert Counter(owners(served.fetch(count=20))) == {"acme": 3, "beta": 17}


@spec("MT-7.3-a")
def test_a_worker_of_a_tenant_waits_while_others_have_jobs(served: Served) -> None:
    served.push("beta", 5)

    assert served.fetch(tenant="acme", wait_ms=200) == []
    served.push("acme", 1)
    assert owners(served.fetch(tenant="acme")) == ["acme"]


@spec("MT-6.1-a")
def test_a_fetch_that_waits_gets_jobs_that_leave_a_namespace(served: Served) -> None:
    served.put("acme", isolation="namespace")
    served.push("acme", 1)
    got: list[str | None] = []

    def wait() -> None:
        got.extend(owners(served.fetch(wait_ms=20_000)))

    def move() -> None:
        served.put("acme", 200, isolation="hybrid")

    at_once([wait, move])

    assert got == ["acme"]


class Load:
    """Clients of one run: their enqueued and their completed jobs."""

    def __init__(self, served: Served) -> None:
        """Start with empty lists."""
        self.served = served
        self.made: list[str] = []
        self.done: list[str] = []
        self.strayed: list[str | None] = []

    def produce(self, tenant: str) -> None:
        """Enqueue to several queues."""
        for n in range(12):
            self.made += self.served.push(tenant, 5, queue=f"q{n % 3}")

    def take(self, count: int, tenant: str | None = None) -> list[str | None]:
        """Fetch and complete; return the tenants of the jobs."""
        jobs = self.served.fetch("q0", "q1", "q2", tenant=tenant, count=count)
        for job in jobs:
            self.served.ack(job)
            self.done.append(job["id"])
        return owners(jobs)

    def work(self, tenant: str | None) -> None:
        """Fetch and complete until no job comes for a while."""
        idle = 0
        while idle < 8:
            idle = 0 if self.take(4, tenant) else idle + 1

    def move(self) -> None:
        """Switch the tenant's isolation model repeatedly, and record jobs that left a namespace."""
        for model in MODELS:
            self.served.put("acme", 200, isolation=model)
            taken = self.take(3)
            if model == "namespace":
                self.strayed += [one for one in taken if one == "acme"]


@spec("D-MT-6")
def test_a_tenant_moves_under_load_and_every_job_is_done_once(served: Served) -> None:
    served.put("acme")
    load = Load(served)
    producers: list[Callable[[], None]] = [
        partial(load.produce, tenant) for tenant in ("acme", "beta", "acme")
    ]
    workers: list[Callable[[], None]] = [
        partial(load.work, tenant) for tenant in (None, "acme", None)
    ]

    at_once([*producers, *workers, load.move])
    at_once(workers)

    assert load.strayed == []
    assert Counter(load.done) == Counter(load.made)
