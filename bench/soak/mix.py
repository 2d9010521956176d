"""A mixed load: batches, priorities, later and unique jobs, workflows, cancels and failures."""

import random
import threading
from collections.abc import Callable
from typing import Any, Final

from bench.faults.load import Client, Load
from bench.names import ARGS, CLAIMED, NOOP

MIXED: Final = "mixed"
TYPE: Final = "bench.mixed"
TENANTS: Final = 20
TICK_S: Final = 1.0
WORK_S: Final = 0.05
BATCH: Final = 50  # jobs of a second
HANDLED: Final = 50  # of them for `runworker`
LATER: Final = 10
UNIQUE: Final = 10
KEYS: Final = 40  # of unique jobs, so that some are refused
MEMBERS: Final = 5
FETCHED: Final = 25
# shares of the jobs that a worker fails
FAILS, DISCARDS = 0.06, 0.01
RETRY: Final = {"max_attempts": 5, "initial_interval": "PT1S", "max_interval": "PT5S"}


class Mix:
    """Threads that store and run jobs of all kinds beside a `Load`, until `stop`."""

    def __init__(self, load: Load, seed: int) -> None:
        """Start the producers and two workers."""
        self._load = load
        self._over, self._full = threading.Event(), threading.Event()
        stores = (self._batches, self._handled, self._later, self._unique, self._flows)
        self._producers = [
            load.start(self._repeat, store, seed + n) for n, store in enumerate(stores)
        ]
        self._workers = [load.start(self._work, f"mixed-{n}", seed - n) for n in range(2)]

    def end_producers(self) -> None:
        """End the producers; the workers go on."""
        self._full.set()
        for thread in self._producers:
            thread.join()

    def stop(self) -> None:
        """End the workers."""
        self._over.set()
        for thread in self._workers:
            thread.join()

    def _repeat(self, store: Callable[[Client, random.Random], None], seed: int) -> None:
        client, draw = self._load.client(), random.Random(seed)  # noqa: S311 - repeatable
        while not self._full.wait(TICK_S):
            store(client, draw)

    def _batches(self, client: Client, draw: random.Random) -> None:
        client.ask(
            "jobs/batch", jobs=[_job(draw, priority=draw.randrange(10)) for _ in range(BATCH)]
        )

    def _handled(self, client: Client, _draw: random.Random) -> None:
        one = {"type": NOOP, "args": ARGS, "options": {"queue": CLAIMED}}
        client.ask("jobs/batch", jobs=[one] * HANDLED)

    def _later(self, client: Client, draw: random.Random) -> None:
        """Store jobs for later, and cancel one of them."""
        jobs = [_job(draw, scheduled_at=f"+PT{draw.randrange(2, 60)}S") for _ in range(LATER)]
        found = client.ask("jobs/batch", jobs=jobs)
        if found and found.get("jobs"):
            client.cancel(found["jobs"][0]["id"])

    def _unique(self, client: Client, draw: random.Random) -> None:
        for _ in range(UNIQUE):
            client.ask("jobs", **_job(draw, [draw.randrange(KEYS)]), unique={"period": "PT1M"})

    def _flows(self, client: Client, draw: random.Random) -> None:
        tenant = draw.randrange(TENANTS)  # a workflow has one
        one = _job(draw, tenant=tenant)
        steps = [one, {"type": "group", "jobs": [one] * MEMBERS}, one]
        client.ask("workflows", type="chain", name="soak", steps=steps)

    def _work(self, name: str, seed: int) -> None:
        client, draw = self._load.client(), random.Random(seed)  # noqa: S311 - repeatable
        while not self._over.wait(WORK_S):
            done: list[dict[str, Any]] = []
            for job_id in client.fetch(MIXED, name, FETCHED):
                share = draw.random()
                self._load.journal.answer(job_id)
                if share < FAILS:
                    retryable = share >= DISCARDS
                    error = {"type": "SoakError", "message": "as planned", "retryable": retryable}
                    client.ask("workers/nack", job_id=job_id, worker_id=name, error=error)
                else:
                    done.append({"job_id": job_id, "worker_id": name})
            if done:
                client.ask("workers/ack/batch", acks=done)


def _job(
    draw: random.Random, args: list[Any] | None = None, tenant: int | None = None, **options: Any
) -> dict[str, Any]:
    meta = {"tenant_id": f"tenant-{draw.randrange(TENANTS) if tenant is None else tenant}"}
    return {
        "type": TYPE,
        "args": args or ARGS,
        "meta": meta,
        "options": {"queue": MIXED, "retry": RETRY, **options},
    }
