"""What a router knows of the regions at one moment. Spec: contract 23.4."""

from dataclasses import dataclass
from enum import StrEnum

from federation.domain.breaker import State


class Status(StrEnum):
    """The last probe's verdict; wire names."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"  # never probed


@dataclass(frozen=True, slots=True)
class Health:
    """State of one region."""

    status: Status = Status.UNKNOWN
    breaker: State = State.CLOSED  # as of now: an open one whose cooldown is over is half-open
    is_probed: bool = False  # half-open, and its one call is in flight
    latency_ms: float | None = None
    retry_in_s: float = 0.0  # until the breaker lets a call pass

    @property
    def is_admitting(self) -> bool:
        """Tell whether the breaker would let one more call pass."""
        return self.breaker is State.CLOSED or (
            self.breaker is State.HALF_OPEN and not self.is_probed
        )

    @property
    def is_routable(self) -> bool:
        """Tell whether jobs may be sent there."""
        return self.status is Status.HEALTHY and self.is_admitting

    @property
    def wants_probe(self) -> bool:
        """Tell whether a probe now would say more than what is known."""
        return self.is_admitting and (
            self.status is Status.UNKNOWN
            or (self.status is Status.UNHEALTHY and self.breaker is State.HALF_OPEN)
        )

    @property
    def latency(self) -> float:
        """Return milliseconds to sort by: what was never measured comes last."""
        return float("inf") if self.latency_ms is None else self.latency_ms


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs of one region, and the time (seconds of the router's clock) they were counted at."""

    available: int
    active: int
    at: float


NOTHING_KNOWN = Health()
OK = "ok"
HEALTHY_TOO = "healthy"  # of foreign servers, with `accept_healthy`
HTTP_OK = 200


def verdict(status_code: int, body: object, *, accept_healthy: bool = False) -> Status:
    """Judge the answer of `GET /ojs/v1/health`; `body` is its JSON, None when it was none.

    Spec: federation 4.2, D-FED-8.
    """
    said = body.get("status") if isinstance(body, dict) else None
    is_fine = said == OK or (accept_healthy and said == HEALTHY_TOO)
    return Status.HEALTHY if status_code == HTTP_OK and is_fine else Status.UNHEALTHY
