"""A worker's request for a queue strategy. Spec: fair-scheduling 5.2, 14.1."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from jobs.domain.dispatch.claim import MAX_WEIGHT, STRATEGIES, Declaration
from jobs.domain.errors import Unprocessable
from jobs.domain.wire import jsonio
from jobs.domain.wire.names import QUEUE_PATTERN

MEMBER: Final = "turns"  # of a declaration, beside members of extensions


class RotationRequest(NamedTuple):
    """A strategy by its wire name, and weights by queue; None: not requested."""

    strategy: str | None = None
    weights: Mapping[str, int] | None = None

    def to_row(self) -> dict[str, Any] | None:
        """Return the member of a declaration; None for an empty request."""
        shown = {"strategy": self.strategy, "weights": self.weights}
        return {name: value for name, value in shown.items() if value} or None


NOTHING: Final = RotationRequest()


def read_rotation_request(
    body: Mapping[str, Any], queues: Collection[str] | None
) -> RotationRequest | None:
    """Read `strategy` and `weights` of a request; None: it has neither.

    `queues` are the queues that the request names, None: it names none. Raises Unprocessable.
    """
    strategy, weights = body.get("strategy"), body.get("weights")
    if strategy is None and weights is None:
        return None
    if strategy is not None and not (isinstance(strategy, str) and strategy in STRATEGIES):
        raise Unprocessable.field("strategy", f"must be one of {', '.join(STRATEGIES)}", strategy)
    return RotationRequest(strategy, None if weights is None else parse_weights(weights, queues))


def parse_weights(raw: object, queues: Collection[str] | None) -> dict[str, int]:
    """Read weights of queues, all in `queues`; None: of any queue. Raises Unprocessable."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise Unprocessable.field("weights", "must be an object of integers", raw)
    for name in raw:
        if queues is None and not QUEUE_PATTERN.fullmatch(name):
            raise Unprocessable.field("weights", "must hold valid queue names", name)
        if queues is not None and name not in queues:
            raise Unprocessable.field("weights", "must name queues of the list only", name)
    return {name: parse_weight(f"weights.{name}", weight) for name, weight in raw.items()}


def parse_weight(name: str, raw: object) -> int:
    """Read the weight of a queue. Raises Unprocessable."""
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not 1 <= raw <= MAX_WEIGHT:
        raise Unprocessable.field(name, f"must be an integer from 1 to {MAX_WEIGHT}", raw)
    return raw


@lru_cache(maxsize=1_000)
def rotation_request_of(declaration: Declaration) -> RotationRequest:
    """Return the requested strategy and weights in a worker's declaration."""
    if not declaration.digest:
        return NOTHING
    found = jsonio.loads(declaration.text.encode()).get(MEMBER) or {}
    return RotationRequest(found.get("strategy"), found.get("weights"))
