"""What routing costs an enqueue, beside a plain one of the same moment."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import httpx

from bench.federation.rig import Rig
from bench.federation.survival import client_of

SLICES, IN_SLICE = 20, 50
DECISIONS = 5_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds, medians of slices that took turns."""

    plain_us: float
    routed_us: float
    decision_us: float  # of routing alone, without any request

    @property
    def ratio(self) -> float:
        """A routed enqueue in plain ones."""
        return self.routed_us / self.plain_us


def measure(rig: Rig) -> Cost:
    """Enqueue to the local region, plainly and by the client, in turns."""
    url = f"{rig.servers['us'].url}/ojs/v1/jobs"
    body = {"type": "bench", "args": ["x"], "queue": "bench"}
    with client_of(rig, "us") as client, httpx.Client(trust_env=False) as plain:

        def enqueue_plainly() -> None:
            plain.post(url, json=body).raise_for_status()

        def enqueue_routed() -> None:
            client.enqueue("bench", ["x"], queue="bench")

        for one in (enqueue_plainly, enqueue_routed):
            _us(one, IN_SLICE)
        slices = [(_us(enqueue_plainly, IN_SLICE), _us(enqueue_routed, IN_SLICE))
                  for _ in range(SLICES)]  # fmt: skip
        decision = _us(client.route, DECISIONS)
    return Cost(
        statistics.median(one for one, _ in slices),
        statistics.median(one for _, one in slices),
        decision,
    )


def _us(action: Callable[[], object], times: int) -> float:
    began = perf_counter()
    for _ in range(times):
        action()
    return (perf_counter() - began) / times * 1e6
