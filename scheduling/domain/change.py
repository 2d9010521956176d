"""Parse the changes of a simulation: pools, defaults, queues, workers.

The API has the same format and parsers. An error raises Unprocessable and names the member.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from jobs.domain.dispatch.claim import POOL_PATTERN, PriorityScope, Strategy
from jobs.domain.errors import OJSError, Unprocessable
from jobs.domain.lanes.queues import merge
from jobs.domain.wire.names import QUEUE_PATTERN
from scheduling.domain.pool import Pool, TenantWeights
from scheduling.domain.pool_request import parse_pool, parse_scope, parse_strategy, parse_tenants
from scheduling.domain.workload import MOST_GROUPS, MOST_SLOTS, Workers

T = TypeVar("T")
MEMBERS = ("pools", "scheduling", "queues", "workers")
DEFAULTS = ("default_strategy", "priority_scope", "tenant_fairness")


@dataclass(frozen=True, slots=True)
class Change:
    """Differences from the configuration that it applies to; a pool of None is removed.

    `queues` are checked changes of the queues' configurations; null leaves the workers unchanged.
    """

    pools: Mapping[str, Pool | None] = field(default_factory=dict)
    strategy: Strategy | None = None
    scope: PriorityScope | None = None
    tenants: TenantWeights | None = None
    queues: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: tuple[Workers, ...] | None = None


def parse_change(raw: Mapping[str, Any]) -> Change:
    """Read a change. Raises OJSError that names the member by its path."""
    only(raw, MEMBERS)
    defaults = mapping(raw.get("scheduling"), "scheduling")
    only(defaults, DEFAULTS, "scheduling")
    strategy = defaults.get("default_strategy")
    return Change(
        pools={
            _named(name, POOL_PATTERN.fullmatch, "pools"): _pool(name, body)
            for name, body in mapping(raw.get("pools"), "pools").items()
        },
        strategy=None
        if strategy is None
        else parse_strategy(strategy, "scheduling.default_strategy"),
        scope=within("scheduling", lambda: parse_scope(defaults.get("priority_scope"))),
        tenants=within("scheduling", lambda: parse_tenants(defaults.get("tenant_fairness"))),
        queues={
            _named(name, QUEUE_PATTERN.fullmatch, "queues"): _queue(name, body)
            for name, body in mapping(raw.get("queues"), "queues").items()
        },
        workers=parse_workers(raw["workers"]) if raw.get("workers") is not None else None,
    )


def only(raw: Mapping[str, Any], members: tuple[str, ...], path: str = "") -> None:
    """Refuse unknown members."""
    for name in raw:
        if name not in members:
            where = f"{path}.{name}" if path else name
            raise Unprocessable.field(where, f"is not one of {', '.join(members)}")


def mapping(raw: object, path: str) -> Mapping[str, Any]:
    """Read an object; null is an empty object."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(path, "must be an object", raw)
    return raw


def within(path: str, read: Callable[[], T]) -> T:
    """Parse a part; prefix the path of the part to the field of an error."""
    try:
        return read()
    except OJSError as problem:
        if "field" not in problem.details:
            raise
        details = problem.details
        if "expected" not in details:
            details["field"] = f"{path}.{details['field']}"
            raise
        raise type(problem).field(
            f"{path}.{details['field']}", details["expected"], details["received"]
        ) from None


def _named(name: str, is_name: Callable[[str], object], path: str) -> str:
    if not is_name(name):
        raise Unprocessable.field(path, "must be an object by valid names", name)
    return name


def _pool(name: str, body: object) -> Pool | None:
    if body is None:
        return None
    path = f"pools.{name}"
    return within(path, lambda: parse_pool(name, mapping(body, name)))


def _queue(name: str, body: object) -> Mapping[str, Any]:
    path = f"queues.{name}"
    change = mapping(body, path)
    within(path, lambda: merge({}, change, strict=True))
    return change


def parse_workers(raw: object, path: str = "workers") -> tuple[Workers, ...]:
    """Read groups of equal workers."""
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_GROUPS:
        raise Unprocessable.field(path, f"must be an array of 1 to {MOST_GROUPS}", raw)
    found = tuple(_workers(one, f"{path}[{n}]", n) for n, one in enumerate(raw))
    if sum(one.slots for one in found) > MOST_SLOTS:
        raise Unprocessable.field(path, f"must have at most {MOST_SLOTS} slots together")
    return found


def _workers(raw: object, path: str, n: int) -> Workers:
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(path, "must be an object", raw)
    only(raw, ("slots", "queues", "pool"), path)
    queues, pool = raw.get("queues"), raw.get("pool")
    if pool is not None and not (isinstance(pool, str) and POOL_PATTERN.fullmatch(pool)):
        raise Unprocessable.field(f"{path}.pool", "must be the name of a pool", pool)
    if queues is None:
        queues = []
    if not isinstance(queues, list) or not all(
        isinstance(name, str) and QUEUE_PATTERN.fullmatch(name) for name in queues
    ):
        raise Unprocessable.field(f"{path}.queues", "must be an array of queue names", queues)
    if pool is None and not queues:
        raise Unprocessable.field(f"{path}.queues", "is required without a pool")
    slots = integer(raw.get("slots", 1), f"{path}.slots", 1, MOST_SLOTS)
    return Workers(f"workers-{n}", slots, tuple(queues), pool)


def integer(raw: object, path: str, low: int, high: int) -> int:
    """Read a whole number within bounds."""
    if not isinstance(raw, int) or isinstance(raw, bool) or not low <= raw <= high:
        raise Unprocessable.field(path, f"must be an integer from {low} to {high}", raw)
    return raw
