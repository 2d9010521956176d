"""Enqueue during the death of a region: the promised jobs against the stored jobs."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

from bench.federation.rig import Rig, until
from federation.client import (
    CircuitBreaker,
    Failover,
    FederatedClient,
    FederationConfig,
    HealthCheck,
    OJSError,
    Region,
)
from federation.domain.meta import FAILOVER_REASON, FEDERATION_ID, REGION, new_federation_id
from jobs.domain.states import CODES, State

PIN_EVERY = 10
JOBS = f"""
SELECT coalesce(meta->>'{FEDERATION_ID}', ''), coalesce(meta->>'{REGION}', ''),
       coalesce(meta->>'{FAILOVER_REASON}', '')
  FROM ojs_job WHERE type = 'survival'
"""  # noqa: S608 - names of ours
LIVING = f"""
SELECT meta->>'{FEDERATION_ID}' FROM ojs_job
 WHERE type = 'survival' AND state IS DISTINCT FROM {CODES[State.CANCELLED]}
"""  # noqa: S608 - names of ours
DOUBTS = "SELECT count(*) FROM ojs_federation_doubt"
SETTLE_S = 120.0


@dataclass(slots=True)
class Found:
    """The balance."""

    asked: int
    promised: Counter[str] = field(default_factory=Counter)  # jobs by the region that took them.
    refused_pins: int = 0
    refused: int = 0
    lost: set[str] = field(default_factory=set)  # promised, and in no database.
    doubled: set[str] = field(default_factory=set)  # more than once in one region.
    in_two: set[str] = field(default_factory=set)  # in two regions after a lost answer.
    unexplained: set[str] = field(default_factory=set)  # in two regions without a lost answer.
    misplaced: set[str] = field(default_factory=set)  # pinned, and elsewhere.
    alive_twice: set[str] = field(default_factory=set)  # after the regions resolved their doubts.
    ended: set[str] = field(default_factory=set)  # cancelled everywhere


def survive(
    rig: Rig, jobs: int, *, victim: str = "us", is_noticed: Callable[[], bool] = lambda: True
) -> Found:
    """Enqueue `jobs` from eight threads; kill a region after a third, restart it after two thirds.

    The restart waits until `is_noticed` holds. Each tenth job is pinned to the region. A refused
    job is not sent again.
    """
    run = _Run(rig, victim, jobs, is_noticed)
    with client_of(rig, victim) as client, ThreadPoolExecutor(8) as pool:
        for one in [pool.submit(run.work, client) for _ in range(8)]:
            one.result()
    rig.servers[victim].wait()
    until(lambda: not _doubts(rig), "an end of all doubts", SETTLE_S)
    _balance(rig, run.found, run.taken)
    return run.found


class _Run:
    """The shared state of eight threads."""

    def __init__(self, rig: Rig, victim: str, jobs: int, is_noticed: Callable[[], bool]) -> None:
        self._rig, self._victim, self._jobs = rig, victim, jobs
        self._is_noticed = is_noticed
        self.found = Found(jobs)
        self.taken: dict[str, str] = {}
        self._lock, self._numbers, self._is_down = threading.Lock(), count(), threading.Event()

    def work(self, client: FederatedClient) -> None:
        """Enqueue until all jobs were sent."""
        while (n := next(self._numbers)) < self._jobs:
            if n == self._jobs // 3:
                self._rig.servers[self._victim].kill()
                self._is_down.set()
            if n == 2 * self._jobs // 3:
                self._is_down.wait()
                until(self._is_noticed, "that somebody notices", 60)
                self._rig.servers[self._victim].start()
            self._enqueue(client, n)

    def _enqueue(self, client: FederatedClient, n: int) -> None:
        pin = self._victim if n % PIN_EVERY == 0 else None
        federation_id = new_federation_id()
        try:
            result = client.enqueue(
                "survival", [n], queue="survival", region=pin, federation_id=federation_id
            )
        except OJSError:
            with self._lock:
                self.found.refused_pins += pin is not None
                self.found.refused += pin is None
            return
        with self._lock:
            self.taken[federation_id] = result.region
            self.found.promised[result.region] += 1


def client_of(rig: Rig, local: str) -> FederatedClient:
    """Return a client next to a region, without a proxy to the regions."""
    regions = tuple(
        Region(region, server.url, allow_insecure=True) for region, server in rig.servers.items()
    )
    return FederatedClient(
        FederationConfig(
            local, regions,
            health_check=HealthCheck(interval_seconds=0.5, timeout_seconds=2),
            circuit_breaker=CircuitBreaker(failure_threshold=5, cooldown_seconds=2),
            failover=Failover(max_redirects=3),
            load_interval_seconds=1,
        )
    )  # fmt: skip


def stored(rig: Rig) -> Iterator[tuple[str, str, str, str]]:
    """Yield region, federation id, pin and failover reason of each job."""
    for region, server in rig.servers.items():
        for federation_id, pin, reason in server.rows(JOBS):
            yield region, federation_id, pin, reason


def _doubts(rig: Rig) -> int:
    """Return the number of doubts that regions have not resolved yet."""
    return sum(int(server.rows(DOUBTS)[0][0]) for server in rig.servers.values())


def _balance(rig: Rig, found: Found, taken: Mapping[str, str]) -> None:
    places: dict[str, list[str]] = {}
    ambiguous: set[str] = set()
    for region, federation_id, pin, reason in stored(rig):
        places.setdefault(federation_id, []).append(region)
        if pin and pin != region:
            found.misplaced.add(federation_id)
        if reason == "ambiguous":
            ambiguous.add(federation_id)
    found.lost = {id for id, region in taken.items() if region not in places.get(id, ())}  # noqa: A001
    living = Counter(row[0] for server in rig.servers.values() for row in server.rows(LIVING))
    found.alive_twice = {one for one, number in living.items() if number > 1}
    found.ended = places.keys() - living.keys()
    for federation_id, regions in places.items():
        if len(set(regions)) < len(regions):
            found.doubled.add(federation_id)
        if len(set(regions)) > 1:
            (found.in_two if federation_id in ambiguous else found.unexplained).add(federation_id)
