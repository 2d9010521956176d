"""The health of the regions as a router has it at one moment. Spec: contract 23.4."""

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
    breaker: State = State.CLOSED  # as of now: half-open once the cooldown is over
    is_probed: bool = False  # half-open, and its one call is in flight
    latency_ms: float | None = None
    retry_in_s: float = 0.0  # until the breaker admits a call

    @property
    def is_admitting(self) -> bool:
        """Whether the breaker would admit one more call."""
        return self.breaker is State.CLOSED or (
            self.breaker is State.HALF_OPEN and not self.is_probed
        )

    @property
    def is_routable(self) -> bool:
        """Whether jobs may be sent there."""
        return self.status is Status.HEALTHY and self.is_admitting

    @property
    def wants_probe(self) -> bool:
        """Whether a probe now could improve the stored status."""
        return self.is_admitting and (
            self.status is Status.UNKNOWN
            or (self.status is Status.UNHEALTHY and self.breaker is State.HALF_OPEN)
        )

    @property
    def latency(self) -> float:
        """Milliseconds for sorting: unmeasured regions come last."""
        return float("inf") if self.latency_ms is None else self.latency_ms


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs of one region, and the time of the count in seconds of the router's clock."""

    available: int
    active: int
    at: float


NEVER_PROBED = Health()
OK = "ok"
HEALTHY_TOO = "healthy"  # of foreign servers, with `accept_healthy`
HTTP_OK = 200


def verdict(status_code: int, body: object, *, accept_healthy: bool = False) -> Status:
    """Judge the answer of `GET /ojs/v1/health`; `body` is its JSON, None if it is no JSON.

    Spec: federation 4.2, D-FED-8.
    """
    said = body.get("status") if isinstance(body, dict) else None
    is_fine = said == OK or (accept_healthy and said == HEALTHY_TOO)
    return Status.HEALTHY if status_code == HTTP_OK and is_fine else Status.UNHEALTHY
