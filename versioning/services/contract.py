"""The expand-and-contract assistant: can handlers of old versions go? Spec: job-versioning 9.1.

It reads from outside, within bounds; it adds no work to producers and claims.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce

import orjson

from jobs import extensions
from jobs.conf import conf as core
from jobs.domain.outcome.retention import parse_age
from jobs.domain.states import State, state_of
from jobs.services.read.clock import now as now_of_store
from ojs_tasks.versions import Version, parse_version
from versioning import queries
from versioning.domain.canary import Key, Rules
from versioning.domain.declaration import ALL, handles
from versioning.domain.removal import (
    Coming,
    Jobs,
    Looked,
    Removal,
    Use,
    decide,
    parse_removal,
)
from versioning.queries import Declared, Left
from versioning.services.acceptance import acceptance_unversioned, accepts_version, of_workers
from versioning.services.held import MOST
from versioning.services.routes import latest

LOOKED = 10_000  # jobs of each state, dead letters and lanes to read
EVENTS = 20_000  # events to read, the newest first
QUIET = timedelta(minutes=5)  # without a job of a version before its handlers can go
LATER = (State.SCHEDULED, State.RETRYABLE, State.PENDING)
GONE = 2  # jobs that are no longer stored
BARE = None  # the version of unversioned jobs


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of the look; the answer is `unknown` if they are too small."""

    looked: int = LOOKED
    events: int = EVENTS


@dataclass(frozen=True, slots=True)
class Accepts:
    """Live workers that accept the same versions of a type; `unheard` only FETCH.

    `versions` are the declared ranges; None: they did not name the type.
    """

    versions: tuple[str, ...] | None
    accepted: tuple[Version, ...]  # of the versions that the type came with
    workers: int
    unheard: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of a type: sent jobs, workers, remaining jobs, and removable versions."""

    type: str
    uses: tuple[Use, ...]  # every version that it came with or was sent to, ascending
    unversioned: Use
    accepts: tuple[Accepts, ...]
    looked: Looked
    dead_at_least: bool  # the dead letter was not read completely
    removals: tuple[Removal, ...]


def assess(
    job_type: str,
    removed: Sequence[str] | None = None,
    *,
    quiet: timedelta = QUIET,
    bounds: Bounds | None = None,
) -> Assessment:
    """Assess the removal of versions: `1.x` or ranges; None: each major the type came with.

    Statements: five, one for each extension that sends jobs by itself, and the reads of a stale
    cache. Raises ValueError if an entry of `removed` is invalid.
    """
    bounds = bounds or Bounds()
    for text in removed or ():
        parse_removal(text)
    cached = latest()
    rules = cached.rules.get(job_type)
    routes = {
        route: _versions_of(key, rules)
        for route, key in cached.by_id.items()
        if key.type == job_type
    }
    routed = {share.version for share in rules.live} if rules else set()
    # future jobs first: once sent, they are among the stored jobs that are read next
    coming, cut = _coming(job_type, bounds)
    versions = sorted(routed.union(*routes.values(), (v for v in coming if v is not None)))
    workers = of_workers()
    # sent jobs last: a job that arrives after one read is in the next read
    left, without = _left(routes, bounds), _unversioned(job_type, bounds)
    dead, dead_at_least = _dead(job_type, bounds)
    sent, looked = _sent(job_type, bounds, quiet)
    looked = replace(looked, cut=cut)

    uses = tuple(
        Use(
            version,
            _summed(left[route] for route, its in routes.items() if version in its),
            dead[version],
            *_numbers(workers, job_type, version),
            sent.get(version),
            version in routed,
            tuple(coming.get(version, ())),
        )
        for version in versions
    )
    takers = acceptance_unversioned(workers, job_type)
    bare = Use(
        BARE, without, dead[BARE], takers.accepting, takers.unheard, sent.get(BARE),
        coming=tuple(coming.get(BARE, ())),
    )  # fmt: skip
    if removed is None:
        removed = [f"{major}.x" for major in sorted({v.major for v in versions})]
    return Assessment(
        job_type,
        uses,
        bare,
        tuple(_accepts(one, job_type, versions) for one in workers),
        looked,
        dead_at_least,
        tuple(decide(text, uses, bare, looked) for text in removed),
    )


def _coming(
    job_type: str, bounds: Bounds
) -> tuple[dict[Version | None, list[Coming]], tuple[str, ...]]:
    """Find the senders of each version, and the sources that were not read completely."""
    found: dict[Version | None, list[Coming]] = {}
    sources = extensions.future_producers(job_type, looked=bounds.looked)
    for one in sources:
        senders, resting = _by_version(one.versions), _by_version(one.paused)
        for version in senders.keys() | resting.keys():
            line = Coming(one.source, senders[version], resting[version])
            found.setdefault(version, []).append(line)
    return found, tuple(one.source for one in sources if one.is_cut)


def _by_version(said: Iterable[tuple[str | int | None, int]]) -> Counter[Version | None]:
    found: Counter[Version | None] = Counter()
    for raw, number in said:
        found[None if raw is None else parse_version(raw)] += number
    return found


def _versions_of(key: Key, rules: Rules | None) -> set[Version]:
    """Return the versions that jobs of a version key need: their own and the drawn version."""
    target = None if rules is None else rules.resolved(key.version, key.target)
    return {version for version in (key.version, target) if version is not None}


def _numbers(workers: Iterable[Declared], job_type: str, version: Version) -> tuple[int, int]:
    """Count the workers that accept a version: with a heartbeat, and with FETCH only."""
    fit = [one for one in workers if accepts_version(one.declaration, job_type, version)]
    return sum(one.workers for one in fit), sum(one.unheard for one in fit)


def _summed(jobs: Iterable[Jobs]) -> Jobs:
    return reduce(Jobs.plus, jobs, Jobs())


def _left(routes: Iterable[int], bounds: Bounds) -> dict[int, Jobs]:
    """Count by version key. A state that reached its bound is `at_least` for every version."""
    found = queries.left(sorted(routes), most=MOST, looked=bounds.looked) if routes else []
    cut = _cut(found, bounds.looked)
    return {
        route: _jobs([one for one in found if one.route == route], cut, bounds.looked)
        for route in routes
    }


def _unversioned(job_type: str, bounds: Bounds) -> Jobs:
    found = queries.unversioned(job_type, looked=bounds.looked)
    cut = {state_of(one.state).value for one in found if one.looked >= bounds.looked}
    numbers = {state_of(one.state).value: one.jobs for one in found}
    return Jobs(**numbers, at_least=frozenset(cut))


def _cut(found: Iterable[Left], looked: int) -> set[str]:
    seen: Counter[str] = Counter()
    for one in found:
        if state_of(one.state) in LATER:
            seen[state_of(one.state).value] += one.looked
    return {state for state, number in seen.items() if number >= looked}


def _jobs(rows: Iterable[Left], cut: set[str], looked: int) -> Jobs:
    numbers = {state_of(one.state): one for one in rows}
    at_least = set(cut)
    available = numbers.get(State.AVAILABLE)
    if available and (available.looked >= looked or available.jobs >= MOST):
        at_least.add(State.AVAILABLE.value)
        if available.looked >= looked:  # active jobs may belong to lanes that were not read
            at_least |= {state.value for state in (State.ACTIVE, *LATER)}
    counted = {state.value: one.jobs for state, one in numbers.items()}
    return Jobs(**counted, at_least=frozenset(at_least))


def _dead(job_type: str, bounds: Bounds) -> tuple[Counter[Version | None], bool]:
    found = queries.dead(job_type, looked=bounds.looked)
    counts: Counter[Version | None] = Counter()
    for one in found:
        if one.is_found:
            counts[_version(one.version)] += one.jobs
    return counts, sum(one.jobs for one in found) >= bounds.looked


def _sent(
    job_type: str, bounds: Bounds, quiet: timedelta
) -> tuple[dict[Version | None, datetime], Looked]:
    """Find when each version was last sent, and how far back this is complete.

    Retention removes old events by age and by number. Removed events are older than the age, or
    older than the first remaining event. The version of a deleted job is unknown, so nothing before
    the newest such event is complete.
    """
    found = queries.sent(job_type, looked=bounds.events)
    last: dict[Version | None, datetime] = {}
    for one in found:
        if one.last_at is not None:
            version = _version(one.version)
            last[version] = max(one.last_at, last.get(version, one.last_at))
    now = found[0].now if found else now_of_store()
    age, kept = parse_age(core().retention_events), core().retention_event_rows
    ends = [one.newest for one in found if one.kind == GONE]
    if age is not None:
        ends.append(now - timedelta(milliseconds=age))
    if sum(one.events for one in found) >= min(bounds.events, kept or bounds.events):
        ends.append(min(one.oldest for one in found))
    return last, Looked(now, max(ends, default=None), quiet)


def _version(raw: str | None) -> Version | None:
    return None if raw is None else parse_version(orjson.loads(raw))


def _accepts(one: Declared, job_type: str, versions: Iterable[Version]) -> Accepts:
    declared: tuple[str, ...] | None = None
    if handles(one.declaration) is not ALL:
        entries = orjson.loads(one.declaration.text)["handlers"]
        declared = tuple(e["versions"] for e in entries if e["type"] == job_type) or None
    accepted = tuple(v for v in versions if accepts_version(one.declaration, job_type, v))
    return Accepts(declared, accepted, one.workers, one.unheard)
