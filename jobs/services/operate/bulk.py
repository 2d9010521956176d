"""Cancel, retry or delete many jobs, by id or by filter. Spec: contract 11.2, 24.1.

A walk follows an index in steps of at most SLICE jobs. Each step is a transaction of its own and
checks the state that it changes, so a repeated step after a crash does no harm. A walk changes no
job that was not there when it began.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs import extensions, queries
from jobs.database import atomic
from jobs.domain.outcome.bulk import ALLOWED, DEFAULTS, JobFilter, Verb, like
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, TERMINAL, State, state_of
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import is_id
from jobs.extensions import TransitionHooks
from jobs.models import Job as Row
from jobs.services.audit.undo_log import in_step
from jobs.services.outcome.cancel import end
from jobs.services.outcome.follow import follow

SLICE = 500
LOOKED = 2_000  # rows that a step reads at most in search of matches
MOST_STEPS = 500  # of a walk whose request waits for it
DEAD = 9  # Finished.kind of a job in the dead letter
LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
DELETED = sorted(CODES[state] for state in ALLOWED[Verb.DELETE])
Source = tuple[State, int]  # a state to walk, with the kind of ended jobs in the index


# A walk calls a verb with the jobs that it found in a state; the verb returns the changed jobs.
Act = Callable[[Sequence[str], State], set[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk continues: in the `source`-th of the states, after `rest`; fits into JSON."""

    asof: str  # ISO time at which the walk began
    source: int = 0
    rest: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step; `place` None: it was the last step."""

    matched: list[str]
    done: set[str]
    place: Place | None


@dataclass(slots=True)
class Report:
    """The result of a walk; the `skipped` jobs had left their state."""

    matched: int = 0
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    is_truncated: bool = False


def act_on(
    verb: Verb, ids: Sequence[str], actor: str, states: Collection[State] | None = None
) -> set[str]:
    """Do `verb` to the jobs in a state it accepts, or in one of `states`; returns their ids.

    It takes one statement, two for retries; in an operation that can be undone, a transaction.
    """
    return in_step(lambda: _act_on(verb, ids, actor, states))


def _act_on(
    verb: Verb, ids: Sequence[str], actor: str, states: Collection[State] | None
) -> set[str]:
    chosen = ALLOWED[verb] if states is None else states
    if verb is Verb.CANCEL:
        active = State.ACTIVE in chosen
        return {row.id for row in end(ids, actor, "bulk cancel", active=active)}
    if verb is Verb.DELETE:
        return set(queries.remove(_removable(ids), DELETED))
    ended = sorted(CODES[state] for state in chosen if state in TERMINAL)
    hastened = queries.hasten(ids) if State.RETRYABLE in chosen else []
    return {*hastened, *(_revive(ids, ended) if ended else [])}


def _removable(ids: Sequence[str]) -> list[str]:
    """Leave out jobs that an extension retains, such as members of running workflows."""
    retaining = extensions.implementers(TransitionHooks.retained_jobs)
    if not retaining:
        return list(ids)
    watched = [
        str(i) for i in Row.objects.filter(id__in=ids, watched=True).values_list("id", flat=True)
    ]
    kept: set[str] = set()
    if watched:
        kept = kept.union(*(extension.retained_jobs(watched) for extension in retaining))
    return [job_id for job_id in ids if job_id not in kept]


def _revive(ids: Sequence[str], states: Sequence[int]) -> list[str]:
    """Revive ended jobs where they were; extensions follow up on their watched jobs."""
    found = list(Row.objects.filter(id__in=ids, state__in=states).only(
        "id", "lane_id", "priority", "queue", "type", "tenant", "watched", "state"
    ))  # fmt: skip
    plain, watched = ([row for row in found if row.watched is is_so] for is_so in (False, True))
    revived = _revive_rows(plain, states)
    for state in states:  # by state, so that extensions learn which state a job left
        revived += _revive_watched([row for row in watched if row.state == state], state)
    return revived


def _revive_watched(rows: Sequence[Row], left: int) -> list[str]:
    if not rows:
        return []
    with atomic():
        revived = set(_revive_rows(rows, [left]))
        follow([_revived(row, left) for row in rows if str(row.id) in revived])
    return list(revived)


def _revive_rows(rows: Sequence[Row], states: Sequence[int]) -> list[str]:
    jobs = [{"id": str(row.id), "lane_id": row.lane_id, "priority": row.priority} for row in rows]
    return queries.revive(jsonio.dumps(jobs), states) if jobs else []


def _revived(row: Row, left: int) -> Transition:
    entered = CODES[State.AVAILABLE]
    return Transition(str(row.id), row.queue, row.type, row.tenant, left, entered, attempt=0)


def begin() -> Place:
    """Return the start of a walk over the jobs as they are now."""
    return Place(queries.now().isoformat())


def step(verb: Verb, wanted: JobFilter, place: Place, actor: str, *, most: int = SLICE) -> Step:
    """Do `verb` to the next matches, at most `most`; a step may find none and not be the last."""
    chosen = sources(verb, wanted)
    return _step(chosen, _doing(verb, chosen, actor), wanted, place, most)


def _step(sources: Sequence[Source], act: Act, wanted: JobFilter, place: Place, most: int) -> Step:
    if place.source >= len(sources):
        return Step([], set(), None)
    state, kind = sources[place.source]
    picked = _pick(state, kind, wanted, place, most)
    done = act(picked.ids, state) if picked.ids else set()
    if picked.rest is not None:
        following = Place(place.asof, place.source, _spelled(picked.rest))
    else:
        following = Place(place.asof, place.source + 1)
    is_last = following.source >= len(sources)
    return Step(picked.ids, done, None if is_last else following)


def _doing(verb: Verb, sources: Sequence[Source], actor: str) -> Act:
    states = {state for state, _ in sources}

    def act(ids: Sequence[str], found: State) -> set[str]:
        return act_on(verb, ids, actor, taken(verb, found, states))

    return act


def taken(verb: Verb, found: State, wanted: Collection[State]) -> Collection[State]:
    """Return the states that jobs `found` in one of the `wanted` states may be in by now."""
    if verb is Verb.RETRY:
        return wanted  # a job cancelled meanwhile stays so, unless the filter wants it
    return ALLOWED[verb] if found is State.ACTIVE else ALLOWED[verb] - {State.ACTIVE}


def sources(verb: Verb, wanted: JobFilter) -> list[Source]:
    """Return the states that a verb walks for a filter."""
    """Return the states to walk, with the kinds of ended jobs in the index."""
    states = (State.DISCARDED,) if wanted.dead else wanted.states or DEFAULTS[verb]
    found: list[Source] = []
    for state in dict.fromkeys(states):
        if state not in ALLOWED[verb]:
            continue
        if state is State.DISCARDED:
            found.append((state, DEAD))
        if not wanted.dead:
            found.append((state, CODES[state]))
    return found


def _pick(state: State, kind: int, wanted: JobFilter, place: Place, size: int) -> queries.Picked:
    asof = datetime.fromisoformat(place.asof)
    params: dict[str, Any] = {
        "queue": wanted.queue,
        "tenant": wanted.tenant,
        "type": None if wanted.type is None else like(wanted.type),
        "error_type": wanted.error_type,
        "priority": wanted.priority,
        "meta": jsonio.dumps(dict(wanted.meta)).decode() if wanted.meta else None,
        "since": wanted.since,
        "until": _until(wanted, asof),
        "size": size,
        "looked": LOOKED,
    }
    rest = dict(place.rest or {})
    if state is State.AVAILABLE:
        return queries.pick_ready({**params, "asof": asof, "lane": 0, "seq": -1, **rest})
    if state not in TERMINAL:
        live = {**params, "asof": asof, "state": CODES[state], "before": LAST_ID}
        return queries.pick_live(live | rest)
    if "at" in rest:
        rest["at"] = datetime.fromisoformat(rest["at"])
    return queries.pick_ended({**params, "kind": kind, "at": asof, "before": LAST_ID, **rest})


def _until(wanted: JobFilter, asof: datetime) -> datetime | None:
    if wanted.older_than_ms is None:
        return wanted.until
    oldest = asof - timedelta(milliseconds=wanted.older_than_ms)
    return oldest if wanted.until is None else min(oldest, wanted.until)


def _spelled(rest: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in rest.items()
    }


def run(
    verb: Verb, wanted: JobFilter, actor: str, *, most: int, report: Report | None = None
) -> Report:
    """Do `verb` to all matches, at most `most`, step by step; may miss rare matches far back.

    Adds each changed job to `report` at once.
    """
    chosen = sources(verb, wanted)
    return walk(chosen, _doing(verb, chosen, actor), wanted, most=most, report=report)


def walk(
    sources: Sequence[Source],
    act: Act,
    wanted: JobFilter,
    *,
    most: int,
    report: Report | None = None,
) -> Report:
    """Act on all matches among the sources as `run` does, a step of at most SLICE at a time."""
    report = report or Report()
    for taken in _steps(sources, act, wanted, most):
        report.matched += len(taken.matched)
        for job_id in taken.matched:
            (report.done if job_id in taken.done else report.skipped).append(job_id)
        report.is_truncated = taken.place is not None  # unless another step follows
    return report


def _steps(sources: Sequence[Source], act: Act, wanted: JobFilter, most: int) -> Iterator[Step]:
    place = begin()
    left = most
    for _ in range(MOST_STEPS):
        taken = _step(sources, act, wanted, place, min(SLICE, left))
        left -= len(taken.matched)
        yield taken
        if taken.place is None or left <= 0:
            return
        place = taken.place


def by_id(
    verb: Verb,
    ids: Sequence[str],
    actor: str,
    *,
    tenant: str | None,
    states: Collection[State] | None = None,
) -> tuple[Report, dict[str, str]]:
    """Do `verb` to these jobs; returns also the reason for each skipped job: state or `not_found`.

    Jobs of other tenants than `tenant` (None: any) are not found. `states` as for `act_on`.
    """
    wanted = dict.fromkeys(ids)
    visible = Row.objects.filter(id__in=[job_id for job_id in wanted if is_id(job_id)])
    if tenant is not None:
        visible = visible.filter(tenant=tenant)
    found = set(map(str, visible.values_list("id", flat=True)))
    report = Report(matched=len(found))
    done: set[str] = set()
    todo = [job_id for job_id in wanted if job_id in found]
    for start in range(0, len(todo), SLICE):
        done |= act_on(verb, todo[start : start + SLICE], actor, states)
    why = {job_id: "not_found" for job_id in wanted if job_id not in found}
    if left := [job_id for job_id in todo if job_id not in done]:
        now = queries.jobs(left)
        why |= {
            job_id: state_of(now[job_id].state).value if job_id in now else "not_found"
            for job_id in left
        }
    for job_id in wanted:
        (report.done if job_id in done else report.skipped).append(job_id)
    return report, why
