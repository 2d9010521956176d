"""The speed of replication between regions, and its lag under a steady load."""

import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep

import httpx

from bench.federation.convergence import jobs, mirror
from bench.federation.rig import Rig, until
from federation.domain.meta import FEDERATION_ID, new_federation_id

BATCH = 100
PATIENCE_S = 600.0


@dataclass(slots=True)
class Lag:
    """The lag of the peers of one region while it takes jobs, in milliseconds."""

    rate: float  # stored jobs/s; `asked` is the requested rate
    asked: float
    samples: list[float] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        """The median sample."""
        return statistics.median(self.samples) if self.samples else 0.0

    @property
    def worst_ms(self) -> float:
        """The longest sample."""
        return max(self.samples, default=0.0)


def lag(rig: Rig, per_second: int, seconds: int) -> Lag:
    """Store jobs in us at a rate and measure the lag of its peers, twice a second."""
    found = Lag(0.0, per_second)
    with _sampling(rig, found.samples):
        began = monotonic()
        for n in range(per_second * seconds // BATCH):
            sleep(max(0.0, began + n * BATCH / per_second - monotonic()))
            _store(rig, "us", BATCH)
        found.rate = per_second * seconds / (monotonic() - began)
    return found


def throughput(rig: Rig, number: int) -> float:
    """Return the jobs/s at which a peer catches up after a partition."""
    rig.cut_off("us")
    try:
        for _ in range(number // BATCH):
            _store(rig, "us", BATCH)
        before = len(mirror(rig.servers["eu"]))
    finally:
        rig.heal("us")
    began = monotonic()
    # the breaker must close first: the measurement begins with the first job that arrives
    until(lambda: len(mirror(rig.servers["eu"])) > before, "the first copies", PATIENCE_S)
    first, began = len(mirror(rig.servers["eu"])), monotonic()
    expected = sum(jobs(server) for server in rig.servers.values())
    until(lambda: len(mirror(rig.servers["eu"])) >= expected, "all copies", PATIENCE_S)
    return (expected - first) / max(0.001, monotonic() - began)


def _store(rig: Rig, region: str, number: int) -> None:
    drafts = [
        {
            "type": "bench",
            "args": [n],
            "queue": "bench",
            "meta": {FEDERATION_ID: new_federation_id()},
        }
        for n in range(number)
    ]
    url = f"{rig.servers[region].url}/ojs/v1/jobs/batch"
    httpx.post(url, json={"jobs": drafts}, timeout=60, trust_env=False).raise_for_status()


@contextmanager
def _sampling(rig: Rig, samples: list[float]) -> Iterator[None]:
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.5):
            sample = rig.servers["us"].get("/ojs/v1/admin/federation/replication")
            if sample is not None:
                samples.append(max(float(peer["lag_ms"]) for peer in sample["peers"]))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
