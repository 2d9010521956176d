"""The cost of routing an enqueue, compared with a plain enqueue at the same time."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import httpx

from bench.federation.rig import Rig
from bench.federation.survival import client_of
from federation.domain.meta import DEDUPE_HEADER, FEDERATION_ID, new_federation_id

SLICES, IN_SLICE = 20, 50
DECISIONS = 5_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of an enqueue, medians of alternating slices."""

    plain_us: float  # without a federation id.
    noted_us: float  # the client's request, sent by hand: the region stores the id.
    routed_us: float  # by the client.
    decision_us: float  # of routing alone, without any request

    @property
    def ratio(self) -> float:
        """The cost of routing, in plain enqueues."""
        return self.decision_us / self.plain_us


def measure(rig: Rig) -> Cost:
    """Enqueue to the local region alternately by hand and by the client."""
    url = f"{rig.servers['us'].url}/ojs/v1/jobs"
    body = {"type": "bench", "args": ["x"], "queue": "bench"}
    with client_of(rig, "us") as client, httpx.Client(trust_env=False) as plain:

        def enqueue_plainly() -> None:
            plain.post(url, json=body).raise_for_status()

        def enqueue_noted() -> None:
            meta = {FEDERATION_ID: new_federation_id()}
            headers = {DEDUPE_HEADER: "1"}
            plain.post(url, json={**body, "meta": meta}, headers=headers).raise_for_status()

        def enqueue_routed() -> None:
            client.enqueue("bench", ["x"], queue="bench")

        calls = (enqueue_plainly, enqueue_noted, enqueue_routed)
        for call in calls:
            _us(call, IN_SLICE)
        slices = [[_us(call, IN_SLICE) for call in calls] for _ in range(SLICES)]
        decision = _us(client.route, DECISIONS)
    plain_us, noted_us, routed_us = map(statistics.median, zip(*slices, strict=True))
    return Cost(plain_us, noted_us, routed_us, decision)


def _us(action: Callable[[], object], times: int) -> float:
    began = perf_counter()
    for _ in range(times):
        action()
    return (perf_counter() - began) / times * 1e6
