"""All operations at once on few tenants and queues: a single lock order prevents deadlocks."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest
from django.db import connection, transaction

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from tenancy.domain.tenant import Definition, TenantLimits
from tenancy.services.tenants import put
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.factories import DraftFactory, error
from tests.workflows.flows import chain, created, group, job

pytestmark = pytest.mark.usefixtures("store")

THREADS, OPERATIONS = 8, 20
TENANTS, QUEUES = ("blue", "green", "red"), ("a", "b", "c")
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


def deadlocks() -> int:
    """Return the number of deadlocks so far; sessions report theirs at their end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(DEADLOCKS)
        return int(cursor.fetchone()[0])


class Client:
    """A thread that runs random operations."""

    def __init__(self, seed: int) -> None:
        """Seed the random choices."""
        self.random = Random(seed)  # noqa: S311 - no secret
        self.held: list[str] = []
        self.stored: list[str] = []

    def __call__(self) -> None:
        """Run OPERATIONS random operations."""
        for _ in range(OPERATIONS):
            with suppress(OJSError):
                self.random.choice(self.acts())()

    def acts(self) -> list[Callable[[], object]]:
        """Return the operations to choose from."""
        return [
            self.enqueue, self.enqueue, self.enqueue_each, self.flow, self.flow, self.fetch,
            self.fetch, self.ack, self.ack, self.nack, self.cancel, self.limit, self.bound,
            self.in_transaction,
        ]  # fmt: skip

    def options(self) -> dict[str, object]:
        return {
            "queue": self.random.choice(QUEUES),
            "priority": self.random.randrange(20),
            "meta": {"tenant_id": self.random.choice(TENANTS)},
        }

    def enqueue(self) -> None:
        number = self.random.randrange(1, 4)
        drafts = [DraftFactory.create(**self.options()) for _ in range(number)]
        self.stored += [one.id for one in enqueue(drafts) if one is not None]

    def in_transaction(self) -> None:
        with transaction.atomic():
            self.enqueue()

    def enqueue_each(self) -> None:
        enqueue_each([DraftFactory.create(**self.options()) for _ in range(4)])

    def flow(self) -> None:
        tenant = {"tenant_id": self.random.choice(TENANTS)}
        steps = [
            job(meta=tenant, options={"queue": queue, "priority": self.random.randrange(20)})
            for queue in self.random.sample(QUEUES, 2)
        ]
        created(self.random.choice([chain, group])(*steps))

    def fetch(self) -> None:
        found = fetch(FetchRequest(tuple(self.random.sample(QUEUES, 2)), 3)).jobs
        self.held += [one.id for one in found]

    def ack(self) -> None:
        held, self.held = self.held, []
        ack([Ack(one) for one in held])

    def nack(self) -> None:
        if self.held:
            nack([Nack(self.held.pop(), error())])

    def cancel(self) -> None:
        if self.stored:
            cancel(self.stored.pop())

    def limit(self) -> None:
        most = self.random.choice([None, 5, 1000])
        put(self.random.choice(TENANTS), Definition(limits=TenantLimits(max_queue_depth=most)))

    def bound(self) -> None:
        bound = {"max_depth": self.random.choice([20, 1000]), "strategy": "reject"}
        configure(self.random.choice(QUEUES), {"backpressure": bound})


@pytest.mark.parametrize("seed", [1, 2])
def test_mixed_work_meets_no_deadlock(seed: int) -> None:
    before = deadlocks()

    at_once([Client(seed * 1000 + n) for n in range(THREADS)])

    assert deadlocks() == before
    assert_store_is_sound()
