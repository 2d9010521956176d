"""Parse a scenario, a made-up workload. The same seed makes the same jobs.

An error raises Unprocessable and names the member.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any, Final

from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.errors import Unprocessable
from jobs.domain.wire.durations import parse_period, parse_short_duration
from jobs.domain.wire.names import QUEUE_PATTERN
from jobs.domain.wire.priorities import parse_priority
from scheduling.domain.change import (
    MEMBERS,
    Change,
    integer,
    mapping,
    only,
    parse_change,
    parse_workers,
)
from scheduling.domain.workload import LONGEST_MS, Arrival, Workload

DEFAULT_TENANT: Final = "_default"  # as in the core
MOST_SOURCES: Final = 1_000
FASTEST: Final = 100_000  # jobs a second
RUN_MS: Final = 1000  # of jobs without `runs`
PATTERNS: Final = ("constant", "poisson", "burst")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload, and the configuration that it needs in addition to the current one."""

    load: Workload
    before: Change


def parse_scenario(raw: Mapping[str, Any], most: int, *, seed: int | None = None) -> Scenario:
    """Read a scenario of at most `most` jobs; `seed` overrides the scenario's own."""
    only(raw, ("duration", "seed", "jobs", *MEMBERS))
    until_ms = _duration(raw.get("duration"), "duration")
    if until_ms > LONGEST_MS:
        raise Unprocessable.field("duration", "must be at most 7 days", raw["duration"])
    workers = parse_workers(raw.get("workers"))
    own = integer(raw.get("seed", 1), "seed", 0, 2**63 - 1)
    arrivals = _jobs(raw.get("jobs"), until_ms, own if seed is None else seed, most)
    before = parse_change(
        {name: raw[name] for name in raw if name in MEMBERS and name != "workers"}
    )
    return Scenario(Workload(arrivals, workers, until_ms), before)


def _jobs(raw: object, until_ms: int, seed: int, most: int) -> list[Arrival]:
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_SOURCES:
        raise Unprocessable.field("jobs", f"must be an array of 1 to {MOST_SOURCES}", raw)
    found: list[Arrival] = []
    for n, source in enumerate(raw):
        made = _source(source, f"jobs[{n}]", until_ms, Random(f"{seed}/{n}"))  # noqa: S311 - a model
        found.extend(islice(made, most + 1 - len(found)))
        if len(found) > most:
            raise Unprocessable.field("jobs", f"must be at most {most} jobs together")
    return sorted(found, key=lambda job: job.at_ms)  # stable: equal times keep their order


def _source(raw: object, path: str, until_ms: int, chance: Random) -> Iterator[Arrival]:
    """Read one source of equal jobs and make them."""
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(path, "must be an object", raw)
    only(raw, ("queue", "tenant", "priority", "arrivals", "runs"), path)
    queue, tenant = raw.get("queue"), raw.get("tenant", DEFAULT_TENANT)
    if not isinstance(queue, str) or not QUEUE_PATTERN.fullmatch(queue):
        raise Unprocessable.field(f"{path}.queue", "must be a valid queue name", queue)
    if not isinstance(tenant, str) or not tenant or "\0" in tenant:
        raise Unprocessable.field(f"{path}.tenant", "must be the name of a tenant", tenant)
    try:
        priority = parse_priority(raw.get("priority", 0))
    except ValueError as problem:
        raise Unprocessable.field(f"{path}.priority", str(problem), raw["priority"]) from None
    lane = LaneKey(queue, priority, tenant)
    times = _times(raw.get("arrivals"), f"{path}.arrivals", until_ms, chance)
    runs = _runs(raw.get("runs"), f"{path}.runs", chance)
    return (Arrival(int(at), lane, next(runs)) for at in times)


def _times(raw: object, path: str, until_ms: int, chance: Random) -> Iterator[float]:
    given = mapping(raw, path)
    patterns = [pattern for pattern in PATTERNS if pattern in given]
    if len(patterns) != 1:
        raise Unprocessable.field(path, f"must have one of {', '.join(PATTERNS)}", raw)
    pattern = patterns[0]
    only(given, (pattern, "at", "every") if pattern == "burst" else (pattern, "from", "to"), path)
    if pattern == "burst":
        return _bursts(given, path, until_ms)
    rate = given[pattern]
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate <= FASTEST:
        raise Unprocessable.field(
            f"{path}.{pattern}", f"must be jobs a second, above 0 to {FASTEST}", rate
        )
    first = _duration(given.get("from", "PT0S"), f"{path}.from", zero=True)
    last = min(_duration(given["to"], f"{path}.to") if "to" in given else until_ms, until_ms)
    return (
        _steady(rate, first, last) if pattern == "constant" else _poisson(rate, first, last, chance)
    )


def _steady(rate: float, first: int, last: int) -> Iterator[float]:
    n = 0
    while (at := first + n * 1000 / rate) < last:
        yield at
        n += 1


def _poisson(rate: float, first: int, last: int, chance: Random) -> Iterator[float]:
    at = first + chance.expovariate(rate / 1000)
    while at < last:
        yield at
        at += chance.expovariate(rate / 1000)


def _bursts(given: Mapping[str, Any], path: str, until_ms: int) -> Iterator[float]:
    size = integer(given["burst"], f"{path}.burst", 1, 10**7)
    at = _duration(given.get("at", "PT0S"), f"{path}.at", zero=True)
    every = _duration(given["every"], f"{path}.every") if "every" in given else until_ms
    return (float(time) for time in range(at, until_ms, every) for _ in range(size))


def _runs(raw: object, path: str, chance: Random) -> Iterator[int]:
    """Generate run times: a constant, exponential or uniform duration."""
    if raw is None or isinstance(raw, str):
        constant = RUN_MS if raw is None else _duration(raw, path)
        return iter(lambda: constant, 0)
    given = mapping(raw, path)
    if list(given) == ["exponential"]:
        mean = _duration(given["exponential"], f"{path}.exponential")
        return iter(lambda: max(1, round(chance.expovariate(1 / mean))), 0)
    between = given.get("uniform")
    if list(given) != ["uniform"] or not isinstance(between, list) or len(between) != 2:  # noqa: PLR2004
        raise Unprocessable.field(
            path, "must be a duration, {exponential: …} or {uniform: [from, to]}", raw
        )
    low, high = (_duration(one, f"{path}.uniform") for one in between)
    if low > high:
        raise Unprocessable.field(f"{path}.uniform", "must not end before it begins", raw)
    return iter(lambda: chance.randint(low, high), 0)


def _duration(raw: object, path: str, *, zero: bool = False) -> int:
    try:
        return parse_short_duration(raw) if zero else parse_period(raw)
    except ValueError as problem:
        raise Unprocessable.field(path, str(problem), raw) from None
